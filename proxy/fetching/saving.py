"""Saves a fetched page: judged like a browsed one, pinned in the cache, and read into the collection.

We request it without a cookie, so a cookie in the response belongs to nobody yet and is dropped; what is marked
private or no-store is not saved.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from proxy.cache.pinning import pinned_response
from proxy.fetching.entries import PageGone, PageRefused, PermanentFetchError, TemporaryFetchError
from proxy.fetching.fetcher import FetchedPage
from proxy.fetching.rulecheck import FetchRuleCheck
from proxy.messages import CacheRequest
from proxy.privacy.harvestpolicy import may_harvest
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection, PageAddition
from repair.errors import FileTooCostly, RepairError
from repair.evidence.hints import Hints
from repair.harvest import Harvester, addition_of
from repair.model import Link, Page
from repair.parse import decode
from repair.parse.sitelists import SiteList, read_site_list
from repair.settings import CollectionSettings
from repair.soft404.detector import Soft404Detector
from repair.soft404.judge import PageJudgement, PageKind
from repair.text import urls

_PERMANENT = frozenset((301, 308))
# A temporary redirect is served only while the site is unreachable: without it the page could not be found offline.
_SAVED_STATUSES = frozenset((200, 203, 301, 302, 303, 307, 308))
_READABLE = frozenset((PageKind.ORDINARY, PageKind.SHELL))
_COOKIES = ("set-cookie", "set-cookie2")
_BUSY_S = 30.0


class FetchedPageSaver:
    """Saves pages where browsing would. For one event loop."""

    def __init__(
        self,
        *,
        responses: ResponseStore,
        collection: Collection,
        harvester: Harvester,
        hints: Hints,
        detector: Soft404Detector,
        settings: CollectionSettings,
        max_bytes: Callable[[], int],
        rulings: FetchRuleCheck,
    ) -> None:
        """`max_bytes` bounds a page once it is unpacked."""
        self.rulings = rulings
        self._responses = responses
        self._collection = collection
        self._harvester = harvester
        self._hints = hints
        self._detector = detector
        self._settings = settings
        self._max_bytes = max_bytes

    async def keep(self, fetched: FetchedPage) -> str:
        """Save a page and the redirects to it; returns a note on how, "" when there is none. Raises FetchFailure."""
        await self.check(fetched)
        return await self.save(fetched)

    async def check(self, fetched: FetchedPage, judgement: PageJudgement | None = None) -> None:
        """Raises FetchFailure for a page that may not be saved, or is not worth it; `judgement` is what its content
        says, if it was judged."""
        page = fetched.page
        if judgement is not None:
            self._detector.note_judgement(page, judgement)
        self._check(page)
        self.rulings.may_list(page)
        requested_url = fetched.redirects[0].url if fetched.redirects else None
        found = await self._detector.find(page, redirected_from=requested_url)
        if found.miss is not None or found.judgement.kind not in _READABLE:
            raise PageGone(f"status 200, but not a good page: {found.judgement.kind} ({found.why})")

    async def save(self, fetched: FetchedPage) -> str:
        """Save a page that was checked; the result is that of `keep`."""
        await self.pin(fetched)
        return await self._collect_in_queue(fetched)

    async def pin(self, fetched: FetchedPage) -> None:
        """Save a page and the redirects to it in the cache."""
        for page in (fetched.page, *fetched.redirects):
            await self._pin(page)

    def add_pages(self, pages: Sequence[tuple[FetchedPage, PageAddition]]) -> None:
        """Add pages that were checked and read to the collection, all or none. Blocks. Raises TemporaryFetchError."""
        try:
            before = {fetched.page.url: self._collection.outlinks(fetched.page.url) for fetched, _ in pages}
            self._collection.add_many(addition for _, addition in pages)
            for fetched, _ in pages:
                self._note_links(fetched, before[fetched.page.url])
        except (RepairError, OSError) as error:
            raise TemporaryFetchError(f"could not be added to the collection: {error}") from error

    async def keep_archived(self, page: Page) -> str:
        """Read an archive's copy of a dead page into the collection, under the page's own address and the archive's
        date; the result is that of `keep`. It never enters the cache, where it would pass for the site's answer."""
        self.rulings.check(page.url)
        return await self._collect_in_queue(FetchedPage(page=page))

    async def keep_part(self, page: Page) -> None:
        """Save a picture or another subresource. Raises FetchFailure."""
        self._check(page)
        await self._pin(page)

    async def holds(self, url: str) -> bool:
        """Whether the cache has a response for an address."""
        return bool(await self._responses.lookup(urls.normal(url)))

    def _check(self, page: Page) -> None:
        request = CacheRequest(method="GET", url=page.url, headers=())
        headers = tuple((name, value) for name, value in page.headers if name.lower() not in _COOKIES)
        verdict = may_harvest(request, headers, status=200, seen_without_cookie=True)
        if not verdict.allowed:
            raise PageRefused(f"may not be saved: {verdict.reason}")

    async def _pin(self, page: Page) -> None:
        if page.header("content-encoding"):  # decompressing may take a while
            body = await asyncio.to_thread(decode.identity_body, page, self._max_bytes())
        else:
            body = decode.identity_body(page, self._max_bytes())
        if body is None:
            raise PermanentFetchError("cannot decompress the page, or it is too large")
        response = pinned_response(page, body, statuses=_SAVED_STATUSES)
        if response is not None and not await self._responses.put(urls.normal(page.url), response):
            raise TemporaryFetchError("cannot write to the cache: is the disk full?")

    async def _collect_in_queue(self, fetched: FetchedPage) -> str:
        """Read a page into the collection in the harvester's queue, and wait until it is there."""
        done: Future[str] = Future()
        if not self._harvester.later(partial(self._collect, fetched, done)):
            raise TemporaryFetchError("indexing is busy", after_s=_BUSY_S)
        return await asyncio.wrap_future(done)

    def _collect(self, fetched: FetchedPage, done: "Future[str]") -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(self._add_page(fetched))
        except BaseException as error:
            done.set_exception(TemporaryFetchError(f"could not be added to the collection: {error}"))
            raise

    def _add_page(self, fetched: FetchedPage) -> str:
        try:
            addition = addition_of(fetched.page, self._settings, pinned=True)
        except FileTooCostly as error:
            return f"saved; not searchable: {error}"
        if addition is None:
            return self._read_sitemap(fetched.page) or "saved; not a searchable page"
        if addition.document.noindex:
            return "saved; marked noindex, so search does not find it"
        if not self.rulings.may_list(fetched.page):
            return "saved; a rule excludes it from search"
        before = self._collection.outlinks(fetched.page.url)
        self._collection.add_many((addition,))
        self._note_links(fetched, before)
        return ""

    def _note_links(self, fetched: FetchedPage, before: Sequence[Link]) -> None:
        """Learn from what has changed since the links were as `before`, and from the redirects on the way."""
        url = fetched.page.url
        if before:
            self._hints.note_new_links(url, before, self._collection.outlinks(url))
        for redirect in fetched.redirects:
            if redirect.status in _PERMANENT:
                self._hints.note_redirect(redirect.url, url)

    def _read_sitemap(self, page: Page) -> str:
        """Learn from a sitemap; "" when the page is none."""
        body = decode.identity_body(page, self._max_bytes()) or b""
        moves = self.note_site_list(page.url, read_site_list(body, page.url))
        return "" if moves is None else f"saved; a sitemap, which tells of {moves} moved pages"

    def note_site_list(self, url: str, found: SiteList) -> int | None:
        """Learn from a sitemap which pages moved since it was last seen, and return how many; None for other lists.

        Feeds list only the latest pages: what they no longer list has not gone. Blocks.
        """
        if found.root != "urlset":
            return None
        return self._hints.note_sitemap(urls.normal(url), [page.url for page in found.pages])
