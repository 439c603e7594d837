"""Pointers: held pages that something names outright as what a lost page has become, not by words in common.

A known move of the site names one, and a held page that says what our copy of the lost one says. What users chose is
no pointer: it only orders equals (`repair.experience`). Whoever ranks takes each for as much as it is trusted; most
links have none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from repair.model import BrokenLink


class Kind(StrEnum):
    """Who points: the values are the codes of the reasons given for an alternative."""

    MOVE = "moved"
    SHARED = "shared"
    DUPLICATE = "same_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A held page and how far it is trusted, between 0 and 1; `support` counts what speaks for it."""

    url: str
    kind: Kind
    confidence: float
    support: int = 1


Pointers = Callable[[BrokenLink], Sequence[Pointer]]
"""Who is asked: the pointers of a link, best first, none when nobody knows."""
