"""Known moves of pages, in the collection's database, and where they lead a missing page.

Other modules record redirects, links that were replaced and the repairs that an admin confirmed; canonical links are
read from the saved pages. What is learnt about a host is cached until more is known.
"""

import threading
from collections.abc import Callable
from typing import Protocol

from repair.bounded import BoundedDict
from repair.collection.database import Database
from repair.moves.linkswaps import LINKED, page_name
from repair.moves.patterns import place_of
from repair.moves.rules import LearntMoves, Move, MoveGuess
from repair.text import urls

REPAIR = "confirmed"
"""The origin of a move that users chose and an admin confirmed."""
_UNCONFIRMED = "repair"  # of earlier versions, where two clicks taught a move
KNOWN = 0.9
"""Trust in the known move of the missing page itself: pages change after they have moved."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS moves ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, old TEXT NOT NULL UNIQUE,"
    " new TEXT NOT NULL, origin TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS moves_host ON moves (host)",
    "CREATE INDEX IF NOT EXISTS moves_new ON moves (new)",
)
_SITES = "ALTER TABLE moves ADD COLUMN site TEXT NOT NULL DEFAULT ''"
_SITES_INDEX = "CREATE INDEX IF NOT EXISTS moves_site ON moves (site)"
_LATEST = (
    "DELETE FROM moves WHERE {0} = :{0} AND id <= coalesce("
    "(SELECT id FROM moves WHERE {0} = :{0} ORDER BY id DESC LIMIT 1 OFFSET :most), 0)"
)
_MAX_MOVES = 2_000  # of one host, the latest: enough to learn from, in less than a second
_MAX_OF_SITE = 20_000  # of all hosts under one registrable domain, whose owner can create any number of hosts
_MAX_ALL = 200_000  # of all hosts, the latest
_MAX_ADDRESS = 1_000  # characters; longer ones are made for one visit
_COUNT_EVERY = 100  # moves; counting all takes time
_LEARN_AT_ONCE = 500  # moves that are learnt while a user waits; more are learnt in the background
_MAX_HOSTS = 64  # learnt and cached
_MAX_HOPS = 5
_MAX_TO_ONE_URL = 3  # pages that moved to the same URL; beyond, it is the site's substitute for an error page

Version = tuple[int, int]
"""The number of the latest move of a host, and how many moves there are."""


class KnownMoves(Protocol):
    """Knows which pages have moved."""

    def moves(self, host: str) -> tuple[Move, ...]:
        """Moves of pages that were on a host, the latest first."""

    def moved_to(self, old: str) -> str | None:
        """Where a page itself is known to have moved."""

    def version(self, host: str) -> Version:
        """Changes whenever `moves` of the host changes."""


class MoveStore:
    """Known moves on SQLite; of two moves of the same page the later counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            if "site" not in {row[1] for row in connection.execute("PRAGMA table_info(moves)")}:
                connection.execute(_SITES)
            connection.execute(_SITES_INDEX)
            connection.execute("DELETE FROM moves WHERE origin = ?", (_UNCONFIRMED,))

    def note(self, move: Move) -> bool:
        """Record a move; False when it is known, or not between two different web URLs."""
        old, new = place_of(move.old), place_of(move.new)
        if old is None or new is None or (old.host, old.parts) == (new.host, new.parts):
            return False
        if max(len(move.old), len(move.new)) > _MAX_ADDRESS:
            return False
        site = urls.site(move.old)
        row = (old.host, urls.normal(move.old), urls.normal(move.new), move.origin, site)
        # Most redirects are seen again and again: only new ones are worth a transaction.
        with self._database.read() as connection:
            if connection.execute("SELECT 1 FROM moves WHERE old = ? AND new = ?", row[1:3]).fetchone():
                return False
        with self._database.write() as connection:
            number = connection.execute(
                "INSERT OR REPLACE INTO moves (host, old, new, origin, site) VALUES (?, ?, ?, ?, ?)", row
            ).lastrowid
            connection.execute(_LATEST.format("host"), {"host": old.host, "most": _MAX_MOVES})
            connection.execute(_LATEST.format("site"), {"site": site, "most": _MAX_OF_SITE})
            if number is not None and number % _COUNT_EVERY == 0:
                connection.execute(
                    "DELETE FROM moves WHERE id IN (SELECT id FROM moves ORDER BY id"
                    " LIMIT max(0, (SELECT count(*) FROM moves) - ?))",
                    (_MAX_ALL,),
                )
        return True

    def note_told(self, move: Move) -> bool:
        """Record a move that links or a sitemap tell; False when it is known, or something surer of the page is."""
        with self._database.read() as connection:
            row = connection.execute("SELECT origin FROM moves WHERE old = ?", (move.old,)).fetchone()
        return (row is None or row[0] == LINKED) and self.note(move)

    def forget_told(self, old: str) -> None:
        """Delete a move that other pages told: they disagree now."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM moves WHERE old = ? AND origin = ?", (old, LINKED))

    def forget(self, url: str) -> None:
        """Delete all moves from and to a URL."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM moves WHERE old = ?1 OR new = ?1", (url,))

    def forget_repair(self, old: str, new: str) -> None:
        """Delete a move learnt from a confirmed choice."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM moves WHERE old = ? AND new = ? AND origin = ?", (old, new, REPAIR)
            )

    def moved_to(self, old: str) -> str | None:
        """Where the page at a normal URL is known to have moved, step by step; None when unknown.

        Users' choices do not count here (a pin covers them), nor a URL to which pages of all kinds were redirected.
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
                (_MAX_TO_ONE_URL + 1, *addresses, REPAIR),
            ).fetchone()
            if row is not None:
                return str(row[0]) if row[1] <= _MAX_TO_ONE_URL else None
            row = connection.execute(
                "SELECT canonical_url FROM urls JOIN pages USING (id)"
                " WHERE url IN (?, ?) AND canonical_url != url",
                addresses,
            ).fetchone()
        return str(row[0]) if row else None

    def moves(self, host: str) -> tuple[Move, ...]:
        """Moves of pages that were on a host, the latest first, and canonical URLs of its saved pages.

        Of those that linking pages tell, only moves that kept the page's name: authors also link to another page
        where the old one is still there, and one such pair must not teach how a site was rebuilt.
        """
        with self._database.read() as connection:
            recorded = connection.execute(
                "SELECT old, new, origin FROM moves WHERE host = ? ORDER BY id DESC LIMIT ?",
                (host, _MAX_MOVES),
            ).fetchall()
            canonical = connection.execute(
                "SELECT url, canonical_url, 'canonical' FROM urls JOIN pages USING (id) WHERE canonical_url != url"
                " AND ((url >= ?1 AND url < ?2) OR (url >= ?3 AND url < ?4)) LIMIT ?5",
                (f"http://{host}/", f"http://{host}0", f"https://{host}/", f"https://{host}0", _MAX_MOVES),
            ).fetchall()
        moves = (Move(old=old, new=new, origin=origin) for old, new, origin in (*recorded, *canonical))
        return tuple(
            move for move in moves if move.origin != LINKED or page_name(move.old) == page_name(move.new)
        )

    def version(self, host: str) -> Version:
        """The number of the latest move, and how many there are; canonical links alone do not change it."""
        with self._database.read() as connection:
            latest, count = connection.execute(
                "SELECT max(id), count(*) FROM moves WHERE host = ?", (host,)
            ).fetchone()
        return int(latest or 0), int(count)


