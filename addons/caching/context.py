"""CacheContext: what the parts of the cache addon share, and the few steps that more than one of them takes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from mitmproxy import http

from addons.caching.answers import answer_in_memory
from addons.caching.background import Replay
from proxy.cache.collapsing import RequestCollapser
from proxy.cache.decide import may_serve_stale
from proxy.cache.exchange import Exchange, ExchangeEvent
from proxy.cache.hits import HitAnswer, answer_from
from proxy.messages import CacheRequest, StoredResponse
from proxy.settings import CacheSettings
from proxy.store.responses import ResponseStore


@dataclass(slots=True, kw_only=True)
class CacheContext:
    """`settings` may be replaced while the proxy runs."""

    settings: CacheSettings
    store: ResponseStore
    collapser: RequestCollapser
    clock: Callable[[], float]
    replay: Replay
    exchanges: WeakKeyDictionary[http.HTTPFlow, Exchange] = field(default_factory=WeakKeyDictionary)

    async def variants(self, key: str) -> tuple[StoredResponse, ...]:
        held = self.store.recall(key)
        return await self.store.lookup(key) if held is None else held

    def hit(self, exchange: Exchange, stored: StoredResponse) -> HitAnswer:
        """The answer of a stored response to this exchange."""
        return answer_from(
            exchange.request,
            stored,
            now=self.clock(),
            settings=self.settings,
            status=exchange.cache_status(),
            set_cookies=exchange.set_cookies,
        )

    def may_serve_stale(self, request: CacheRequest, stored: StoredResponse, status: int | None) -> bool:
        return may_serve_stale(request, stored, status=status, now=self.clock(), settings=self.settings)

    def stand_in(self, flow: http.HTTPFlow, exchange: Exchange, *, status: int | None) -> bool:
        """Answer with what is stored although it is stale, if that is allowed."""
        stored = exchange.stored
        if (
            stored is None
            or not exchange.matches
            or not self.may_serve_stale(exchange.request, stored, status)
        ):
            return False
        exchange.discard()
        exchange.detail = "unreachable" if status is None else "error"
        if not answer_in_memory(flow, self.hit(exchange, stored)):
            return False
        exchange.handle(ExchangeEvent.SERVE)
        if status is None and flow.response is not None and flow.request.is_http11:
            # mitmproxy remembers a failed connection as long as the client's lasts (see addons/failures.py).
            flow.response.headers["connection"] = "close"
        return True

    def store_soon(self, exchange: Exchange, stored: StoredResponse) -> None:
        """Store an answer behind the client's back; who waits for it in this worker need not wait for the disk."""
        url, leads = exchange.request.url, exchange.leads
        written = partial(self.collapser.finish_elsewhere, url) if leads else _nothing
        if self.store.put_soon(url, stored, written) and leads:
            exchange.leads = False
            self.collapser.finish_here(url)

    def release(self, exchange: Exchange) -> None:
        """Let those go on who wait for this exchange."""
        if exchange.leads:
            exchange.leads = False
            self.collapser.finish(exchange.request.url)


def _nothing() -> None:
    """For an exchange that nobody waits for."""
