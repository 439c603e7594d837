"""Tags of URLs: what admins and users attach to them, and the keywords of saved pages around them."""

import json
from collections.abc import Sequence
from typing import Protocol

from repair.collection.database import Database
from repair.text import urls

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS tags (url TEXT NOT NULL, tag TEXT NOT NULL, times INTEGER NOT NULL,"
    " PRIMARY KEY (url, tag)) WITHOUT ROWID"
)
_MAX_TAG = 60
_MAX_TAGS = 50
_MAX_SIBLINGS = 40


class TagSource(Protocol):
    """Looks up tags."""

    def tags(self, url: str) -> tuple[tuple[str, int], ...]:
        """Tags that people attached to a URL and how often, the most used first."""

    def keywords_under(self, directory: str) -> tuple[tuple[str, ...], ...]:
        """The keywords of saved pages under a directory, page by page."""

    def keywords(self, pages: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The keywords of saved pages by their URLs, page by page."""


class TagStore:
    """Tags by URL in the collection's database; keywords are read from the pages there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def attach(self, url: str, tag: str) -> bool:
        """Count one more person who attaches a tag to a URL or directory; False for an invalid URL or tag."""
        plain = _plain(tag)
        if not urls.is_web_url(url) or not 0 < len(plain) <= _MAX_TAG:
            return False
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO tags VALUES (?, ?, 1) ON CONFLICT (url, tag) DO UPDATE SET times = times + 1",
                (urls.normal(url), plain),
            )
        return True

    def detach(self, url: str, tag: str) -> None:
        """Remove a tag that nobody should have attached."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM tags WHERE url = ? AND tag = ?", (urls.normal(url), _plain(tag)))

    def forget(self, url: str) -> None:
        """Remove all tags of a URL."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM tags WHERE url = ?", (url,))

    def tags(self, url: str) -> tuple[tuple[str, int], ...]:
        """Tags that people attached to a URL and how often, the most used first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT tag, times FROM tags WHERE url = ? ORDER BY times DESC, tag LIMIT ?", (url, _MAX_TAGS)
            ).fetchall()
        return tuple((tag, times) for tag, times in rows)

    def keywords_under(self, directory: str) -> tuple[tuple[str, ...], ...]:
        """The keywords of saved pages under a directory, page by page; of the first forty of them."""
        if not directory.endswith("/"):
            return ()
        with self._database.read() as connection:
            # "0" follows "/": the range covers all URLs that begin with the directory, by the index of URLs.
            rows = connection.execute(
                "SELECT keywords FROM urls JOIN pages USING (id) WHERE url >= ? AND url < ? AND keywords != '[]'"
                " LIMIT ?",
                (directory, f"{directory[:-1]}0", _MAX_SIBLINGS),
            ).fetchall()
        return tuple(_decode_keywords(row[0]) for row in rows)

    def keywords(self, pages: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The keywords of saved pages by their URLs, page by page."""
        wanted = tuple(pages)[:_MAX_SIBLINGS]
        marks = ",".join("?" * len(wanted))
        query = "SELECT keywords FROM urls JOIN pages USING (id) WHERE keywords != '[]'"
        with self._database.read() as connection:
            rows = connection.execute(f"{query} AND url IN ({marks})", wanted).fetchall()
        return tuple(_decode_keywords(row[0]) for row in rows)


def _plain(tag: str) -> str:
    return " ".join(tag.split()).lower()


def _decode_keywords(saved: str) -> tuple[str, ...]:
    return tuple(word[:_MAX_TAG].lower() for word in json.loads(saved) if isinstance(word, str))
