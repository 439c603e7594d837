"""Pages that a repair page replaced because they looked like error pages.

Each is kept for its client only, so that no other client can use the link to see the page anyway.
"""

from dataclasses import dataclass

from proxy.privacy.perclient import PerClientStore
from repair.model import MissKind


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedPage:
    """A page taken for missing: `missed` is the requested address, `url` the one after redirects."""

    kind: MissKind
    missed: str
    url: str
    sketch: tuple[int, ...] = ()


class SuppressedPages(PerClientStore[SuppressedPage]):
    """The latest suppressed pages, each for the client that requested it."""
