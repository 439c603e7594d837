"""Users' choices order pages that the text supports equally, and do no more (repair/evidence/choices.py)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from repair.evidence.choices import PreferredPage
from repair.knowntargets import TargetKind
from repair.ranking.plain import RankedPage

_EQUAL_SUPPORT = 0.01  # a smaller difference in text support counts as equal


def prefer(ranked: Sequence[RankedPage], favourites: Iterable[PreferredPage]) -> list[RankedPage]:
    """Ranked pages, with pages chosen before moved ahead of those that the text supports equally.

    No page passes one that the text supports more, and scores and confidences stay as they are.
    """
    shares = {favourite.url: favourite.share for favourite in favourites}
    if not shares.keys() & {each.page.url for each in ranked}:
        return list(ranked)
    ordered: list[RankedPage] = []
    rest = list(ranked)
    while rest:
        first = rest[0]
        count = next((at for at, each in enumerate(rest) if not is_as_good(each, first)), len(rest))
        equal, rest = rest[:count], rest[count:]
        equal.sort(key=lambda each: -shares.get(each.page.url, 0.0))  # stable: the others keep their order
        ordered += (_with_reason(each) if each.page.url in shares else each for each in equal)
    return ordered


class ScoredPage(Protocol):
    """A page with the score of its text."""

    @property
    def score(self) -> float: ...

    @property
    def confidence(self) -> float: ...


def is_as_good(one: ScoredPage, other: ScoredPage) -> bool:
    """Whether the text supports two pages equally."""
    return abs(one.confidence - other.confidence) < _EQUAL_SUPPORT and math.isclose(
        one.score, other.score, rel_tol=_EQUAL_SUPPORT, abs_tol=_EQUAL_SUPPORT
    )


def _with_reason(ranked: RankedPage) -> RankedPage:
    return replace(ranked, reasons=(*ranked.reasons, TargetKind.SHARED.value))
