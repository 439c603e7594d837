"""The page store: the content of every saved page, when it was seen, and its copy.

It is the source of truth for the full-text index. URLs are in normal form; `repair.collection.collection` ensures
that, and that links and index follow the changes made here.
"""

import hashlib
import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from repair.collection.database import Database
from repair.collection.links import forget_unused, intern_urls
from repair.collection.versions import VersionPolicy, VersionStore, day_of, shown_time_sql
from repair.model import Document, HeldCopy, HeldPage
from repair.text.urls import site_of_host

_CHUNK = 500
_SEEN_AGAIN_S = 600.0  # how exactly it is known when a page was seen last
_SITE_SHARE = 4  # when the store is full, one site may have this part of all pages
_HARVESTED = "SELECT id, url FROM pages JOIN urls USING (id) WHERE pinned = 0 ORDER BY seen_at, id"
_COMPRESSION_LEVEL = 3  # zlib: nearly as small as 6 on HTML, at half the time


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSummary:
    """What ranking needs of many pages at once; `digest` is the same for pages with the same content."""

    page: int
    url: str
    title: str
    language: str
    digest: bytes


class PageStore:
    """Pages by URL, on SQLite."""

    def __init__(self, database: Database, policy: VersionPolicy | None = None) -> None:
        """Without a `policy` only the newest version of a page is kept."""
        self._database = database
        self.versions = VersionStore(database, policy or VersionPolicy())

    def put(
        self,
        document: Document,
        *,
        fetched_at: datetime,
        seen_at: datetime,
        copy: HeldCopy | None = None,
        pinned: bool = False,
        raw_digest: bytes = b"",
    ) -> int:
        """Save a page, replacing an older version of it; returns its number. A pinned page stays pinned."""
        with self._database.write() as connection:
            page = intern_urls(connection, (document.url,))[document.url]
            digest = content_digest(document)
            if self._has_changed(connection, page, digest):
                self.versions.keep(connection, page)
            if pinned:
                self._coarsen_before_pinning(connection, page)
            else:
                # A copy of what users read stores only the day; an imported or scheduled one stores its time.
                copy = None if copy is None else replace(copy, fetched_at=day_of(copy.fetched_at))
            connection.execute(
                "INSERT INTO pages (id, title, language, fetched_at, seen_at, pinned, digest, raw_digest,"
                " canonical_url, headings, description, keywords, text)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " title = excluded.title, language = excluded.language, fetched_at = excluded.fetched_at,"
                " seen_at = excluded.seen_at, pinned = max(pinned, excluded.pinned),"
                " digest = excluded.digest, raw_digest = excluded.raw_digest, simhash = NULL,"
                " canonical_url = excluded.canonical_url, headings = excluded.headings,"
                " description = excluded.description, keywords = excluded.keywords, text = excluded.text",
                (
                    page,
                    document.title,
                    document.language,
                    fetched_at.timestamp(),
                    seen_at.timestamp(),
                    pinned,
                    digest,
                    raw_digest,
                    document.canonical_url,
                    json.dumps(document.headings),
                    document.description,
                    json.dumps(document.keywords),
                    document.text,
                ),
            )
            self._put_copy(connection, page, copy)
            return page

    def _coarsen_before_pinning(self, connection: sqlite3.Connection, page: int) -> None:
        row = connection.execute("SELECT pinned FROM pages WHERE id = ?", (page,)).fetchone()
        if row is not None and not row[0]:
            self.versions.coarsen(connection, page)

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL, without its copy; its fetch time is a day."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT title, text, language, pages.fetched_at, pinned, copies.page IS NOT NULL FROM urls"
                " JOIN pages USING (id) LEFT JOIN copies ON copies.page = pages.id WHERE url = ?",
                (url,),
            ).fetchone()
        if row is None:
            return None
        title, text, language, fetched_at, pinned, has_copy = row
        return HeldPage(
            url=url,
            title=title,
            text=text,
            language=language,
            fetched_at=day_of(_to_datetime(fetched_at)),
            pinned=bool(pinned),
            has_copy=bool(has_copy),
        )

    def document(self, page: int) -> Document | None:
        """The content of a page without its links, by its number; None once it is removed."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT url, title, text, headings, description, keywords, language, canonical_url"
                " FROM pages JOIN urls USING (id) WHERE id = ?",
                (page,),
            ).fetchone()
        if row is None:
            return None
        return Document(
            url=row[0],
            title=row[1],
            text=row[2],
            headings=tuple(json.loads(row[3])),
            description=row[4],
            keywords=tuple(json.loads(row[5])),
            language=row[6],
            canonical_url=row[7],
        )

    def copy(self, url: str) -> HeldCopy | None:
        """The newest copy saved under a URL."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT content_type, {shown_time_sql('copies.fetched_at')}, body FROM urls"  # noqa: S608
                " JOIN copies ON copies.page = urls.id JOIN pages ON pages.id = urls.id WHERE url = ?",
                (url,),
            ).fetchone()
        if row is None:
            return None
        return HeldCopy(
            url=url, content_type=row[0], body=zlib.decompress(row[2]), fetched_at=_to_datetime(row[1])
        )

    def number(self, url: str) -> int | None:
        """The number of a saved page."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT id FROM urls JOIN pages USING (id) WHERE url = ?", (url,)
            ).fetchone()
        return int(row[0]) if row else None

    def held_among(self, urls: Sequence[str]) -> frozenset[str]:
        """Which of some URLs are saved."""
        return frozenset(self._among("SELECT url FROM urls JOIN pages USING (id) WHERE url IN", urls))

    def same(self, page: int) -> tuple[str, ...]:
        """The URLs of all pages with the same content as a page."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url FROM pages JOIN urls USING (id)"
                " WHERE digest = (SELECT digest FROM pages WHERE id = ?)",
                (page,),
            ).fetchall()
        return tuple(url for (url,) in rows)

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all saved pages, in order."""
        with self._database.read() as connection:
            return tuple(page for (page,) in connection.execute("SELECT id FROM pages ORDER BY id"))

    def saved_among(self, pages: Sequence[int]) -> list[int]:
        """Which of some numbers are those of saved pages."""
        return self._among("SELECT id FROM pages WHERE id IN", pages)

    def _among(self, selection: str, values: Sequence[str] | Sequence[int]) -> list[Any]:
        """The first column of what a query that ends with IN finds for some values."""
        found: list[Any] = []
        with self._database.read() as connection:
            for start in range(0, len(values), _CHUNK):
                chunk = values[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                found += (value for (value,) in connection.execute(f"{selection} ({marks})", chunk))
        return found

    def page_summaries(self, pages: Sequence[int]) -> dict[int, PageSummary]:
        """What ranking needs of pages, by number; pages no longer saved are left out."""
        found: dict[int, PageSummary] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for row in connection.execute(
                    "SELECT id, url, title, language, digest FROM pages JOIN urls USING (id)"  # noqa: S608
                    f" WHERE id IN ({marks})",
                    chunk,
                ):
                    found[row[0]] = PageSummary(
                        page=row[0], url=row[1], title=row[2], language=row[3], digest=row[4]
                    )
        return found

    def touch(self, url: str, raw_digest: bytes, *, seen_at: datetime) -> bool:
        """Record that a page was seen again; True when it is saved and its bytes have not changed.

        Within a few minutes of the last time nothing is written: every write makes rankings be done anew.
        """
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT id, seen_at FROM urls JOIN pages USING (id) WHERE url = ? AND raw_digest = ?",
                (url, raw_digest),
            ).fetchone()
        if row is None:
            return False
        number, seen_before = row
        if abs(seen_at.timestamp() - seen_before) >= _SEEN_AGAIN_S:
            with self._database.write() as connection:
                connection.execute("UPDATE pages SET seen_at = ? WHERE id = ?", (seen_at.timestamp(), number))
        return True

    def is_pinned_with(self, url: str, raw_digest: bytes) -> bool:
        """Whether a page is pinned with these bytes."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM urls JOIN pages USING (id) WHERE url = ? AND raw_digest = ? AND pinned",
                (url, raw_digest),
            ).fetchone()
        return row is not None

    def saved_urls(self, beginning: str, limit: int) -> tuple[str, ...]:
        """The URLs of saved pages with a prefix, in order."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url FROM urls JOIN pages USING (id) WHERE url >= ? AND url < ? ORDER BY url LIMIT ?",
                (beginning, beginning[:-1] + chr(ord(beginning[-1]) + 1), limit),
            ).fetchall()
        return tuple(url for (url,) in rows)

    def remove(self, page: int) -> None:
        """Delete a page and all its versions; the caller removes its links from the graph first."""
        with self._database.write() as connection:
            self.versions.remove(connection, page)
            connection.execute("DELETE FROM copies WHERE page = ?", (page,))
            connection.execute("DELETE FROM pages WHERE id = ?", (page,))
            forget_unused(connection, (page,))

    def beyond(self, max_pages: int) -> tuple[int, ...]:
        """The harvested pages to drop, least recently seen first, so that at most `max_pages` remain.

        Pages of a site that exceeds its share go before all others: its owner can create any number of pages.
        """
        with self._database.read() as connection:
            excess = connection.execute("SELECT count(*) FROM pages").fetchone()[0] - max_pages
            if excess <= 0:
                return ()
            rows = connection.execute(_HARVESTED).fetchall()
        sizes = Counter(_site(url) for _, url in rows)
        share = max_pages // _SITE_SHARE
        over = {site: size - share for site, size in sizes.items() if size > share}
        first: list[int] = []
        others: list[int] = []
        for page, url in rows:
            site = _site(url)
            is_over = over.get(site, 0) > 0
            if is_over:
                over[site] -= 1
            (first if is_over else others).append(page)
        # Finding them scans all pages: drop another hundredth, so that this happens seldom.
        return (*first, *others)[: excess + max_pages // 100]

    def counts(self) -> tuple[int, int, int]:
        """How many pages are saved, pinned, and stored with a copy."""
        with self._database.read() as connection:
            pages, pinned = connection.execute(
                "SELECT count(*), coalesce(sum(pinned), 0) FROM pages"
            ).fetchone()
            copies = connection.execute("SELECT count(*) FROM copies").fetchone()[0]
        return pages, pinned, copies

    def _has_changed(self, connection: sqlite3.Connection, page: int, digest: bytes) -> bool:
        """Whether a saved page's content differs from the digest's."""
        row = connection.execute("SELECT digest FROM pages WHERE id = ?", (page,)).fetchone()
        return row is not None and row[0] != digest

    def _put_copy(self, connection: sqlite3.Connection, page: int, copy: HeldCopy | None) -> None:
        if copy is None:
            # An older copy would no longer match the saved page.
            connection.execute("DELETE FROM copies WHERE page = ?", (page,))
            return
        connection.execute(
            "INSERT OR REPLACE INTO copies (page, content_type, fetched_at, body) VALUES (?, ?, ?, ?)",
            (
                page,
                copy.content_type,
                copy.fetched_at.timestamp(),
                zlib.compress(copy.body, _COMPRESSION_LEVEL),
            ),
        )


def _site(url: str) -> str:
    """As `urls.site`, for a normal URL."""
    return site_of_host(url.split("/", 3)[2].partition(":")[0])


def content_digest(document: Document) -> bytes:
    """The same for pages with the same words, whatever their spacing, case and markup."""
    words = " ".join(f"{document.title}\n{document.text}".casefold().split())
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=16).digest()


def _to_datetime(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
