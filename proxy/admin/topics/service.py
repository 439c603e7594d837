"""Topics as the desk shows and changes them, for its pages and its API. Methods block: call them in a thread."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.fetching.entries import NotQueuedError
from proxy.fetching.queue import queueable_url
from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import CrawlCounts
from repair.crawling.syllabus import parse_csv, parse_outline
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import DEFAULT_BYTES, DEFAULT_PAGES, InvalidTopic, Topic
from repair.crawling.topicstore import TopicPage, TopicStore
from repair.text import urls

log = logging.getLogger(__name__)

_IN_PROGRESS_S = 60.0
_SHOWN_PAGES = 100
_NEXT_LINKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOverview:
    """A topic, how many pages it has, and how far its crawl is; `in_progress` when it went on a moment ago."""

    topic: Topic
    pages: int
    counts: CrawlCounts
    in_progress: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDetails:
    """The same with its likeliest pages, and the links that a crawl would fetch first."""

    overview: TopicOverview
    pages: tuple[TopicPage, ...]
    next_links: tuple[FrontierLink, ...]


class AdminTopics:
    """Topics of one data folder."""

    def __init__(self, database: TopicDatabase) -> None:
        self._database = database
        self.store = TopicStore(database)

    def list(self) -> tuple[TopicOverview, ...]:
        """All topics, by name."""
        return tuple(map(self._overview, self.store.list()))

    def get(self, name: str) -> TopicDetails | None:
        """One topic."""
        topic = self.store.get(name)
        if topic is None:
            return None
        frontier = CrawlStore(self._database, topic.name)
        return TopicDetails(
            overview=self._overview(topic),
            pages=self.store.pages(topic.name, limit=_SHOWN_PAGES),
            next_links=frontier.best_waiting(_NEXT_LINKS),
        )

    def put(self, topic: Topic, *, by: str) -> bool:
        """Add a topic or replace it; whether it is new. Raises InvalidTopic."""
        for seed in topic.seeds:
            try:
                queueable_url(seed)
            except NotQueuedError as error:
                raise InvalidTopic(str(error)) from error
        is_new = self.store.put(topic)
        log.info("%s %s the topic %r", by, "added" if is_new else "changed", topic.name)
        return is_new

    def import_syllabus(self, text: str, *, by: str) -> tuple[Topic, ...]:
        """Add the topics of a syllabus, CSV or an outline. Raises InvalidTopic, and then adds none."""
        first = text.lstrip("\ufeff").lstrip().partition("\n")[0].lower()
        is_csv = "," in first and "topic" in (cell.strip() for cell in first.split(","))
        topics = (parse_csv if is_csv else parse_outline)(text)
        for topic in topics:
            self.put(topic, by=by)
        return topics

    def remove(self, name: str, *, by: str) -> bool:
        """Remove a topic; its pages stay saved. Whether there was one."""
        removed = self.store.remove(name)
        if removed:
            log.info("%s removed the topic %r", by, name)
        return removed

    def judge(self, name: str, url: str, *, belongs: bool, by: str) -> bool:
        """Record what a person says of a page; False when there is no such topic. Raises InvalidTopic."""
        if not urls.is_web_url(url):
            raise InvalidTopic(f"expected an http(s) address, got {url[:100]!r}")
        topic = self.store.get(name)
        if topic is None:
            return False
        self.store.note_verdict(url, topic.name, belongs=belongs)
        log.info("%s said that %s %s to %r", by, url, "belongs" if belongs else "does not belong", topic.name)
        return True

    def _overview(self, topic: Topic) -> TopicOverview:
        frontier = CrawlStore(self._database, topic.name)
        return TopicOverview(
            topic=topic,
            pages=self.store.page_count(topic.name),
            counts=frontier.counts(),
            in_progress=frontier.went_on_at() > time.time() - _IN_PROGRESS_S,
        )


def topic_of_form(fields: Mapping[str, str]) -> Topic:
    """The topic that a form describes, its lists one a line. Raises InvalidTopic."""

    def lines(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, map(str.strip, fields.get(name, "").splitlines()))))

    return Topic(
        name=fields.get("name", "").strip(),
        subtopics=lines("subtopics"),
        words=lines("words"),
        seeds=tuple(map(_seed, lines("seeds"))),
        language=fields.get("language", "").strip().lower(),
        max_pages=_number(fields.get("pages", ""), DEFAULT_PAGES),
        max_bytes=_number(fields.get("megabytes", ""), DEFAULT_BYTES // 10**6) * 10**6,
        hours=fields.get("hours", "").strip(),
        groups=lines("groups"),
    )


def _seed(text: str) -> str:
    try:
        return queueable_url(text)
    except NotQueuedError as error:
        raise InvalidTopic(str(error)) from error


def _number(text: str, otherwise: int) -> int:
    plain = text.strip()
    if not plain:
        return otherwise
    if not (plain.isascii() and plain.isdigit() and len(plain) < 10):
        raise InvalidTopic(f"expected a number, got {plain[:20]!r}")
    return int(plain)
