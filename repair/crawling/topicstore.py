"""Topics, the pages that belong to them with their probabilities, and what people said of pages."""

import json
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.text import urls

COUNTEREXAMPLES = 200
"""Kept of a topic at most, the latest; a judge learns from no more."""
_COLUMNS = "name, subtopics, words, seeds, language, max_pages, max_bytes, hours, groups"

Row = tuple[str, str, str, str, str, int, int, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    """A page of a topic; a page may be in several."""

    url: str
    topic: str
    probability: float


class TopicStore:
    """Topics in the database. Addresses are stored in normal form."""

    def __init__(self, database: TopicDatabase, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def put(self, topic: Topic) -> bool:
        """Add a topic, or replace the one of this name and keep its pages; whether it is new."""
        with self._database.write() as connection:
            is_new = self._get(topic.name) is None
            connection.execute(
                f"INSERT OR REPLACE INTO topics ({_COLUMNS}, changed_at)"  # noqa: S608  (constants)
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    topic.name,
                    json.dumps(topic.subtopics),
                    json.dumps(topic.words),
                    json.dumps([urls.normal(seed) for seed in topic.seeds]),
                    topic.language,
                    topic.max_pages,
                    topic.max_bytes,
                    topic.hours,
                    json.dumps(topic.groups),
                    self._clock(),
                ),
            )
        return is_new

    def get(self, name: str) -> Topic | None:
        """A topic by its name, in any case."""
        return self._get(name) or next(
            (topic for topic in self.list() if topic.name.casefold() == name.casefold()), None
        )

    def list(self) -> tuple[Topic, ...]:
        """All topics, by name."""
        with self._database.read() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM topics ORDER BY name").fetchall()  # noqa: S608
        return tuple(map(_topic, rows))

    def remove(self, name: str) -> bool:
        """Remove a topic with its frontier and its list of pages; the pages stay saved. Whether there was one."""
        with self._database.write() as connection:
            for table in ("page_topics", "verdicts", "counterexamples", "frontier"):
                connection.execute(f"DELETE FROM {table} WHERE topic = ?", (name,))  # noqa: S608  (constants)
            return connection.execute("DELETE FROM topics WHERE name = ?", (name,)).rowcount > 0

    def note_page(self, url: str, topic: str, probability: float) -> None:
        """Record how likely a page belongs to a topic."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO page_topics VALUES (?, ?, ?, ?)",
                (urls.normal(url), topic, probability, self._clock()),
            )

    def pages(self, topic: str, *, limit: int = 100) -> tuple[TopicPage, ...]:
        """The pages of a topic, the likeliest first; without those that a person took out."""
        return self._pages("topic = ? ORDER BY probability DESC, url LIMIT ?", topic, limit)

    def topics_of(self, url: str) -> tuple[TopicPage, ...]:
        """The topics of a page, the likeliest first."""
        return self._pages("url = ? ORDER BY probability DESC, topic LIMIT ?", urls.normal(url), 100)

    def page_count(self, topic: str) -> int:
        """How many pages a topic has."""
        with self._database.read() as connection:
            row = connection.execute("SELECT count(*) FROM page_topics WHERE topic = ?", (topic,)).fetchone()
        return int(row[0])

    def note_verdict(self, url: str, topic: str, *, belongs: bool) -> None:
        """Record what a person said; a page that does not belong leaves the topic at once."""
        normal = urls.normal(url)
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (normal, topic, belongs))
            if belongs:
                self.note_page(normal, topic, 1.0)
            else:
                connection.execute("DELETE FROM page_topics WHERE url = ? AND topic = ?", (normal, topic))

    def verdicts(self, topic: str) -> dict[str, bool]:
        """What people said of pages."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url, belongs FROM verdicts WHERE topic = ?", (topic,)
            ).fetchall()
        return {url: bool(belongs) for url, belongs in rows}

    def note_counterexample(self, url: str, topic: str, terms: Sequence[str]) -> None:
        """Keep the terms, not the order, of a page that a crawl read and left: else it would know only what it saved
        when it goes on another day."""
        packed = zlib.compress(" ".join(sorted(terms)).encode("utf-8", "replace"), 1)
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO counterexamples (topic, url, terms) VALUES (?, ?, ?)",
                (topic, urls.normal(url), packed),
            )
            connection.execute(
                "DELETE FROM counterexamples WHERE id IN"
                " (SELECT id FROM counterexamples WHERE topic = ? ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (topic, COUNTEREXAMPLES),
            )

    def counterexamples(self, topic: str) -> dict[str, tuple[str, ...]]:
        """The terms of pages that crawls of a topic read and left, by address, the oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url, terms FROM counterexamples WHERE topic = ? ORDER BY id", (topic,)
            ).fetchall()
        return {url: tuple(zlib.decompress(terms).decode().split()) for url, terms in rows}

    def _get(self, name: str) -> Topic | None:
        with self._database.read() as connection:
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM topics WHERE name = ?",  # noqa: S608
                (name,),
            ).fetchone()
        return _topic(row) if row else None

    def _pages(self, where: str, *values: object) -> tuple[TopicPage, ...]:
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT url, topic, probability FROM page_topics WHERE {where}",  # noqa: S608
                values,
            ).fetchall()
        return tuple(TopicPage(url=url, topic=topic, probability=value) for url, topic, value in rows)


def _topic(row: Row) -> Topic:
    name, subtopics, words, seeds, language, max_pages, max_bytes, hours, groups = row
    return Topic(
        name=name,
        subtopics=tuple(json.loads(subtopics)),
        words=tuple(json.loads(words)),
        seeds=tuple(json.loads(seeds)),
        language=language,
        max_pages=max_pages,
        max_bytes=max_bytes,
        hours=hours,
        groups=tuple(json.loads(groups)),
    )
