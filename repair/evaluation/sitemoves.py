"""How well site moves are learnt: from some moved pages of a site, predict where the others and deleted pages went.

The pairs are a folder's real moves: of the links' targets and of their source pages. By five-fold cross-validation,
every pair is asked for once while the other four fifths are known. Right answers are counted against all answers
(precision) and all questions (recall). For a deleted page, no answer is right. Deleted pages are those of an older
collection whose address is gone, which are in no pair, and which no newer page resembles: none has the same title or
a similar text. What counts as similar is a choice, so silence is reported for several thresholds (`CUTS`).
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from repair.errors import EvaluationFailed
from repair.moves.rules import LearntMoves, Move
from repair.parse.jsonlines import records
from repair.text import urls, words

ALIKE = 0.2
"""From this cosine of tf-idf vectors on, two texts may be one page, rewritten; the figures are for this value."""
CUTS = (0.1, 0.2, 0.35, 0.5)
"""Cosines for which silence is reported; the higher, the more pages count as deleted that may only be rewritten."""
FOLDS = 5
_CHARACTERS = 20_000
_SIGNATURE = 40  # rare terms of a page that are looked up, so that this takes seconds
_SILENCE = ("deleted", "silent", "silence")
_PAIRED = (("target_url", "truth"), ("source_url", "source_url_now"))
_LISTS = {"test": "really_moved", "train": "really_moved_train"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """Address, title and text of a page."""

    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFigures:
    """Counts of questions and answers."""

    asked: int
    answered: int
    right: int
    deleted: int
    silent: int

    def as_dict(self) -> dict[str, float]:
        """Counts and rates; precision is 1 without any answer, silence 1 without any deleted page."""
        return {
            "asked": self.asked,
            "answered": self.answered,
            "right": self.right,
            "precision": round(self.right / self.answered, 4) if self.answered else 1.0,
            "recall": round(self.right / self.asked, 4) if self.asked else 0.0,
            "deleted": self.deleted,
            "silent": self.silent,
            "silence": round(self.silent / self.deleted, 4) if self.deleted else 1.0,
        }


def measure_folder(
    folder: Path, older: Path, *, split: str = "test", tell: Callable[[str], Any] = lambda _: None
) -> dict[str, Any]:
    """The output of `evaluate FOLDER --moves OLDER --json`; `tell` gets the name of each step."""
    tell("reading pages")
    new = texts(folder)
    held = {page.url for page in new}
    pairs = moved_pairs(folder, _LISTS[split], held)
    moved = {move.old for stem in _LISTS.values() for move in moved_pairs(folder, stem, held)}
    tell("looking for deleted pages")
    nearest = gone_pages(texts(older), new, moved)
    tell(f"asking for {len(pairs)} moved pages and {len(nearest)} that are gone")
    by_cut = {
        cut: cross_measure(pairs, [url for url, near in nearest.items() if near < cut], held.__contains__)
        for cut in sorted({ALIKE, *CUTS})
    }
    silence = {str(cut): {key: figures.as_dict()[key] for key in _SILENCE} for cut, figures in by_cut.items()}
    return {
        "collection": folder.name,
        "older": older.name,
        "pairs": len(pairs),
        **by_cut[ALIKE].as_dict(),
        "alike": ALIKE,
        "silence_by_cut": silence,
    }


def moved_pairs(folder: Path, stem: str, held: Collection[str]) -> list[Move]:
    """Old and new addresses from a list of really moved links, each old one once; only new ones in `held` count."""
    found: dict[str, Move] = {}
    for record in records(folder, stem, needs=("target_url", "truth", "source_url"), optional=True):
        for before, after in _PAIRED:
            old, new = _normal(record[before], folder, stem), record.get(after)
            if new and old not in held and (now := _normal(new, folder, stem)) in held:
                found.setdefault(old, Move(old=old, new=now))
    return list(found.values())


def texts(folder: Path) -> list[PageText]:
    """The pages of a collection folder."""
    return [
        PageText(url=_normal(record["url"], folder, "pages"), title=record["title"], text=record["text"])
        for record in records(folder, "pages", needs=("url", "title", "text"))
    ]


def measure(
    known: Sequence[Move], asked: Sequence[Move], deleted: Collection[str], holds: Callable[[str], bool]
) -> MoveFigures:
    """Learn moves from `known`, then predict those of `asked` and `deleted`."""
    moves = LearntMoves.learn(known, holds)
    answers = [(moves.answer(move.old, holds), move) for move in asked]
    return MoveFigures(
        asked=len(answers),
        answered=sum(guess is not None for guess, _ in answers),
        right=sum(guess is not None and guess.url == move.new for guess, move in answers),
        deleted=len(deleted),
        silent=sum(moves.answer(url, holds) is None for url in deleted),
    )


def cross_measure(
    pairs: Sequence[Move], deleted: Collection[str], holds: Callable[[str], bool], *, folds: int = FOLDS
) -> MoveFigures:
    """Cross-validate: each pair is asked once while the other folds are known; deleted pages in every fold."""
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


def gone_pages(old: Iterable[PageText], new: Sequence[PageText], moved: Collection[str]) -> dict[str, float]:
    """Addresses of old pages that are gone, with the cosine of the most similar new page.

    Pages that are known to have moved, or whose title a new page has, are left out.
    """
    kept = {page.url for page in new}
    titles = {_title(page.title) for page in new}
    known = _Texts(new)
    return {
        page.url: known.nearest(page)
        for page in old
        if page.url not in kept and page.url not in moved and _title(page.title) not in titles
    }


class _Texts:
    """An inverted index of pages, for cosines of (1 + ln tf) * idf."""

    def __init__(self, pages: Sequence[PageText]) -> None:
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

    def nearest(self, page: PageText) -> float:
        """The cosine of the most similar page, by the terms of highest weight."""
        weights = self._weights(_counts(page))
        telling = sorted(weights, key=lambda term: -weights[term])[:_SIGNATURE]
        cosines = np.zeros(self._size + 1)  # one more, so that there is a maximum even without pages
        for term in telling:
            if term in self._postings:
                pages, shares = self._postings[term]
                cosines[pages] += weights[term] * shares
        return float(cosines.max()) / _norm(weights)

    def _weights(self, counts: Counter[str]) -> dict[str, float]:
        return {
            term: (1 + math.log(count)) * self._idf.get(term, self._unseen) for term, count in counts.items()
        }


def _counts(page: PageText) -> Counter[str]:
    # Unstemmed: finds the same texts similar in a third of the time.
    return Counter(words.segments(f"{page.title} {page.text[:_CHARACTERS]}".lower()))


def _norm(weights: dict[str, float]) -> float:
    return math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0


def _title(title: str) -> str:
    return " ".join(words.tokens(title))


def _normal(url: str, folder: Path, stem: str) -> str:
    try:
        return urls.normal(url)
    except ValueError as error:
        raise EvaluationFailed(f"{folder / stem}: expected an http(s) URL, got {url[:80]!r}") from error
