"""Filters of the list of dead links that somebody has given a name; all who review share them."""

import threading
from pathlib import Path

import msgspec
from msgspec import Struct

from proxy import atomicfiles
from proxy.errors import StoreError

FILE = "desk-filters.json"
"""Its name in the data folder."""
MAX_FILTERS = 30
_MAX_NAME = 60
_MAX_QUERY = 2_000
_lock = threading.Lock()


class SavedFilter(Struct, kw_only=True, frozen=True):
    """A name, and the query of the list without its question mark."""

    name: str
    query: str


class SavedFilters:
    """The file. Its methods read or write the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> tuple[SavedFilter, ...]:
        """All, by name. A damaged file counts as empty."""
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=tuple[SavedFilter, ...])
        except (OSError, msgspec.MsgspecError):
            return ()
        return tuple(sorted(found, key=lambda each: each.name.casefold()))

    def save(self, name: str, query: str) -> str:
        """Give a filter a name, in the place of an older one of that name; returns the name.

        Raises ValueError for an empty name or one filter too many, and StoreError.
        """
        name = " ".join(name.split())[:_MAX_NAME]
        with _lock:
            others = [each for each in self.all() if each.name != name]
            if not name or not name.isprintable() or len(query) > _MAX_QUERY or len(others) >= MAX_FILTERS:
                raise ValueError("no name, or too many filters")
            self._write([*others, SavedFilter(name=name, query=query)])
        return name

    def remove(self, name: str) -> bool:
        with _lock:
            known = self.all()
            left = [each for each in known if each.name != name]
            if len(left) != len(known):
                self._write(left)
        return len(left) != len(known)

    def _write(self, filters: list[SavedFilter]) -> None:
        try:
            atomicfiles.write(self._path, msgspec.json.encode(filters), mode=0o600)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot write: {error.strerror or error}") from error
