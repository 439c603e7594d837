"""Known moves of pages, kept in the collection's database, and where they lead a missing page to.

Redirects seen and repairs that an admin confirmed are noted by whoever meets them; canonical links are read off the
held pages. What is learnt of a host is kept until more is known of it.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from repair import urls
from repair.database import Database
from repair.moves import Guess, Move, Moves, place_of

REPAIR = "confirmed"
"""The origin of a move that users chose and an admin confirmed."""
_UNCONFIRMED = "repair"  # of earlier versions, where two clicks taught a move
KNOWN = 0.9
"""How far the known move of the missing page itself is trusted: pages change after they have moved."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS moves ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, old TEXT NOT NULL UNIQUE,"
    " new TEXT NOT NULL, origin TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS moves_host ON moves (host)",
    "CREATE INDEX IF NOT EXISTS moves_new ON moves (new)",
)
_MAX_MOVES = 2_000  # of one host, the latest: plenty to learn from, learnt in less than a second
_MAX_ALL = 200_000  # of all hosts, the latest
_MAX_ADDRESS = 1_000  # characters; longer ones are made up for one visit
_FEW = 500  # moves that are learnt while a reader waits; more are learnt behind the answer
_MAX_HOSTS = 64  # learnt and remembered
_MAX_HOPS = 5
_MOST_TO_ONE = (
    3  # pages that moved to the same address; beyond, it is a site's way to say that it has none of them
)

Version = tuple[int, int]
"""The number of the latest move of a host, and how many moves there are."""


class KnownMoves(Protocol):
    """Who knows which pages have moved."""

    def moves(self, host: str) -> tuple[Move, ...]:
        """Moves of pages that were on a host, the latest first."""

    def moved_to(self, old: str) -> str | None:
        """Where a page itself is known to have moved."""

    def version(self, host: str) -> Version:
        """What changes whenever `moves` of the host does."""


class MoveStore:
    """Known moves on SQLite; of two moves of the same page the later counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("DELETE FROM moves WHERE origin = ?", (_UNCONFIRMED,))

    def note(self, move: Move) -> bool:
        """Remember a move; False when it was known, or is none between two different web addresses."""
        old, new = place_of(move.old), place_of(move.new)
        if old is None or new is None or (old.host, old.parts) == (new.host, new.parts):
            return False
        if max(len(move.old), len(move.new)) > _MAX_ADDRESS:
            return False
        row = (old.host, urls.normal(move.old), urls.normal(move.new), move.origin)
        # Most redirects come by again and again: only news are worth a transaction.
        with self._database.read() as connection:
            if connection.execute("SELECT 1 FROM moves WHERE old = ? AND new = ?", row[1:3]).fetchone():
                return False
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO moves (host, old, new, origin) VALUES (?, ?, ?, ?)", row
            )
            connection.execute(
                "DELETE FROM moves WHERE host = ?1 AND id <= coalesce("
                "(SELECT id FROM moves WHERE host = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2), 0)",
                (old.host, _MAX_MOVES),
            )
            connection.execute("DELETE FROM moves WHERE id <= (SELECT max(id) FROM moves) - ?", (_MAX_ALL,))
        return True

    def forget(self, url: str) -> None:
        """Unlearn all moves from and to an address."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM moves WHERE old = ?1 OR new = ?1", (url,))

    def forget_repair(self, old: str, new: str) -> None:
        """Unlearn a move that a confirmed choice taught."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM moves WHERE old = ? AND new = ? AND origin = ?", (old, new, REPAIR)
            )

    def moved_to(self, old: str) -> str | None:
        """Where the page at a normal address is known to have moved, step by step; None when that is not known.

        What users chose is not meant here: a pin says it. Nor is a place to which all and sundry was
        sent.
        """
        found = None
        for _ in range(_MAX_HOPS):
            step = self._step(found or old)
            if step is None or step == old:
                break
            found = step
        return found

    def _step(self, url: str) -> str | None:
        rest = url.partition(":")[2]
        addresses = (f"http:{rest}", f"https:{rest}")
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT new, (SELECT count(*) FROM (SELECT 1 FROM moves AS other"
                " WHERE other.new = moves.new AND other.host = moves.host LIMIT ?)) FROM moves"
                " WHERE old IN (?, ?) AND origin != ? ORDER BY id DESC LIMIT 1",
                (_MOST_TO_ONE + 1, *addresses, REPAIR),
            ).fetchone()
            if row is not None:
                return str(row[0]) if row[1] <= _MOST_TO_ONE else None
            row = connection.execute(
                "SELECT canonical_url FROM urls JOIN pages USING (id)"
                " WHERE url IN (?, ?) AND canonical_url != url",
                addresses,
            ).fetchone()
        return str(row[0]) if row else None

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

    def version(self, host: str) -> Version:
        """The number of the latest move noted, and how many; canonical links alone do not change it."""
        with self._database.read() as connection:
            latest, count = connection.execute(
                "SELECT max(id), count(*) FROM moves WHERE host = ?", (host,)
            ).fetchone()
        return int(latest or 0), int(count)


class MoveFinder:
    """Where missing pages are now, by what is known of moves of their hosts; may be asked from any thread."""

    def __init__(self, known: KnownMoves, holds: Callable[[str], bool]) -> None:
        self._known = known
        self._holds = holds
        self._learnt: OrderedDict[str, tuple[Version, Moves]] = OrderedDict()
        self._behind: dict[str, None] = {}
        self._lock = threading.Lock()

    def guesses(self, url: str) -> tuple[Guess, ...]:
        """Held pages that known moves lead to, sure or not, the most trusted first."""
        place = place_of(url)
        if place is None:
            return ()
        found = {guess.url: guess for guess in self._of_host(place.host).guesses(url, self._holds)}
        itself = self._known.moved_to(url)
        if itself is not None and self._holds(itself):
            found[itself] = _surer(found.get(itself), Guess(url=itself, confidence=KNOWN, support=1))
        return tuple(sorted(found.values(), key=lambda guess: (-guess.confidence, guess.url)))

    def directories(self, url: str) -> dict[str, float]:
        """Directories to which pages of a missing page's directory went, with their shares."""
        place = place_of(url)
        return self._of_host(place.host).directories(url) if place else {}

    def catch_up(self) -> bool:
        """Learn anew what is known of one host that was asked for since it changed; False when there is none."""
        with self._lock:
            host = next(iter(self._behind), None)
            if host is None:
                return False
            del self._behind[host]
        self._learn(host, self._known.version(host))
        return True

    def _of_host(self, host: str) -> Moves:
        version = self._known.version(host)
        with self._lock:
            known = self._learnt.get(host)
            if known is not None and known[0] != version:
                if version[1] > _FEW:
                    self._behind[host] = None
                else:
                    known = None
            if known is not None:
                self._learnt.move_to_end(host)
        return known[1] if known is not None else self._learn(host, version)

    def _learn(self, host: str, version: Version) -> Moves:
        moves = Moves.learnt(self._known.moves(host), self._holds)
        with self._lock:
            self._learnt[host] = (version, moves)
            self._learnt.move_to_end(host)
            while len(self._learnt) > _MAX_HOSTS:
                self._learnt.popitem(last=False)
        return moves


def _surer(known: Guess | None, other: Guess) -> Guess:
    return known if known is not None and known.confidence >= other.confidence else other
