"""Known moves of pages, kept in the collection's database, and where they lead a missing page to.

Redirects seen, repairs that readers confirmed and near-duplicates are noted by whoever meets them; canonical links
are read off the held pages. What is learnt of a host is kept until more is known of it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from repair import urls
from repair.database import Database
from repair.moves import Guess, Move, Moves, place_of

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS moves ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, old TEXT NOT NULL UNIQUE,"
    " new TEXT NOT NULL, origin TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS moves_host ON moves (host)",
)
_MAX_MOVES = 5_000  # of one host, the latest: plenty to learn from, learnt in two seconds
_MAX_HOSTS = 64  # learnt and remembered


class KnownMoves(Protocol):
    """Who knows which pages have moved."""

    def moves(self, host: str) -> tuple[Move, ...]:
        """Moves of pages that were on a host, the latest first."""

    def version(self, host: str) -> int:
        """A number that changes whenever `moves` of the host does."""


class MoveStore:
    """Known moves on SQLite; of two moves of the same page the later counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def note(self, moves: Iterable[Move]) -> int:
        """Remember moves; how many were between two different web addresses."""
        rows = []
        for move in moves:
            old, new = place_of(move.old), place_of(move.new)
            if old and new and (old.host, old.parts) != (new.host, new.parts):
                rows.append((old.host, urls.normal(move.old), urls.normal(move.new), move.origin))
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO moves (host, old, new, origin) VALUES (?, ?, ?, ?)", rows
            )
        return len(rows)

    def forget(self, old: str) -> None:
        """Unlearn the move of a page: it is back, or the move was a mistake."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM moves WHERE old = ?", (old,))

    def moves(self, host: str) -> tuple[Move, ...]:
        """Moves of pages that were on a host, the latest first, and canonical addresses of its held pages."""
        with self._database.read() as connection:
            noted = connection.execute(
                "SELECT old, new, origin FROM moves WHERE host = ? ORDER BY id DESC LIMIT ?",
                (host, _MAX_MOVES),
            ).fetchall()
            canonical = connection.execute(
                "SELECT url, canonical_url, 'canonical' FROM urls JOIN pages USING (id) WHERE canonical_url != url"
                " AND ((url >= ?1 AND url < ?2) OR (url >= ?3 AND url < ?4)) LIMIT ?5",
                (f"http://{host}/", f"http://{host}0", f"https://{host}/", f"https://{host}0", _MAX_MOVES),
            ).fetchall()
        return tuple(Move(old=old, new=new, origin=origin) for old, new, origin in (*noted, *canonical))

    def version(self, host: str) -> int:
        """The number of the latest move noted; canonical links alone do not change it."""
        with self._database.read() as connection:
            row = connection.execute("SELECT max(id) FROM moves WHERE host = ?", (host,)).fetchone()
        return int(row[0] or 0)


class MoveFinder:
    """Where missing pages are now, by what is known of moves of their hosts; may be asked from any thread."""

    def __init__(self, known: KnownMoves, holds: Callable[[str], bool]) -> None:
        self._known = known
        self._holds = holds
        self._learnt: OrderedDict[str, tuple[int, Moves]] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, url: str) -> Guess | None:
        """Where a missing page is now; None when that is not sure enough."""
        moves = self._of_host(url)
        return moves.answer(url, self._holds) if moves else None

    def guesses(self, url: str) -> tuple[Guess, ...]:
        """Held pages that known moves lead to, sure or not, the most trusted first."""
        moves = self._of_host(url)
        return moves.guesses(url, self._holds) if moves else ()

    def _of_host(self, url: str) -> Moves | None:
        place = place_of(url)
        if place is None:
            return None
        version = self._known.version(place.host)
        with self._lock:
            known = self._learnt.get(place.host)
        if known is None or known[0] != version:
            known = (version, Moves.learnt(self._known.moves(place.host), self._holds))
        with self._lock:
            self._learnt[place.host] = known
            self._learnt.move_to_end(place.host)
            while len(self._learnt) > _MAX_HOSTS:
                self._learnt.popitem(last=False)
        return known[1]
