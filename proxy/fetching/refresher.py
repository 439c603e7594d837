"""Asks again for the pages of a topic that may have changed, and for the lists of its good sites.

Requests are conditional: an unchanged page costs a 304 without a body. A page that its site deleted is kept; where
the site says for good that it moved (301, 308), the new address is saved too and becomes a known move. Sitemaps and
feeds of hosts that brought pages of the topic tell which pages changed, and of new ones; these wait in the frontier
for the next crawl. Every outcome is recorded at once, so that `kill -9` costs one request at most.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from proxy.fetching.crawler import CrawlTools, recall_crawl
from proxy.fetching.entries import FetchFailure, NoConnectivity, PageGone, PermanentFetchError
from proxy.fetching.fetcher import FetchedPage
from proxy.fetching.pageparts import fetch_parts
from repair.crawling.frontierstore import FrontierStore
from repair.crawling.pagejudge import BELONGS, document_terms
from repair.crawling.revisits import Revisit, RevisitOutcome, RevisitStore
from repair.crawling.topiccrawl import TopicCrawl
from repair.errors import FileTooCostly
from repair.fetch import FetchLimits
from repair.harvest import addition_of
from repair.model import Document, Link, Page
from repair.parse import decode
from repair.parse.sitelists import MAX_BYTES, SiteList, SiteListEntry, feeds_of, read_site_list
from repair.secrets.addresses import has_secret
from repair.text import urls

log = logging.getLogger(__name__)

_NOT_MODIFIED = 304
_PERMANENT = frozenset((301, 308))
_ALL = 1_000_000
_GOOD_PAGES = 3  # of the topic that a host has, before its lists are asked for
_GOOD_HOSTS = 20
_LISTS_OF_A_HOST = 6
_FEED_PAGES = 5  # of a host, in which its feeds are looked for
_NEW_LINKS = 300  # of a host in one run
_VALIDATORS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshLimits:
    """What one run may ask for."""

    pages: int
    bytes: int


@dataclass(slots=True, kw_only=True)
class RefreshReport:
    """What became of the pages that were due, and how many links the lists of sites and changed pages brought."""

    topic: str
    outcomes: Counter[RevisitOutcome] = field(
        default_factory=lambda: Counter(dict.fromkeys(RevisitOutcome, 0))
    )
    new_links: int = 0
    received: int = 0
    stopped: str = ""


class TopicRefresher:
    """One run for one topic. For one event loop; what takes long runs in threads, one at a time."""

    def __init__(
        self,
        crawl: TopicCrawl,
        store: FrontierStore,
        tools: CrawlTools,
        revisits: RevisitStore,
        *,
        limits: RefreshLimits,
        reason_to_stop: Callable[[], str | None] = lambda: None,
        on_page: Callable[[int], None] = lambda asked: None,
    ) -> None:
        self._crawl, self._store, self._tools, self._revisits = crawl, store, tools, revisits
        self._limits, self._outer_reason, self._on_page = limits, reason_to_stop, on_page
        self._lock = asyncio.Lock()
        self._silent = False
        self._report = RefreshReport(topic=crawl.topic.name)
        self._pages: dict[str, float] = {}

    async def run(self) -> RefreshReport:
        """Ask until nothing is due, or there is a reason to stop."""
        name = self._crawl.topic.name
        await asyncio.to_thread(recall_crawl, self._crawl, self._store)
        found = await asyncio.to_thread(self._tools.topics.pages, name, limit=_ALL)
        self._pages = {page.url: page.probability for page in found}
        hosts = _by_host(self._pages)
        good = sorted(hosts, key=lambda host: (-len(hosts[host]), host))[:_GOOD_HOSTS]
        await self._at_hosts(
            [hosts[host] for host in good if len(hosts[host]) >= _GOOD_PAGES], self._read_lists
        )
        due = {
            revisit.url: revisit
            for revisit in await asyncio.to_thread(self._revisits.due, name, limit=self._limits.pages)
        }
        await self._at_hosts(
            [[due[url] for url in addresses] for addresses in _by_host(due).values()], self._revisit_all
        )
        self._report.stopped = self._reason() or "nothing more is due"
        return self._report

    async def _at_hosts(self, work: Iterable[list[T]], ask: Callable[[list[T]], Awaitable[None]]) -> None:
        """Ask several hosts at once, each for one thing after the other."""
        turns = asyncio.Semaphore(self._tools.fetch.at_once)

        async def ask_in_turn(things: list[T]) -> None:
            async with turns:
                await ask(things)

        async with asyncio.TaskGroup() as tasks:
            for things in work:
                tasks.create_task(ask_in_turn(things))

    def _reason(self) -> str | None:
        if self._silent:
            return "no connection to the internet"
        if self._report.received >= self._limits.bytes:
            return "budget of bytes reached"
        return self._outer_reason()

    async def _revisit_all(self, due: list[Revisit]) -> None:
        for revisit in due:
            if self._reason() is not None:
                return
            try:
                outcome = await self._revisit(revisit.url)
            except NoConnectivity:
                if self._tools.connectivity.note_silence(time.monotonic()):
                    self._silent = True
                    return
                outcome = RevisitOutcome.FAILED
            except PageGone:
                outcome = RevisitOutcome.GONE
            except FetchFailure as failure:
                log.info("not refreshed: %s: %s", revisit.url, failure)
                outcome = RevisitOutcome.FAILED
            await asyncio.to_thread(self._revisits.note, revisit, outcome)
            self._report.outcomes[outcome] += 1
            self._on_page(self._report.outcomes.total())

    async def _revisit(self, url: str) -> RevisitOutcome:
        tools = self._tools
        limits = FetchLimits(max_bytes=tools.fetch.max_bytes, timeout_s=tools.fetch.timeout_s)
        fetched = await tools.fetcher.fetch(url, limits=limits, validators=await self._validators(url))
        tools.connectivity.note_answer(time.monotonic())
        self._report.received += len(fetched.page.body)
        if fetched.page.status == _NOT_MODIFIED:
            return RevisitOutcome.UNCHANGED
        await tools.saver.check(fetched)
        document = await asyncio.to_thread(self._read, fetched.page)
        if fetched.redirects:
            return await self._follow_move(url, fetched)
        held = await asyncio.to_thread(tools.collection.get, url)
        if held is not None and (held.title, held.text) == (document.title, document.text):
            return RevisitOutcome.UNCHANGED
        await self._save(fetched)
        await self._take_links(url, document)
        return RevisitOutcome.CHANGED

    async def _validators(self, url: str) -> dict[str, str]:
        """What the saved response says of its version, as fields of a request; none for a page without a copy."""
        stored = next((each for each in await self._tools.responses.lookup(url) if each.pinned), None)
        if stored is None or not await asyncio.to_thread(self._tools.collection.holds, url):
            return {}
        return {
            _VALIDATORS[name.lower()]: value
            for name, value in stored.headers
            if name.lower() in _VALIDATORS and value.isprintable()
        }

    async def _follow_move(self, url: str, fetched: FetchedPage) -> RevisitOutcome:
        """Save a page at its new address if it moved for good; a temporary redirect says nothing of the page."""
        if any(redirect.status not in _PERMANENT for redirect in fetched.redirects):
            return RevisitOutcome.UNCHANGED
        await self._save(fetched)
        await asyncio.to_thread(
            self._tools.topics.note_page,
            urls.normal(fetched.page.url),
            self._crawl.topic.name,
            self._pages.get(url, BELONGS),
        )
        return RevisitOutcome.MOVED

    async def _save(self, fetched: FetchedPage) -> None:
        tools = self._tools
        await tools.saver.save(fetched)
        parts = await fetch_parts(fetched, tools.fetcher, tools.saver, tools.fetch)
        self._report.received += parts.received

    def _read(self, page: Page) -> Document:
        try:
            addition = addition_of(page, self._tools.reading)
        except FileTooCostly as error:
            raise PermanentFetchError(str(error)) from error
        if addition is None or addition.document.noindex:
            raise PermanentFetchError("not a page that can be read, or marked noindex")
        return addition.document

    async def _take_links(self, url: str, document: Document) -> None:
        """Put the new links of a changed page into the frontier."""
        if document.nofollow:
            return
        async with self._lock:
            judged = await asyncio.to_thread(
                lambda: self._crawl.read(document_terms(document), language=document.language, url=url)
            )
            await asyncio.to_thread(self._add_links, document.links, judged.promise)

    def _add_links(self, links: Sequence[Link], promise: float) -> None:
        known = {link.url for link in self._crawl.frontier}
        changed = self._crawl.add_links(links, promise=promise)
        self._store.put(changed)
        self._store.drop(self._crawl.frontier.drop_least())
        self._report.new_links += sum(link.url not in known for link in changed)

    async def _read_lists(self, pages: list[str]) -> None:
        """Read the sitemaps and feeds of a host that has pages of the topic."""
        parts = urls.parse(pages[0])
        site = f"{parts.scheme}://{parts.authority}"
        waiting = [f"{site}/sitemap.xml"]
        with suppress(FetchFailure):
            waiting = list(await self._tools.fetcher.sitemaps(site)) or waiting
        waiting = [*await asyncio.to_thread(self._feeds, pages[:_FEED_PAGES]), *waiting]
        listed: dict[str, SiteListEntry] = {}
        asked: set[str] = set()
        while waiting and len(asked) < _LISTS_OF_A_HOST and self._reason() is None:
            url = waiting.pop(0)
            if url in asked or not urls.is_web_url(url) or urls.parse(url).authority != parts.authority:
                continue
            asked.add(url)
            found = await self._read_list(url)
            waiting += [each.url for each in sorted(found.lists, key=_latest_first)]
            listed |= {page.url: page for page in found.pages if not listed.get(page.url)}
        if listed:
            await self._take_listed(listed, len(pages))

    def _feeds(self, pages: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for url in pages:
            copy = self._tools.collection.copy(url)
            if copy is not None and "html" in copy.content_type:
                found |= dict.fromkeys(feeds_of(copy.body.decode("utf-8", "replace"), url))
        return tuple(found)

    async def _read_list(self, url: str) -> SiteList:
        limits = FetchLimits(max_bytes=MAX_BYTES, timeout_s=self._tools.fetch.timeout_s)
        try:
            page = (await self._tools.fetcher.fetch(url, limits=limits)).page
        except FetchFailure:
            return SiteList()
        self._report.received += len(page.body)
        body = await asyncio.to_thread(decode.identity_body, page, MAX_BYTES)
        found = await asyncio.to_thread(read_site_list, body, page.url) if body else SiteList()
        await asyncio.to_thread(self._tools.saver.note_site_list, page.url, found)
        return found

    async def _take_listed(self, listed: Mapping[str, SiteListEntry], pages: int) -> None:
        """Make changed pages due, and put new ones into the frontier. How much a host's list is worth says the share
        of the topic's pages among those that were fetched there."""
        newer = [
            (url, page.changed_at.timestamp())
            for url, page in listed.items()
            if url in self._pages and page.changed_at is not None
        ]
        await asyncio.to_thread(self._revisits.note_newer, newer)
        fresh = sorted(
            (page for url, page in listed.items() if url not in self._pages and not has_secret(url)),
            key=_latest_first,
        )[:_NEW_LINKS]
        links = [Link(target_url=page.url, anchor=page.title, after=page.summary) for page in fresh]
        async with self._lock:
            await asyncio.to_thread(self._add_links, links, pages / (pages + len(fresh)))


def _by_host(addresses: Iterable[str]) -> dict[str, list[str]]:
    hosts: dict[str, list[str]] = {}
    for url in addresses:
        hosts.setdefault(urls.parse(url).authority, []).append(url)
    return hosts


def _latest_first(page: SiteListEntry) -> float:
    return -page.changed_at.timestamp() if page.changed_at is not None else 0.0
