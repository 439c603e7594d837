"""Moves that linking pages tell, held back until enough of them say the same.

Anybody can publish a page that replaces its links, and any user can bring it to the collection. So a page is
believed alone only about its own part of its host: the first directory (on a shared host that is one author's), or
the whole host if it is the host's start page. Elsewhere two such parts of the site must agree, or two other sites.
Only the site itself may say that a page went to another site. A page that says something else of the same URL ends
the claim: it was no move.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from repair.collection.database import Database
from repair.moves.patterns import place_of
from repair.moves.rules import Move
from repair.text import urls

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS move_claims (id INTEGER PRIMARY KEY AUTOINCREMENT, old TEXT NOT NULL,"
    " new TEXT NOT NULL, teller TEXT NOT NULL, site TEXT NOT NULL, UNIQUE (old, teller))",
    "CREATE INDEX IF NOT EXISTS move_claims_site ON move_claims (site)",
)
_LATEST = (
    "DELETE FROM move_claims WHERE {0} id <= coalesce("
    "(SELECT id FROM move_claims WHERE {0} 1 ORDER BY id DESC LIMIT 1 OFFSET ?), 0)"
)
_MAX_OF_SITE = 2_000  # claims by one site, the latest
_MAX_ALL = 50_000
_MAX_TELLERS = 8  # of one page, the first
_MAX_ADDRESS = 1_000
_AGREEING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    new: str
    teller: str
    site: str


class LinkClaims:
    """Who says where a page moved, on SQLite; of two claims by one teller about a page the later counts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def note(self, page: str, move: Move) -> bool:
        """Record what a page says; returns whether that may be believed now."""
        teller, site = _teller(page), urls.site(page)
        if teller is None or max(len(move.old), len(move.new), len(teller)) > _MAX_ADDRESS:
            return False
        with self._database.write() as connection:
            rows = connection.execute(
                "SELECT new, teller, site FROM move_claims WHERE old = ? AND teller != ? LIMIT ?",
                (move.old, teller, _MAX_TELLERS),
            ).fetchall()
            if len(rows) < _MAX_TELLERS:
                connection.execute(
                    "INSERT OR REPLACE INTO move_claims (old, new, teller, site) VALUES (?, ?, ?, ?)",
                    (move.old, move.new, teller, site),
                )
                connection.execute(_LATEST.format("site = ? AND"), (site, site, _MAX_OF_SITE))
                connection.execute(_LATEST.format(""), (_MAX_ALL,))
        known = [_Claim(new=new, teller=teller, site=site) for new, teller, site in rows]
        return _is_believed(move, [*known, _Claim(new=move.new, teller=teller, site=site)])

    def forget(self, url: str) -> None:
        """Delete all claims about a page, and of moves to it."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM move_claims WHERE old = ?1 OR new = ?1", (url,))


def _is_believed(move: Move, claims: Iterable[_Claim]) -> bool:
    claims = list(claims)
    if any(claim.new != move.new for claim in claims):
        return False
    site = urls.site(move.old)
    own = {claim.teller for claim in claims if claim.site == site}
    if _teller(move.old) in own or f"{_host(move.old)}/" in own:
        return True
    if urls.site(move.new) != site:
        return False
    others = {claim.site for claim in claims if claim.site != site}
    return len(own) >= _AGREEING or len(others) >= _AGREEING


def _teller(url: str) -> str | None:
    """Host and first part of a page's path; the host alone for its start page. None for no web URL."""
    place = place_of(url)
    return f"{place.host}/" + "".join(place.parts[:1]).rstrip("/") if place else None


def _host(url: str) -> str:
    place = place_of(url)
    return place.host if place else ""
