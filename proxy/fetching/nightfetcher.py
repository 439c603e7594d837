"""Fetches for a night as fetch queue and crawler do: robots.txt, turns at hosts, rules, nothing private."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from proxy.fetching.crawler import CrawlTools
from proxy.fetching.entries import FetchFailure, FetchRefused, NoConnectivity, NotQueuedError
from proxy.fetching.pageparts import fetch_parts
from proxy.fetching.queue import queueable_url
from repair.fetch import FetchLimits
from repair.growing.neighbours import related_links
from repair.growing.night import StepOutcome, StepResult
from repair.growing.termvectors import TermWeights
from repair.growing.wants import Want, WantedMiss
from repair.memento.client import MementoClient
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

CrawlWant = Callable[[Want, int, int], Awaitable[StepResult]]
"""Crawls what is wanted, up to so many pages and bytes."""
_SILENT_HOSTS = 5
_LOOKED_AT = 10  # related addresses among which some are not saved yet


class PoliteNightFetcher:
    """The network of a night. For one event loop."""

    def __init__(
        self,
        tools: CrawlTools,
        mementos: MementoClient,
        crawl: CrawlWant,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._tools, self._mementos, self._crawl = tools, mementos, crawl
        self._on_step = on_step
        self._silent_hosts: set[str] = set()

    async def fetch(self, url: str) -> StepResult:
        """A page of the web."""
        self._on_step()
        tools, settings = self._tools, self._tools.fetch
        try:
            queueable_url(url)
            limits = FetchLimits(max_bytes=settings.max_bytes, timeout_s=settings.timeout_s)
            fetched = await tools.fetcher.fetch(url, limits=limits)
            note = await tools.saver.keep(fetched)
            parts = await fetch_parts(fetched, tools.fetcher, tools.saver, settings)
        except (NotQueuedError, FetchRefused) as error:
            return StepResult(outcome=StepOutcome.REFUSED, note=str(error))
        except NoConnectivity as error:
            return StepResult(outcome=self._judge_silence(url), note=str(error))
        except FetchFailure as error:
            self._silent_hosts.clear()
            return StepResult(outcome=StepOutcome.ABSENT, note=str(error))
        self._silent_hosts.clear()
        received = len(fetched.page.body) + parts.received
        return StepResult(outcome=StepOutcome.SAVED, pages=1, received=received, note=note)

    def _judge_silence(self, url: str) -> StepOutcome:
        """Dead hosts are what a night looks for: only when several in a row are silent, the connection is down."""
        self._silent_hosts.add(urls.parse(url).host)
        is_down = len(self._silent_hosts) >= _SILENT_HOSTS
        return StepOutcome.NO_CONNECTION if is_down else StepOutcome.ABSENT

    async def fetch_archived(self, url: str) -> StepResult:
        """The last good copy that an archive has."""
        copy = await self._mementos.best(url)
        if copy is None or copy.document is None or copy.document.noindex:
            return StepResult(outcome=StepOutcome.ABSENT, note="no archive has a good copy")
        page = replace(copy.page, url=url, fetched_at=copy.memento.at)
        try:
            note = await self._tools.saver.keep_archived(page)
        except FetchFailure as error:
            return StepResult(outcome=StepOutcome.REFUSED, note=str(error))
        self._on_step()
        said = f"from {copy.memento.archive}, {copy.memento.at:%Y-%m-%d}"
        return StepResult(
            outcome=StepOutcome.SAVED,
            pages=1,
            received=len(page.body),
            note=f"{said}; {note}" if note else said,
        )

    async def find_related(self, miss: WantedMiss, most: int) -> Sequence[str]:
        """Addresses linked beside a lost page that are public and not saved yet."""
        return await asyncio.to_thread(self._find_related, miss, most)

    def _find_related(self, miss: WantedMiss, most: int) -> Sequence[str]:
        collection = self._tools.collection
        weights = TermWeights(collection.document_frequency, collection.size())
        found = related_links(miss, collection.outlinks, weights, most=_LOOKED_AT)
        return [url for url in found if is_shareable(url) and not collection.holds(url)][:most]

    async def crawl(self, want: Want, *, pages: int, received: int) -> StepResult:
        """A small crawl."""
        return await self._crawl(want, pages, received)
