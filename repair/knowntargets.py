"""Known targets: saved pages that something names directly as the new place of a lost page, not by shared words.

A known move of the site names one, and so does a saved page with the content of our copy of the lost one. Users'
choices are no known targets: they only order equals (`repair.evidence.choices`). A ranker weighs each by its trust;
most links have none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from repair.model import BrokenLink


class TargetKind(StrEnum):
    """What names the target; the values are the reason codes of an alternative."""

    MOVE = "moved"
    SHARED = "shared"
    DUPLICATE = "same_text"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTarget:
    """A saved page and its trust, between 0 and 1; `support` counts what speaks for it."""

    url: str
    kind: TargetKind
    confidence: float
    support: int = 1


FindKnownTargets = Callable[[BrokenLink], Sequence[KnownTarget]]
"""Returns the known targets of a link, best first, or none."""
