"""Sitemaps: a page that vanished from a site's list while one of the same name appeared has moved.

The list that was fetched before is kept and compared with the next one. A name counts when one page with it vanished,
one appeared, and no other page of the list has it in the same language: translations share their names. Names that
are short, or that several pages have, count where the same change of the address is seen for three pages at once. A
page does not change its language, unless all pages of the old language vanished and those of the new one appeared.

As the protocol (sitemaps.org) has it, a sitemap speaks only for its own host and directory, so that on a shared host
no author lists the pages of another.
"""

import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from repair.collection.database import Database
from repair.moves.linkswaps import page_name
from repair.moves.patterns import language_part, place_of
from repair.moves.rules import Move
from repair.text import urls

LISTED = "sitemap"
"""The origin of a move that two versions of a sitemap tell."""
_LEAST_NAME = 8  # letters; of shorter names a site has many
_ALIKE_CHANGES = 3  # pages whose address changed in the same way, for names that alone say too little
_MAX_ALIKE = 10  # pages of one name that are compared with each other
_MAX_ADDRESSES = 10_000
_MAX_ADDRESS = 1_000  # characters
_MAX_MOVES = 2_000  # from one comparison; as many as are kept of a host
_MAX_SITEMAPS = 500  # kept, the latest
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS sitemaps (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE,"
    " addresses BLOB NOT NULL)"
)

_Key: TypeAlias = tuple[str, str]  # the language in an address, and the name of the page


def addresses_within(url: str, listed: Iterable[str]) -> frozenset[str]:
    """Those addresses of a sitemap, in normal form, that it may speak for."""
    place = urls.directory(url)
    within = (address for address in listed if len(address) <= _MAX_ADDRESS and address.startswith(place))
    return frozenset(itertools.islice(within, _MAX_ADDRESSES))


def renamed_addresses(before: AnyCollection[str], after: AnyCollection[str]) -> tuple[Move, ...]:
    """The moves between two versions of a list."""
    old, new = frozenset(before), frozenset(after)
    vanished, appeared, kept = (_by_name(each) for each in (old - new, new - old, old & new))
    found = {
        gone[0]: appeared[key][0]
        for key, gone in vanished.items()
        if len(gone) == len(appeared.get(key, ())) == 1 and key not in kept and len(key[1]) >= _LEAST_NAME
    }
    found |= _changed_alike(found, vanished, appeared, _new_languages(old, new))
    return tuple(Move(old=gone, new=found[gone], origin=LISTED) for gone in sorted(found))[:_MAX_MOVES]


def _changed_alike(
    sure: Mapping[str, str],
    vanished: Mapping[_Key, list[str]],
    appeared: Mapping[_Key, list[str]],
    new_languages: Mapping[str, str],
) -> dict[str, str]:
    """Further pairs of one name whose address changed as that of others did, each page in one pair only."""
    changes = {
        (gone, come): _change(gone, come)
        for (language, name), left in vanished.items()
        for known in (appeared.get((new_languages.get(language, language), name), ()),)
        if max(len(left), len(known)) <= _MAX_ALIKE
        for gone in left
        if gone not in sure
        for come in known
    }
    alike = Counter(itertools.chain(changes.values(), itertools.starmap(_change, sure.items())))
    common = [pair for pair, change in changes.items() if alike[change] >= _ALIKE_CHANGES]
    left, come = Counter(pair[0] for pair in common), Counter([*(pair[1] for pair in common), *sure.values()])
    return {pair[0]: pair[1] for pair in common if left[pair[0]] == come[pair[1]] == 1}


def _new_languages(old: AnyCollection[str], new: AnyCollection[str]) -> dict[str, str]:
    """The language that took the place of another: the one is in no new address, the other was in no old one."""
    before, after = ({language_part(address) for address in each} for each in (old, new))
    gone, come = before - after - {""}, after - before - {""}
    return dict(zip(gone, come, strict=True)) if len(gone) == len(come) == 1 else {}


def _change(old: str, new: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an address lost and gained above the page's name, without the directories that stayed at either end."""
    left, right = (list(place.parts[:-1]) if (place := place_of(url)) else [] for url in (old, new))
    for end in (0, -1):
        while left and right and left[end] == right[end]:
            del left[end], right[end]
    return tuple(left), tuple(right)


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


def _by_name(addresses: Iterable[str]) -> dict[_Key, list[str]]:
    found: dict[_Key, list[str]] = defaultdict(list)
    for address in addresses:
        if name := page_name(address):
            found[language_part(address), name].append(address)
    return dict(found)
