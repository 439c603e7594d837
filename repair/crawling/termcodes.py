"""Texts as numbers, so that a model reads thousands of them in one call: every term of a crawl has a code."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from repair.crawling.topicmodel import Terms, TopicModel

Codes = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]


class CountedTerms(NamedTuple):
    """The different terms of a text, and how often it has each."""

    codes: Codes
    counts: Codes


def join(texts: Sequence[CountedTerms]) -> CountedTerms:
    """Texts as one; a term that several have stands there several times."""
    return CountedTerms(*map(np.concatenate, zip(*texts, strict=True)))


class Vocabulary:
    """The codes of terms, given in the order in which they are met."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._terms: list[str] = []

    def __len__(self) -> int:
        return len(self._terms)

    def count(self, terms: Terms) -> CountedTerms:
        """A text as codes; terms not met before get new ones."""
        counted = Counter(terms)
        codes = np.fromiter(map(self.code, counted), dtype=np.int32, count=len(counted))
        return CountedTerms(codes, np.fromiter(counted.values(), dtype=np.int32, count=len(counted)))

    def code(self, term: str) -> int:
        """The code of a term."""
        found = self._codes.get(term)
        if found is None:
            found = self._codes[term] = len(self._terms)
            self._terms.append(term)
        return found

    def terms(self, text: CountedTerms) -> list[str]:
        """The terms of a text, in no order that means anything."""
        return [
            term
            for code, count in zip(text.codes.tolist(), text.counts.tolist(), strict=True)
            for term in [self._terms[code]] * count
        ]


class TextBatch:
    """Many texts side by side: `rows` says to which text each code belongs."""

    def __init__(self, texts: Sequence[CountedTerms]) -> None:
        self.size = len(texts)
        self.lengths = np.fromiter((len(text.codes) for text in texts), dtype=np.int64, count=self.size)
        self.rows = np.repeat(np.arange(self.size), self.lengths)
        self.codes = np.concatenate([text.codes for text in texts]) if texts else np.zeros(0, np.int32)
        self.counts = np.concatenate([text.counts for text in texts]) if texts else np.zeros(0, np.int32)

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
