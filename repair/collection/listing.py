"""Saved pages to browse: the newest, the most read, those of a site or a language.

A list must not tell what single users read. So it has only pages that somebody gathered for all (imported, fetched,
crawled: `pinned`) and pages that several users opened on one day. Of readers only their number per page and day is
stored, and only if it is large enough; days are all that is known of times. All methods block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from repair.collection.database import Database
from repair.collection.statistics import CENSUS
from repair.parse.formats.kinds import FileKind, kind_of_content, kind_of_url
from repair.secrets.addresses import has_secret
from repair.text import urls

KEPT_DAYS = 28
HTML, TEXT = "html", "text"
KINDS = (HTML, *(kind.value for kind in FileKind), TEXT)
"""Types of documents, as people choose them in a search."""

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS readers (page INTEGER NOT NULL, day INTEGER NOT NULL, readers INTEGER NOT NULL,"
    " PRIMARY KEY (page, day)) WITHOUT ROWID"
)
_LISTED = "(pinned = 1 OR EXISTS (SELECT 1 FROM readers WHERE readers.page = pages.id))"
_INLINKS = "(SELECT count(*) FROM (SELECT 1 FROM links WHERE target = pages.id AND nav = 0 LIMIT 200))"
_SITE = "substr(url, instr(url, '//') + 2, instr(substr(url, instr(url, '//') + 2), '/') - 1)"
_CHUNK = 500
_NO_LANGUAGE = "'', 'zxx', 'und', 'mul', 'mis'"  # unknown, none, or several
_MOST = 2_000  # pages of a site or a language that are put in order


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowsedPage:
    """A saved page in a list. `kind` is one of KINDS; `saved_on` is a day."""

    url: str
    title: str
    language: str
    kind: str
    saved_on: date


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowsedSite:
    """A site and how many of its pages are saved."""

    site: str
    pages: int


class PageListing:
    """Lists over the database of a collection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)
            connection.execute(CENSUS)

    def page_number(self, url: str) -> int | None:
        """The number of a saved page."""
        if not urls.is_web_url(url):
            return None
        with self._database.read() as connection:
            query = "SELECT id FROM urls JOIN pages USING (id) WHERE url = ?"
            row = connection.execute(query, (urls.normal(url),)).fetchone()
        return int(row[0]) if row else None

    def note_readers(self, readers: Mapping[int, int], day: date) -> None:
        """Record how many users opened pages (by number) on a day. A smaller number than the known one is ignored."""
        oldest = (day - timedelta(days=KEPT_DAYS)).toordinal()
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO readers SELECT id, ?, ? FROM pages WHERE id = ?"
                " ON CONFLICT (page, day) DO UPDATE SET readers = max(readers, excluded.readers)",
                [(day.toordinal(), count, page) for page, count in readers.items()],
            )
            connection.execute(
                "DELETE FROM readers WHERE day < ? OR page NOT IN (SELECT id FROM pages)", (oldest,)
            )

    def uses(self, pages: Sequence[int]) -> dict[int, int]:
        """How many readers pages had in the last weeks; of pages that too few opened nothing is known."""
        found: dict[int, int] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                query = f"SELECT page, sum(readers) FROM readers WHERE page IN ({marks}) GROUP BY page"  # noqa: S608
                found.update(connection.execute(query, chunk))
        return found

    def newest(self, limit: int, offset: int = 0) -> tuple[BrowsedPage, ...]:
        """The pages saved last."""
        return self._list(
            f"SELECT id FROM pages INDEXED BY pages_census WHERE {_LISTED}"  # noqa: S608  (constants)
            " ORDER BY fetched_at DESC, id DESC LIMIT ? OFFSET ?",
            (limit, offset),
        )

    def most_read(self, limit: int, offset: int = 0) -> tuple[BrowsedPage, ...]:
        """The pages with the most readers in the last weeks."""
        return self._list(
            "SELECT page FROM readers GROUP BY page ORDER BY sum(readers) DESC, page LIMIT ? OFFSET ?",
            (limit, offset),
        )

    def of_language(self, language: str, limit: int, offset: int = 0) -> tuple[BrowsedPage, ...]:
        """The pages in a language, those with the most links to them first."""
        return self._list(
            f"SELECT id FROM (SELECT id, {_INLINKS} AS inlinks FROM pages INDEXED BY pages_census"  # noqa: S608
            f" WHERE language = ? AND {_LISTED} ORDER BY fetched_at DESC LIMIT ?)"
            " ORDER BY inlinks DESC, id LIMIT ? OFFSET ?",
            (language, _MOST, limit, offset),
        )

    def of_site(self, site: str, limit: int, offset: int = 0) -> tuple[BrowsedPage, ...]:
        """The pages of a site (its host, with a port if it has one), those with the most links to them first."""
        ranges = [f"{scheme}://{site}" for scheme in ("http", "https")]
        bounds = [bound for start in ranges for bound in (f"{start}/", f"{start}0")]  # "0" follows "/"
        return self._list(
            f"SELECT id FROM (SELECT id, {_INLINKS} AS inlinks FROM urls JOIN pages USING (id)"  # noqa: S608
            f" WHERE ((url >= ? AND url < ?) OR (url >= ? AND url < ?)) AND {_LISTED} LIMIT ?)"
            " ORDER BY inlinks DESC, id LIMIT ? OFFSET ?",
            (*bounds, _MOST, limit, offset),
        )

    def sites(self, limit: int, offset: int = 0) -> tuple[BrowsedSite, ...]:
        """The sites with the most pages."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {_SITE} AS site, count(*) AS pages FROM pages JOIN urls USING (id)"  # noqa: S608
                f" WHERE {_LISTED} GROUP BY site ORDER BY pages DESC, site LIMIT ? OFFSET ?",
                (limit, offset),
            ).fetchall()
        return tuple(BrowsedSite(site=site, pages=pages) for site, pages in rows)

    def languages(self, limit: int) -> tuple[tuple[str, int], ...]:
        """The languages with the most pages, where one is known."""
        with self._database.read() as connection:
            return tuple(
                connection.execute(
                    f"SELECT language, count(*) AS pages FROM pages INDEXED BY pages_census"  # noqa: S608
                    f" WHERE language NOT IN ({_NO_LANGUAGE}) AND {_LISTED}"
                    " GROUP BY language ORDER BY pages DESC, language LIMIT ?",
                    (limit,),
                )
            )

    def describe(self, pages: Sequence[int]) -> dict[int, BrowsedPage]:
        """What lists and searches show of pages, by number; without pages whose address has a secret."""
        found: dict[int, BrowsedPage] = {}
        with self._database.read() as connection:
            for start in range(0, len(pages), _CHUNK):
                chunk = pages[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for number, url, title, language, fetched_at, content_type in connection.execute(
                    "SELECT pages.id, url, title, language, pages.fetched_at, content_type FROM pages"  # noqa: S608
                    " JOIN urls USING (id) LEFT JOIN copies ON copies.page = pages.id"
                    f" WHERE pages.id IN ({marks})",
                    chunk,
                ):
                    if not has_secret(url):
                        found[number] = BrowsedPage(
                            url=url,
                            title=title,
                            language=language,
                            kind=document_kind(url, content_type or ""),
                            saved_on=datetime.fromtimestamp(fetched_at, UTC).date(),
                        )
        return found

    def _list(self, query: str, values: tuple[object, ...]) -> tuple[BrowsedPage, ...]:
        with self._database.read() as connection:
            numbers = [number for (number,) in connection.execute(query, values)]
        found = self.describe(numbers)
        return tuple(found[number] for number in numbers if number in found)


def document_kind(url: str, content_type: str) -> str:
    """The type of a saved document, by its content type, or by its address where none was saved.

    >>> document_kind("http://school.test/plan.pdf", ""), document_kind("http://school.test/", "text/html")
    ('pdf', 'html')
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == "text/plain":
        return TEXT
    kind = kind_of_content(media_type, url) if media_type else kind_of_url(url)
    return kind.value if kind else HTML
