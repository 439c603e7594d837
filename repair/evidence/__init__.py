"""Sources of evidence: each looks at a broken link its own way and says in words what the lost page was about.

Every source can be absent, late or wrong; `repair.gather` sees that this costs its own evidence and nothing else.
"""

from typing import Protocol

from repair.model import BrokenLink, Evidence


class Source(Protocol):
    """What `repair.gather` asks."""

    name: str

    async def evidence(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""


class LocalSource(Protocol):
    """A source that needs no network: plain blocking code over the collection."""

    name: str

    def find(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""
