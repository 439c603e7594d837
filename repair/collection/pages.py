"""The page store: what every held page says, when it was seen, and the copy we kept of it.

It is the source of truth for the full-text index. URLs are in normal form; `repair.collection` sees to that,
and to links and index following what happens here.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from repair.database import Database
from repair.graph import forget_unused, interned
from repair.model import Document, HeldCopy, HeldPage
from repair.versions import VersionPolicy, VersionStore, day_of, told_at

_CHUNK = 500
_COPY_LEVEL = 3  # zlib: nearly as small as 6 on HTML, at half the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The little that ranking needs of many pages at once; `digest` is the same for pages that say the same."""

    page: int
    url: str
    title: str
    language: str
    digest: bytes


class PageStore:
    """Pages by URL, on SQLite."""

    def __init__(self, database: Database, policy: VersionPolicy | None = None) -> None:
        """Without a `policy` no version of a page is kept but the newest."""
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
        """Hold a page, in the place of an older version of it; its number. A pinned page stays pinned."""
        with self._database.write() as connection:
            page = interned(connection, (document.url,))[document.url]
            digest = content_digest(document)
            if self._said_otherwise(connection, page, digest):
                self.versions.keep(connection, page)
            if pinned:
                self._coarsen_before_pinning(connection, page)
            else:
                # Of what users read, the copy has no time but the day; what is imported or fetched on order has one.
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
        """What we hold under a URL, without its copy; of when it was fetched, the day."""
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
            fetched_at=day_of(_moment(fetched_at)),
            pinned=bool(pinned),
            has_copy=bool(has_copy),
        )

    def document(self, page: int) -> Document | None:
        """All that a page says but its links, by its number; None once it is gone."""
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
        """The newest representation we kept under a URL."""
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT content_type, {told_at('copies.fetched_at')}, body FROM urls"  # noqa: S608
                " JOIN copies ON copies.page = urls.id JOIN pages ON pages.id = urls.id WHERE url = ?",
                (url,),
            ).fetchone()
        if row is None:
            return None
        return HeldCopy(
            url=url, content_type=row[0], body=zlib.decompress(row[2]), fetched_at=_moment(row[1])
        )

    def number(self, url: str) -> int | None:
        """The number of a held page."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT id FROM urls JOIN pages USING (id) WHERE url = ?", (url,)
            ).fetchone()
        return int(row[0]) if row else None

    def same(self, page: int) -> tuple[str, ...]:
        """The addresses of all pages with the content of a page."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url FROM pages JOIN urls USING (id)"
                " WHERE digest = (SELECT digest FROM pages WHERE id = ?)",
                (page,),
            ).fetchall()
        return tuple(url for (url,) in rows)

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all held pages, in order."""
        with self._database.read() as connection:
            return tuple(page for (page,) in connection.execute("SELECT id FROM pages ORDER BY id"))

    def briefs(self, pages: Sequence[int]) -> dict[int, Brief]:
        """The little that ranking needs of pages, by number; those no longer held are left out."""
        found: dict[int, Brief] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for row in connection.execute(
                    "SELECT id, url, title, language, digest FROM pages JOIN urls USING (id)"  # noqa: S608
                    f" WHERE id IN ({marks})",
                    chunk,
                ):
                    found[row[0]] = Brief(
                        page=row[0], url=row[1], title=row[2], language=row[3], digest=row[4]
                    )
        return found

    def touch(self, url: str, raw_digest: bytes, *, seen_at: datetime) -> bool:
        """Note that a page was seen again; True when it is held and its bytes have not changed."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT id, seen_at FROM urls JOIN pages USING (id) WHERE url = ? AND raw_digest = ?",
                (url, raw_digest),
            ).fetchone()
        if row is None:
            return False
        with self._database.write() as connection:
            connection.execute("UPDATE pages SET seen_at = ? WHERE id = ?", (seen_at.timestamp(), row[0]))
        return True

    def remove(self, page: int) -> None:
        """Forget a page and all its versions; its links are the graph's to remove, before."""
        with self._database.write() as connection:
            self.versions.remove(connection, page)
            connection.execute("DELETE FROM copies WHERE page = ?", (page,))
            connection.execute("DELETE FROM pages WHERE id = ?", (page,))
            forget_unused(connection, (page,))

    def beyond(self, max_pages: int) -> tuple[int, ...]:
        """The harvested pages to drop, least recently seen first, so that no more than `max_pages` are held."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM pages WHERE pinned = 0 ORDER BY seen_at, id"
                " LIMIT max(0, (SELECT count(*) FROM pages) - ?)",
                (max_pages,),
            ).fetchall()
        return tuple(page for (page,) in rows)

    def counts(self) -> tuple[int, int, int]:
        """How many pages are held, pinned, and kept as copies."""
        with self._database.read() as connection:
            pages, pinned = connection.execute(
                "SELECT count(*), coalesce(sum(pinned), 0) FROM pages"
            ).fetchone()
            copies = connection.execute("SELECT count(*) FROM copies").fetchone()[0]
        return pages, pinned, copies

    def _said_otherwise(self, connection: sqlite3.Connection, page: int, digest: bytes) -> bool:
        """Whether a page is held that says something else than what the digest is of."""
        row = connection.execute("SELECT digest FROM pages WHERE id = ?", (page,)).fetchone()
        return row is not None and row[0] != digest

    def _put_copy(self, connection: sqlite3.Connection, page: int, copy: HeldCopy | None) -> None:
        if copy is None:
            # An older copy would no longer be of the page that we say we hold.
            connection.execute("DELETE FROM copies WHERE page = ?", (page,))
            return
        connection.execute(
            "INSERT OR REPLACE INTO copies (page, content_type, fetched_at, body) VALUES (?, ?, ?, ?)",
            (page, copy.content_type, copy.fetched_at.timestamp(), zlib.compress(copy.body, _COPY_LEVEL)),
        )


def content_digest(document: Document) -> bytes:
    """The same for pages that say the same, whatever their spacing, case and markup."""
    words = " ".join(f"{document.title}\n{document.text}".casefold().split())
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=16).digest()


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
