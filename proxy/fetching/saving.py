"""What becomes of a fetched page: judged as a browsed one, pinned in the cache, and read into the collection.

It was asked for without a cookie, so a cookie that came with it is nobody's yet and is dropped; what is marked
private or not to be stored stays out all the same.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from proxy.cache.entry import CacheRequest
from proxy.cache.pinning import pinned_response
from proxy.fetching.entries import Lasting, Passing, Refusal
from proxy.fetching.fetcher import Fetched
from proxy.fetching.rulings import Rulings
from proxy.readers.privacy import may_harvest
from proxy.store.responses import ResponseStore
from repair import decode, urls
from repair.collection import Collection
from repair.harvest import Harvester, addition_of
from repair.hints import Hints
from repair.model import Page
from repair.settings import CollectionSettings
from repair.soft404.detector import Detector
from repair.soft404.judge import PageKind

_PERMANENT = frozenset((301, 308))
# A passing redirect is served only while the site cannot be asked: without it the page would not be found offline.
_KEPT = frozenset((200, 203, 301, 302, 303, 307, 308))
_READABLE = frozenset((PageKind.ORDINARY, PageKind.SHELL))
_COOKIES = ("set-cookie", "set-cookie2")
_BUSY_S = 30.0


class Keeper:
    """Puts pages where browsing would. For one event loop."""

    def __init__(
        self,
        *,
        responses: ResponseStore,
        collection: Collection,
        harvester: Harvester,
        hints: Hints,
        detector: Detector,
        settings: CollectionSettings,
        max_bytes: Callable[[], int],
        rulings: Rulings,
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

    async def keep(self, fetched: Fetched) -> str:
        """Keep a page and the redirects to it; a remark on how, "" when there is none. Raises FetchTrouble."""
        page = fetched.page
        self._check(page)
        self.rulings.may_list(page)
        asked = fetched.redirects[0].url if fetched.redirects else None
        found = await self._detector.find(page, asked=asked)
        if found.miss is not None or found.judgement.kind not in _READABLE:
            raise Lasting(f"answered 200, but it is no page to keep: {found.judgement.kind} ({found.why})")
        await self._pin(page)
        for redirect in fetched.redirects:
            await self._pin(redirect)
        return await self._collected(fetched)

    async def keep_part(self, page: Page) -> None:
        """Keep a picture or the like. Raises FetchTrouble."""
        self._check(page)
        await self._pin(page)

    async def holds(self, url: str) -> bool:
        """Whether the cache has an answer under an address."""
        return bool(await self._responses.lookup(urls.normal(url)))

    def _check(self, page: Page) -> None:
        request = CacheRequest(method="GET", url=page.url, headers=())
        said = tuple((name, value) for name, value in page.headers if name.lower() not in _COOKIES)
        verdict = may_harvest(request, said, status=200, seen_without_cookie=True)
        if not verdict.allowed:
            raise Refusal(f"not to be kept: {verdict.reason}")

    async def _pin(self, page: Page) -> None:
        # Unpacking what a site has packed may take a while.
        body = await asyncio.to_thread(decode.identity_body, page, self._max_bytes())
        if body is None:
            raise Lasting("packed in a broken way, or too large once it is unpacked")
        response = pinned_response(page, body, statuses=_KEPT)
        if response is not None and not await self._responses.put(urls.normal(page.url), response):
            raise Passing("the cache could not take it: is the disk full?")

    async def _collected(self, fetched: Fetched) -> str:
        """Read a page into the collection, in the harvester's turn, and wait until it is there."""
        done: Future[str] = Future()
        if not self._harvester.later(partial(self._collect, fetched, done)):
            raise Passing("too many pages wait to be read", after_s=_BUSY_S)
        return await asyncio.wrap_future(done)

    def _collect(self, fetched: Fetched, done: "Future[str]") -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(self._read(fetched))
        except BaseException as error:
            done.set_exception(Passing(f"could not be read into the collection: {error}"))
            raise

    def _read(self, fetched: Fetched) -> str:
        addition = addition_of(fetched.page, self._settings, pinned=True)
        if addition is None:
            return "kept; not a page that can be searched"
        if addition.document.noindex:
            return "kept; asks not to be listed, so it is not found by searching"
        if not self.rulings.may_list(fetched.page):
            return "kept; a rule keeps it out of the collection"
        self._collection.add_many((addition,))
        for redirect in fetched.redirects:
            if redirect.status in _PERMANENT:
                self._hints.note_redirect(redirect.url, fetched.page.url)
        return ""
