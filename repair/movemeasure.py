"""How well site moves are learnt: some pairs of a site known, the others asked, and deleted pages asked as well.

Right answers count against all answers (precision) and all questions (recall); a deleted page is answered rightly
by silence. Deleted pages are those of an older collection whose URL is gone, is no known move, and to which no page
of the newer collection comes near: none has the same title, none a text alike.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from repair import words
from repair.moves import Move, Moves

_ALIKE = 0.2  # cosine of tf-idf vectors from which two texts may be one page, rewritten
_CHARACTERS = 20_000
_SIGNATURE = 40  # terms of a page that are looked up; rare ones, so that this takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A page as far as it matters here."""

    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFigures:
    """What was counted."""

    asked: int
    answered: int
    right: int
    deleted: int
    silent: int

    @property
    def precision(self) -> float:
        """Right answers of all answers; 1 when there are none."""
        return self.right / self.answered if self.answered else 1.0

    @property
    def recall(self) -> float:
        """Right answers of all questions."""
        return self.right / self.asked if self.asked else 0.0

    @property
    def silence(self) -> float:
        """Deleted pages that were not answered, of all deleted pages."""
        return self.silent / self.deleted if self.deleted else 1.0


def measure(
    known: Sequence[Move], asked: Sequence[Move], deleted: Collection[str], holds: Callable[[str], bool]
) -> MoveFigures:
    """Learn from the known, ask the others and the deleted."""
    moves = Moves.learnt(known, holds)
    answers = [(moves.answer(move.old, holds), move) for move in asked]
    return MoveFigures(
        asked=len(answers),
        answered=sum(guess is not None for guess, _ in answers),
        right=sum(guess is not None and guess.url == move.new for guess, move in answers),
        deleted=len(deleted),
        silent=sum(moves.answer(url, holds) is None for url in deleted),
    )


def cross_measure(
    pairs: Sequence[Move], deleted: Collection[str], holds: Callable[[str], bool], *, folds: int = 5
) -> MoveFigures:
    """Every pair asked once while the other folds are known; deleted pages are asked in each fold."""
    shuffled = list(pairs)
    random.Random(1).shuffle(shuffled)  # noqa: S311  (an experiment, the same every time)
    rounds = [
        measure(
            [move for at, move in enumerate(shuffled) if at % folds != fold],
            shuffled[fold::folds],
            deleted,
            holds,
        )
        for fold in range(folds)
    ]
    return MoveFigures(
        asked=sum(each.asked for each in rounds),
        answered=sum(each.answered for each in rounds),
        right=sum(each.right for each in rounds),
        deleted=sum(each.deleted for each in rounds),
        silent=sum(each.silent for each in rounds),
    )


def deleted_urls(
    old: Iterable[Text], new: Sequence[Text], moved: Collection[str], *, alike: float = _ALIKE
) -> tuple[str, ...]:
    """Addresses of old pages that are gone and have no counterpart among the new, moved ones left out."""
    kept = {page.url for page in new}
    titles = {_title(page.title) for page in new}
    texts = _Texts(new)
    return tuple(
        page.url
        for page in old
        if page.url not in kept
        and page.url not in moved
        and _title(page.title) not in titles
        and texts.nearest(page) < alike
    )


class _Texts:
    """Pages by their terms, for cosines of (1 + ln tf) * idf."""

    def __init__(self, pages: Sequence[Text]) -> None:
        counts = [_counts(page) for page in pages]
        df = Counter(term for count in counts for term in count)
        self._unseen = math.log(len(pages) + 1.0)
        self._idf = {term: math.log((len(pages) + 1) / (number + 0.5)) for term, number in df.items()}
        self._size = len(pages)
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, count in enumerate(counts):
            weights = self._weights(count)
            norm = _norm(weights)
            for term, weight in weights.items():
                postings[term].append((number, weight / norm))
        self._postings = {
            term: (np.array([number for number, _ in found]), np.array([weight for _, weight in found]))
            for term, found in postings.items()
        }

    def nearest(self, page: Text) -> float:
        """The cosine of the likest page, by the page's most telling terms."""
        weights = self._weights(_counts(page))
        telling = sorted(weights, key=lambda term: -weights[term])[:_SIGNATURE]
        cosines = np.zeros(self._size + 1)  # one more, so that there is a likest even of none
        for term in telling:
            if term in self._postings:
                pages, shares = self._postings[term]
                cosines[pages] += weights[term] * shares
        return float(cosines.max()) / _norm(weights)

    def _weights(self, counts: Counter[str]) -> dict[str, float]:
        return {
            term: (1 + math.log(count)) * self._idf.get(term, self._unseen) for term, count in counts.items()
        }


def _counts(page: Text) -> Counter[str]:
    # Unstemmed: the same texts are alike either way, in a third of the time.
    return Counter(words.segments(f"{page.title} {page.text[:_CHARACTERS]}".lower()))


def _norm(weights: dict[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0


def _title(title: str) -> str:
    return " ".join(words.tokens(title))
