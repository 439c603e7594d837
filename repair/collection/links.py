"""The link graph: which page links where and with which words, in the same database as the pages.

URLs are interned in one table, so that a link costs two numbers and its words. Links lead to any URL, saved
or not: what saved pages say of a page that was never saved is the best evidence of what it was.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from repair.collection.database import Database
from repair.model import InLink, Link
from repair.text.urls import even_sample, url_hash

_SAMPLED_FROM = 50_000  # URLs of a site; of more, only some are looked at
_CONSIDERED = 2_000  # pages that link to one
_CHUNK = 500  # bound variables in one statement; SQLite's default limit was 999 for long

_LINK = "links.anchor, links.before, links.after, links.nav"


class LinkGraph:
    """Links of saved pages. The caller passes URLs in normal form."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, source: int, links: Sequence[Link]) -> frozenset[int]:
        """Replace the links of a page, in this order; returns the pages that are now linked with other words."""
        with self._database.write() as connection:
            ids = intern_urls(connection, [link.target_url for link in links])
            before = _words(connection, source)
            connection.execute("DELETE FROM links WHERE source = ?", (source,))
            connection.executemany(
                "INSERT INTO links (source, position, target, nav, anchor, before, after)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (source, position, ids[link.target_url], link.nav, link.anchor, link.before, link.after)
                    for position, link in enumerate(links)
                ],
            )
            after = {(ids[link.target_url], link.anchor, link.nav) for link in links}
            changed = frozenset(target for target, _, _ in before ^ after)
            forget_unused(connection, {target for target, _, _ in before - after})
            return changed

    def remove(self, source: int) -> frozenset[int]:
        """Remove the links of a page; returns the pages it linked to."""
        return self.replace(source, ())

    def inlinks(self, target_url: str, limit: int) -> tuple[InLink, ...]:
        """Links that lead to a URL, those in running text before navigation.

        Of too many in running text these are chosen by hash, and so the same wherever the same pages are saved.
        """
        with self._database.read() as connection:
            sources = connection.execute(
                "SELECT DISTINCT source.url, source.id FROM urls AS target JOIN links ON links.target = target.id"
                " JOIN urls AS source ON source.id = links.source WHERE target.url = ? AND nav = 0 LIMIT ?",
                (target_url, _CONSIDERED),
            ).fetchall()
            numbers = [number for _, number in sorted(sources, key=lambda each: url_hash(each[0]))[:limit]]
            places = {number: place for place, number in enumerate(numbers)}
            marks = ",".join("?" * len(numbers))
            select = (
                f"SELECT links.source, source.url, target.url, {_LINK} FROM urls AS target"  # noqa: S608  (constants)
                " JOIN links ON links.target = target.id JOIN urls AS source ON source.id = links.source"
                " WHERE target.url = ? AND links.nav ="
            )
            rows = connection.execute(
                f"{select} 0 AND links.source IN ({marks}) ORDER BY links.position", (target_url, *numbers)
            ).fetchall()
            rows = sorted(rows, key=lambda row: places[row[0]])[:limit]
            if len(rows) < limit:
                rows += connection.execute(
                    f"{select} 1 ORDER BY links.source, links.position LIMIT ?",
                    (target_url, limit - len(rows)),
                ).fetchall()
        return tuple(InLink(source_url=row[1], link=_link(row[2:])) for row in rows)

    def outlinks(self, source_url: str) -> tuple[Link, ...]:
        """Links of a page in page order."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT target.url, {_LINK} FROM urls AS source"  # noqa: S608
                " JOIN links ON links.source = source.id JOIN urls AS target ON target.id = links.target"
                " WHERE source.url = ? ORDER BY links.position",
                (source_url,),
            ).fetchall()
        return tuple(_link(row) for row in rows)

    def link_between(self, source_url: str, target_url: str) -> Link | None:
        """The most informative link from one page to another: in running text, with words, the first of them."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT target.url, {_LINK} FROM urls AS source"  # noqa: S608
                " JOIN links ON links.source = source.id JOIN urls AS target ON target.id = links.target"
                " WHERE source.url = ? AND target.url = ?"
                " ORDER BY links.nav, links.anchor = '', links.position LIMIT 1",
                (source_url, target_url),
            ).fetchone()
        return _link(row) if row else None

    def sources(self, target_url: str, limit: int) -> tuple[str, ...]:
        """Pages that link to a URL, each once."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT source.url FROM urls AS target JOIN links ON links.target = target.id"
                " JOIN urls AS source ON source.id = links.source WHERE target.url = ? LIMIT ?",
                (target_url, limit),
            ).fetchall()
        return tuple(url for (url,) in rows)

    def links_to(self, targets: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """Source and target of links in running text to pages, each pair once."""
        found: list[tuple[int, int]] = []
        with self._database.read() as connection:
            for start in range(0, len(targets), _CHUNK):
                chunk = targets[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                found += connection.execute(
                    f"SELECT DISTINCT source, target FROM links WHERE target IN ({marks}) AND nav = 0"  # noqa: S608
                    " AND source != target LIMIT ?",
                    (*chunk, limit - len(found)),
                ).fetchall()
        return found

    def anchors(self, target: int, limit: int) -> tuple[str, ...]:
        """The anchor texts of links to a page in running text, with repetitions."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT anchor FROM links WHERE target = ? AND nav = 0 AND anchor != '' AND source != ? LIMIT ?",
                (target, target, limit),
            ).fetchall()
        return tuple(anchor for (anchor,) in rows)

    def linked_urls(self, source: int, limit: int) -> tuple[str, ...]:
        """The URLs that the running text of a page links to, each once."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT url FROM links JOIN urls ON urls.id = links.target"
                " WHERE links.source = ? AND nav = 0 LIMIT ?",
                (source, limit),
            ).fetchall()
        return tuple(url for (url,) in rows)

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix, saved or linked to, sampled evenly."""
        end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        with self._database.read() as connection:
            where = "FROM urls WHERE url >= ? AND url < ?"
            count = connection.execute(f"SELECT count(*) {where}", (beginning, end)).fetchone()[0]
            rows = connection.execute(
                f"SELECT url {where} AND id % ? = 0",
                (beginning, end, max(1, count // max(limit, _SAMPLED_FROM))),
            ).fetchall()
        return even_sample((url for (url,) in rows), limit)

    def count(self) -> int:
        """How many links are stored."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM links").fetchone()[0])


def intern_urls(connection: sqlite3.Connection, urls: Iterable[str]) -> dict[str, int]:
    """The numbers of URLs, assigned where there are none yet; part of the caller's transaction."""
    wanted = list(dict.fromkeys(urls))
    ids: dict[str, int] = {}
    for chunk in _chunks(wanted):
        marks = ",".join("?" * len(chunk))
        ids.update(connection.execute(f"SELECT url, id FROM urls WHERE url IN ({marks})", chunk))  # noqa: S608
    for url in wanted:
        if url not in ids:
            ids[url] = int(connection.execute("INSERT INTO urls (url) VALUES (?)", (url,)).lastrowid or 0)
    return ids


def forget_unused(connection: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete those of these URLs that no page has and no link mentions any more."""
    connection.executemany(
        "DELETE FROM urls WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM pages WHERE id = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM links WHERE target = ?1 OR source = ?1)",
        [(number,) for number in ids],
    )


def _words(connection: sqlite3.Connection, source: int) -> set[tuple[int, str, bool]]:
    rows = connection.execute("SELECT target, anchor, nav FROM links WHERE source = ?", (source,))
    return {(target, anchor, bool(nav)) for target, anchor, nav in rows}


def _link(row: tuple[str, str, str, str, int]) -> Link:
    target_url, anchor, before, after, nav = row
    return Link(target_url=target_url, anchor=anchor, before=before, after=after, nav=bool(nav))


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
