"""Sitemaps: a page that vanished from a site's list while one of the same name appeared has moved.

The list that was fetched before is kept and compared with the next one. A name counts when one page with it vanished,
one appeared, and no other page of the list has it. As the protocol (sitemaps.org) has it, a sitemap speaks only for
its own host and directory, so that on a shared host no author lists the pages of another.
"""

import itertools
import zlib
from collections import defaultdict
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable

from repair.collection.database import Database
from repair.moves.linkswaps import page_name
from repair.moves.rules import Move
from repair.text import urls

LISTED = "sitemap"
"""The origin of a move that two versions of a sitemap tell."""
_LEAST_NAME = 8  # letters; of shorter names a site has many
_MAX_ADDRESSES = 10_000
_MAX_ADDRESS = 1_000  # characters
_MAX_MOVES = 2_000  # from one comparison; as many as are kept of a host
_MAX_SITEMAPS = 500  # kept, the latest
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS sitemaps (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE,"
    " addresses BLOB NOT NULL)"
)


def addresses_within(url: str, listed: Iterable[str]) -> frozenset[str]:
    """Those addresses of a sitemap, in normal form, that it may speak for."""
    place = urls.directory(url)
    within = (address for address in listed if len(address) <= _MAX_ADDRESS and address.startswith(place))
    return frozenset(itertools.islice(within, _MAX_ADDRESSES))


def renamed_addresses(before: AnyCollection[str], after: AnyCollection[str]) -> tuple[Move, ...]:
    """The moves between two versions of a list."""
    old, new = frozenset(before), frozenset(after)
    vanished, appeared, kept = (_by_name(each) for each in (old - new, new - old, old & new))
    moves = (
        Move(old=gone[0], new=appeared[name][0], origin=LISTED)
        for name, gone in sorted(vanished.items())
        if len(gone) == len(appeared.get(name, ())) == 1 and name not in kept
    )
    return tuple(moves)[:_MAX_MOVES]


class SitemapStore:
    """The latest version of each sitemap, on SQLite."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def replace(self, url: str, addresses: AnyCollection[str]) -> tuple[str, ...]:
        """Keep a version; returns the addresses of the one before."""
        joined = zlib.compress("\n".join(sorted(addresses)).encode("utf-8", "replace"))
        with self._database.write() as connection:
            row = connection.execute("SELECT addresses FROM sitemaps WHERE url = ?", (url,)).fetchone()
            connection.execute(
                "INSERT OR REPLACE INTO sitemaps (url, addresses) VALUES (?, ?)", (url, joined)
            )
            connection.execute(
                "DELETE FROM sitemaps WHERE id NOT IN (SELECT id FROM sitemaps ORDER BY id DESC LIMIT ?)",
                (_MAX_SITEMAPS,),
            )
        return tuple(zlib.decompress(row[0]).decode().splitlines()) if row else ()


def _by_name(addresses: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for address in addresses:
        if len(name := page_name(address)) >= _LEAST_NAME:
            found[name].append(address)
    return dict(found)
