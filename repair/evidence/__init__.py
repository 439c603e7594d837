"""Evidence sources: each derives from a broken link, in its own way, words about the lost page.

A source can be absent, late or wrong; `repair.evidence.gather` ensures that this costs its own evidence and nothing
else. Read `anchor` first, the simplest source.
"""

from typing import Protocol

from repair.model import BrokenLink, Evidence


class Source(Protocol):
    """A source that `repair.evidence.gather` calls."""

    name: str

    async def evidence(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""


class LocalSource(Protocol):
    """A source that needs no network: plain blocking code over the collection."""

    name: str

    def find(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""
