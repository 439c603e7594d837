"""What linkmend has put on disk and therefore must have after every restart: misses, pages and rules."""

import contextlib
import sqlite3
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

_MISSES = ("misses/misses.sqlite", "SELECT id FROM misses")
_PAGES = ("collection/collection.sqlite3", "SELECT urls.url FROM pages JOIN urls USING (id)")


@dataclass(slots=True, kw_only=True)
class Promises:
    """What has been seen on disk so far."""

    data: Path
    misses: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)

    def note(self) -> None:
        """What is committed now may not be lost from now on."""
        self.misses |= self._read(*_MISSES) or set()
        self.pages |= self._read(*_PAGES) or set()

    def broken(self) -> list[str]:
        """What was promised and is gone."""
        gone = []
        for name, promised, where in (("miss", self.misses, _MISSES), ("page", self.pages, _PAGES)):
            found = self._read(*where)
            if found is None:
                gone.append(f"{where[0]} cannot be read")
            elif lost := promised - found:
                gone.append(f"{len(lost)} of {len(promised)}: {name} lost, such as {min(lost)}")
        return gone

    def _read(self, place: str, query: str) -> Set[str] | None:
        path = self.data / place
        try:
            with contextlib.closing(
                sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
            ) as database:
                return {row[0] for row in database.execute(query)}
        except sqlite3.Error:
            return None