class MoveFinder:
    """Finds the new URLs of missing pages by the known moves of their hosts; thread-safe."""

    def __init__(self, known: KnownMoves, holds: Callable[[str], bool]) -> None:
        self._known = known
        self._holds = holds
        self._learnt = BoundedDict[str, tuple[Version, LearntMoves]](_MAX_HOSTS)
        self._behind: dict[str, None] = {}
        self._lock = threading.Lock()

    def guesses(self, url: str) -> tuple[MoveGuess, ...]:
        """Saved pages that known moves lead to, sure or not, the most trusted first."""
        place = place_of(url)
        if place is None:
            return ()
        found = {guess.url: guess for guess in self._of_host(place.host).guesses(url, self._holds)}
        itself = self._known.moved_to(url)
        if itself is not None and self._holds(itself):
            found[itself] = _surer(found.get(itself), MoveGuess(url=itself, confidence=KNOWN, support=1))
        return tuple(sorted(found.values(), key=lambda guess: (-guess.confidence, guess.url)))

    def directories(self, url: str) -> dict[str, float]:
        """Directories to which pages of a missing page's directory moved, with their shares."""
        place = place_of(url)
        return self._of_host(place.host).directories(url) if place else {}

    def catch_up(self) -> bool:
        """Relearn one host that was requested since its moves changed; False when there is none."""
        with self._lock:
            host = next(iter(self._behind), None)
            if host is None:
                return False
            del self._behind[host]
        self._learn(host, self._known.version(host))
        return True

    def _of_host(self, host: str) -> LearntMoves:
        version = self._known.version(host)
        with self._lock:
            known = self._learnt.get(host)
            if known is not None and known[0] != version:
                if version[1] > _LEARN_AT_ONCE:
                    self._behind[host] = None
                else:
                    known = None
            if known is not None:
                self._learnt.move_to_end(host)
        return known[1] if known is not None else self._learn(host, version)

    def _learn(self, host: str, version: Version) -> LearntMoves:
        moves = LearntMoves.learn(self._known.moves(host), self._holds)
        with self._lock:
            self._learnt[host] = (version, moves)
        return moves


def _surer(known: MoveGuess | None, other: MoveGuess) -> MoveGuess:
    return known if known is not None and known.confidence >= other.confidence else other
