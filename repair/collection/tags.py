"""Tags of URLs: what admins and readers attach to them, and what the held pages around them say in keywords."""

import json
from collections.abc import Sequence
from typing import Protocol

from repair import urls
from repair.database import Database

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS tags (url TEXT NOT NULL, tag TEXT NOT NULL, times INTEGER NOT NULL,"
    " PRIMARY KEY (url, tag)) WITHOUT ROWID"
)
_MAX_TAG = 60
_MAX_TAGS = 50
_MAX_SIBLINGS = 40


class Tagged(Protocol):
    """Who knows tags."""

    def tags(self, url: str) -> tuple[tuple[str, int], ...]:
        """Tags that people attached to a URL and how often, the most used first."""

    def keywords_under(self, directory: str) -> tuple[tuple[str, ...], ...]:
        """The keywords of held pages under a directory, page by page."""

    def keywords(self, pages: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The keywords of held pages by their URLs, page by page."""


class TagStore:
    """Tags by URL in the collection's database; keywords are read off the pages there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def attach(self, url: str, tag: str) -> bool:
        """Count one more person who attaches a tag to a URL or directory; False for what is no URL or no tag."""
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
        """The keywords of held pages under a directory, page by page; of the first forty of them."""
        if not directory.endswith("/"):
            return ()
        with self._database.read() as connection:
            # "0" comes next after "/": all addresses that begin with the directory, by the index of addresses.
            rows = connection.execute(
                "SELECT keywords FROM urls JOIN pages USING (id) WHERE url >= ? AND url < ? AND keywords != '[]'"
                " LIMIT ?",
                (directory, f"{directory[:-1]}0", _MAX_SIBLINGS),
            ).fetchall()
        return tuple(_read(row[0]) for row in rows)

    def keywords(self, pages: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The keywords of held pages by their URLs, page by page."""
        wanted = tuple(pages)[:_MAX_SIBLINGS]
        marks = ",".join("?" * len(wanted))
        query = "SELECT keywords FROM urls JOIN pages USING (id) WHERE keywords != '[]'"
        with self._database.read() as connection:
            rows = connection.execute(f"{query} AND url IN ({marks})", wanted).fetchall()
        return tuple(_read(row[0]) for row in rows)


def _plain(tag: str) -> str:
    return " ".join(tag.split()).lower()


def _read(saved: str) -> tuple[str, ...]:
    return tuple(word[:_MAX_TAG].lower() for word in json.loads(saved) if isinstance(word, str))
