"""Erases from the miss log: all misses of a client or of an address, and every mention of that address elsewhere.

An address is erased in all its spellings. Another miss that mentions it, as source page, alternative or choice,
stays, with the mention blanked.
"""

import json
import sqlite3
from dataclasses import dataclass

from proxy.misses.jsonlog import Line
from repair.text import urls


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What to erase: misses by their ids, and addresses."""

    ids: frozenset[str] = frozenset()
    addresses: frozenset[str] = frozenset()

    def of_line(self, line: Line) -> Line | None:
        """A line of the log without the erased parts; None when the whole line goes."""
        names_it = line.get("event") in ("chosen", "dead_medium") and self._names(line.get("url"))
        if line.get("id") in self.ids or names_it:
            return None
        offered = line.get("offered")
        left = {
            key: None if key in ("source_url", "chosen") and self._names(line[key]) else line[key]
            for key in line
        }
        if isinstance(offered, list):
            left["offered"] = ["" if self._names(url) else url for url in offered]
        return left

    def _names(self, url: object) -> bool:
        return isinstance(url, str) and url in self.addresses


def erase(database: sqlite3.Connection, *, client: str | None, url: str | None) -> Erasure:
    """Erase from the database, in the caller's transaction; returns what to erase from the JSON lines."""
    addresses = spellings(url) if url is not None else frozenset()
    slots = ", ".join("?" * len(addresses))
    gone = database.execute(
        f"DELETE FROM misses WHERE client = ? OR url IN ({slots}) RETURNING id",  # noqa: S608
        (client, *addresses),
    ).fetchall()
    database.execute("DELETE FROM searches WHERE client = ?", (client,))
    for column in ("source_url", "chosen"):
        database.execute(f"UPDATE misses SET {column} = NULL WHERE {column} IN ({slots})", (*addresses,))  # noqa: S608
    database.execute(f"DELETE FROM dead_media WHERE url IN ({slots})", (*addresses,))  # noqa: S608
    # Replaced, not refused: the file may already be known without a page.
    database.execute(f"UPDATE OR REPLACE dead_media SET page = '' WHERE page IN ({slots})", (*addresses,))  # noqa: S608
    if addresses:
        _blank_offers(database, addresses)
    database.execute(f"DELETE FROM marks WHERE url IN ({slots})", (*addresses,))  # noqa: S608
    return Erasure(ids=frozenset(str(row[0]) for row in gone), addresses=addresses)


def spellings(url: str) -> frozenset[str]:
    """The spellings of an address: as it is, normalised, with either scheme, with and without `www.` and slash."""
    written = {url}
    if urls.is_web_url(url):
        parts = urls.parse(url)
        host, path = parts.authority.removeprefix("www."), parts.path.rstrip("/")
        query = f"?{parts.query}" if parts.query else ""
        written |= {
            f"{scheme}://{www}{host}{path}{slash}{query}"
            for scheme in ("http", "https")
            for www in ("", "www.")
            for slash in ("", "/")
        }
    return frozenset(written)


def _blank_offers(database: sqlite3.Connection, addresses: frozenset[str]) -> None:
    """Blank offered alternatives in one pass through the log; the others keep their numbers."""
    named = " OR ".join(["instr(offered, ?)"] * len(addresses))
    rows = database.execute(
        f"SELECT id, offered FROM misses WHERE {named}",  # noqa: S608
        [json.dumps(address) for address in addresses],
    ).fetchall()
    for miss_id, offered in rows:
        left = ["" if each in addresses else each for each in json.loads(offered)]
        database.execute("UPDATE misses SET offered = ? WHERE id = ?", (json.dumps(left), miss_id))
