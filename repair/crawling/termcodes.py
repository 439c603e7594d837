"""Texts as numbers, so that a model reads thousands of them in one call: every term of a crawl has a code."""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import chain, repeat
from typing import NewType

import numpy as np
import numpy.typing as npt

from repair.crawling.topicmodel import Terms, TopicModel

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]


CountedTerms = NewType("CountedTerms", bytes)
"""The different terms of a text and how often it has each, as pairs of code and count: bytes, since a crawl keeps a
hundred thousand texts, and an array for each would take more room and time than what is in it."""
_PAIR_BYTES = 8


def join(texts: Sequence[CountedTerms]) -> CountedTerms:
    """Texts as one; a term that several have stands there several times."""
    return CountedTerms(b"".join(texts))


def codes_of(text: CountedTerms) -> Codes:
    """The codes of the terms of a text."""
    return _pairs_of(text)[0]


def _pairs_of(text: CountedTerms) -> tuple[Codes, Codes]:
    """Codes and counts side by side."""
    pairs = np.frombuffer(text, np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


class _Codes(dict[str, int]):
    """The codes of terms; one that is asked for gets the next."""

    def __missing__(self, term: str) -> int:
        return self.setdefault(term, len(self))


class Vocabulary:
    """The codes of terms, given in the order in which they are met."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._terms: list[str] = []

    def __len__(self) -> int:
        return len(self._codes)

    def count(self, terms: Terms) -> CountedTerms:
        """A text as codes; terms not met before get new ones."""
        counted = Counter(terms)
        pairs = zip(map(self._codes.__getitem__, counted), counted.values(), strict=True)
        return CountedTerms(array("i", chain.from_iterable(pairs)).tobytes())

    def code(self, term: str) -> int:
        """The code of a term."""
        return self._codes[term]

    def terms(self, text: CountedTerms) -> list[str]:
        """The terms of a text, in no order that means anything."""
        if len(self._terms) < len(self._codes):
            self._terms = list(self._codes)
        codes, counts = (values.tolist() for values in _pairs_of(text))
        return list(chain.from_iterable(map(repeat, map(self._terms.__getitem__, codes), counts)))


class TextBatch:
    """Many texts side by side: `rows` says to which text each code belongs."""

    def __init__(self, texts: Sequence[CountedTerms]) -> None:
        self.size = len(texts)
        self.lengths = np.fromiter(map(len, texts), dtype=np.int64, count=self.size) // _PAIR_BYTES
        self.rows = np.repeat(np.arange(self.size), self.lengths)
        self.codes, self.counts = _pairs_of(join(texts))

    def joined(self, number: int) -> "TextBatch":
        """The same with each `number` texts as one, as `join` makes it."""
        made = TextBatch(())
        made.size = self.size // number
        made.lengths = self.lengths.reshape(-1, number).sum(axis=1)
        made.rows, made.codes, made.counts = self.rows // number, self.codes, self.counts
        return made

    def sum(self, values: Numbers) -> Numbers:
        """The sum over each text, given a value for each code."""
        return np.bincount(self.rows, weights=values, minlength=self.size).astype(np.float64, copy=False)


class ModelTable:
    """A topic's model by codes: `decide` is `TopicModel.decide` for many texts."""

    def __init__(self, model: TopicModel, vocabulary: Vocabulary) -> None:
        codes = [vocabulary.code(term) for term in model.terms]
        self.model = model
        self._rarities, self._weights = np.zeros((2, len(vocabulary) + 1))
        if codes:
            self._rarities[codes], self._weights[codes] = np.array(list(model.terms.values())).T

    def decide(self, texts: TextBatch) -> Numbers:
        """The machine's own number for each text, above 0 for the topic; 0 for texts without a term."""
        known = np.minimum(texts.codes, len(self._rarities) - 1)  # the last entry stands for all later terms
        values = self._rarities[known] * (1.0 + np.log(texts.counts))
        products, squares = texts.sum(values * self._weights[known]), texts.sum(values * values)
        decided = self.model.bias + products / np.sqrt(np.where(squares > 0, squares, 1.0))
        return np.where(texts.lengths > 0, decided, 0.0)

    def probabilities(self, texts: TextBatch) -> Numbers:
        """The probability that each text belongs to the topic."""
        exponents = self.model.slope * self.decide(texts) + self.model.offset
        found: Numbers = 1.0 / (1.0 + np.exp(np.minimum(700.0, exponents)))
        return found
