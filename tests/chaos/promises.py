"""The misses and pages that linkmend must still have after every restart, and what it must never have."""

import contextlib
import sqlite3
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

_MISSES = ("misses/misses.sqlite", "SELECT id FROM misses")
_PAGES = ("collection/collection.sqlite3", "SELECT urls.url FROM pages JOIN urls USING (id)")
_PINNED = (_PAGES[0], f"{_PAGES[1]} WHERE pinned")


@dataclass(slots=True, kw_only=True)
class Promises:
    """What has been seen on disk so far. In a full collection only pinned pages must stay."""

    data: Path
    is_limited: bool = False
    misses: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)

    def note(self) -> None:
        """Record what is committed now: it must not be lost."""
        self.misses |= read(self.data, *_MISSES) or set()
        self.pages |= read(self.data, *self._promised) or set()

    def held(self) -> Set[str]:
        """The addresses of all saved pages."""
        return read(self.data, *_PAGES) or set()

    def forget(self, url: str) -> None:
        """Expect a page to be removed."""
        self.pages.discard(url)

    def broken(self, data: Path | None = None) -> list[str]:
        """What is lost, and what is there but must not be; `folder` may name another data folder."""
        data = data or self.data
        gone = []
        for name, promised, where in (("miss", self.misses, _MISSES), ("page", self.pages, self._promised)):
            found = read(data, *where)
            if found is None:
                gone.append(f"{where[0]} cannot be read")
            elif lost := promised - found:
                gone.append(f"{len(lost)} of {len(promised)}: {name} lost, such as {min(lost)}")
        own = {url for url in read(data, *_PAGES) or () if "/own/" in url}
        return gone + ([f"held, and somebody's own: {min(own)}"] if own else [])

    @property
    def _promised(self) -> tuple[str, str]:
        return _PINNED if self.is_limited else _PAGES


def read(data: Path, place: str, query: str) -> Set[str] | None:
    """The rows of a query; None when the file cannot be read."""
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{data / place}?mode=ro", uri=True, timeout=20)
        ) as database:
            return {row[0] for row in database.execute(query)}
    except sqlite3.Error:
        return None
