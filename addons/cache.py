"""The shared cache in the proxy's path: flows become values, `proxy.cache` decides, the answer is written back.

A request is answered from the store, sent on with our conditions, or sent on as it is. The first of several for the
same thing leads, and the others wait until its headers show whether the answer can be theirs too.

Each request is an `Exchange`; proxy/cache/exchange.py says which states it goes through. Here are the hooks, and what
happens before an origin is asked. addons/caching/originanswers.py takes the origin's answer;
addons/caching/revalidation.py asks our own questions.
"""

import time
from collections.abc import Callable

from mitmproxy import http

from addons.caching.answers import answer, pass_file, refuse
from addons.caching.background import Replay, replay_in_mitmproxy, send_on
from addons.caching.context import CacheContext
from addons.caching.originanswers import OriginAnswers, leaves_no_trace
from addons.caching.revalidation import BackgroundRevalidation, Revalidation
from addons.connections import is_unshared
from addons.flows import header_list, named_truly, request_of
from addons.flowstate import AnsweredBy, is_from_origin, state_of
from addons.rules import verdict_of
from proxy.cache.collapsing import RequestCollapser
from proxy.cache.decide import (
    Decision,
    FetchFromOrigin,
    GatewayTimeout,
    Revalidate,
    ServeStaleAndRevalidate,
    ServeStored,
    decide,
    may_collapse,
    may_use_store,
    stale_for_outage,
)
from proxy.cache.exchange import (
    ANSWERED_BY_ORIGIN,
    AWAITING_ORIGIN,
    Exchange,
    ExchangeEvent,
    ExchangeState,
    FileAnswer,
    RevalidationKind,
)
from proxy.cache.outages import RecentOutages
from proxy.cache.sharing.unshared import UnsharedUrls
from proxy.cache.status import write_cache_status
from proxy.cache.vary import select
from proxy.messages import StoredResponse
from proxy.settings import CacheSettings
from proxy.store.bodyserver import BodyServer
from proxy.store.responses import ResponseStore


class Cache:
    """The hooks. It comes after addons that answer by themselves, before the parent, the harvest and the repair."""

    def __init__(
        self,
        settings: CacheSettings,
        store: ResponseStore,
        collapser: RequestCollapser,
        body_server: BodyServer,
        *,
        offline: Callable[[], bool],
        clock: Callable[[], float] = time.time,
        replay: Replay = replay_in_mitmproxy,
    ) -> None:
        self._context = CacheContext(
            settings=settings, store=store, collapser=collapser, clock=clock, replay=replay
        )
        self._exchanges = self._context.exchanges
        self._store = store
        self._collapser = collapser
        self._body_server = body_server
        self._offline = offline
        self._clock = clock
        self._unshared = UnsharedUrls()
        self._outages = RecentOutages()
        self._revalidation = Revalidation(self._context)
        self._origin_answers = OriginAnswers(self._context, self._revalidation, self._unshared)

    @property
    def settings(self) -> CacheSettings:
        return self._context.settings

    @settings.setter
    def settings(self, settings: CacheSettings) -> None:
        self._context.settings = settings

    # The hooks

    def request_now(self, flow: http.HTTPFlow) -> bool:
        """Forward a request that is known not to be stored and need not wait; returns whether it is dealt with."""
        if flow.response is not None or flow in self._exchanges:
            return True
        verdict = verdict_of(flow)
        if self._offline() or verdict.offline_only or not verdict.cache or _must_bypass_store(flow):
            return False
        request, now = request_of(flow), self._clock()
        held = self._store.recall(request.url) if may_use_store(request) else ()
        if held is None or self._outages.is_ongoing(request.url, now):
            return False
        decision = decide(request, held, now=now, settings=self.settings)
        if not isinstance(decision, FetchFromOrigin):
            return False
        alone = self._unshared.remembers(request.url, now) or not may_collapse(
            request, decision, self.settings
        )
        if not alone and not self._collapser.lead(request.url):
            return False
        self._exchanges[flow] = exchange = Exchange(request=request, requested_at=now, leads=not alone)
        self._forward(flow, exchange, decision)
        return True

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None or flow in self._exchanges:
            return  # answered by another addon, or a question of our own
        verdict = verdict_of(flow)
        exchange = Exchange(
            request=request_of(flow),
            requested_at=self._clock(),
            bypasses_store=_must_bypass_store(flow) or not verdict.cache,
            offline=self._offline() or verdict.offline_only,
        )
        self._exchanges[flow] = exchange
        if not exchange.bypasses_store:
            decision = self._outlast(exchange, await self._decide(exchange))
            decision = await self._collapse(exchange, decision)
            decision = await self._revalidation.revalidate_first(flow, exchange, decision)
        elif exchange.offline and not flow.request.stream:
            decision = GatewayTimeout(forward="bypass")
        else:
            decision = FetchFromOrigin(forward="bypass")
        await self._carry_out(flow, exchange, decision)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        exchange, response = self._exchanges.get(flow), flow.response
        if exchange is None or response is None or response.status_code < 200:
            return
        if not is_from_origin(flow):
            if exchange.file is not None and state_of(flow).answered_by is AnsweredBy.CACHE:
                pass_file(flow, response, exchange.file)
            return
        if exchange.state not in AWAITING_ORIGIN:
            return
        self._outages.note_answer(exchange.request.url)
        exchange.received_at = self._clock()
        exchange.forward_status = response.status_code
        exchange.headers = header_list(response.headers)
        exchange.bypasses_store = exchange.bypasses_store or is_unshared(
            flow
        )  # the response may have said so
        if exchange.state is ExchangeState.REVALIDATING and response.status_code == 304:
            exchange.handle(ExchangeEvent.CONFIRM)
        elif exchange.own_request is RevalidationKind.AHEAD:
            exchange.conclude(response.status_code)
            flow.kill()  # type: ignore[no-untyped-call]  # the client's own request will fetch what has changed
        else:
            self._origin_answers.begin(flow, exchange, response)

    def response_now(self, flow: http.HTTPFlow) -> bool:
        """End an exchange whose end waits for nothing; returns whether it is dealt with."""
        exchange, response = self._exchanges.get(flow), flow.response
        if exchange is None:
            return True
        if response is None or not is_from_origin(flow):
            return False
        is_settled = True  # also by what fails: those who wait must not do so in vain
        try:
            is_settled = leaves_no_trace(exchange, response) or self._origin_answers.settle_first(
                flow, exchange, response
            )
        finally:
            if is_settled:
                del self._exchanges[flow]
                self._end(exchange, response)
        return is_settled

    async def response(self, flow: http.HTTPFlow) -> None:
        exchange = self._exchanges.pop(flow, None)
        if exchange is None or flow.response is None:
            return
        try:
            if not is_from_origin(flow):
                if "cache-status" not in flow.response.headers:
                    status = write_cache_status(exchange.cache_status())
                    flow.response.headers["Cache-Status"] = status
            elif exchange.state in ANSWERED_BY_ORIGIN:
                await self._origin_answers.settle(flow, exchange, flow.response)
        finally:
            self._end(exchange, flow.response)

    def _end(self, exchange: Exchange, response: http.Response) -> None:
        self._let_go(exchange, response)
        exchange.handle(ExchangeEvent.END)

    def _let_go(self, exchange: Exchange, response: http.Response | None) -> None:
        """Release the requests that wait for this exchange."""
        self._context.release(exchange)
        exchange.conclude(None)
        exchange.hand_over(response)

    def error(self, flow: http.HTTPFlow) -> None:
        """The origin failed, or the client went away. What is set as response here is sent (addons/failures.py)."""
        exchange = self._exchanges.get(flow)
        if exchange is None:
            return
        exchange.fail()
        self._let_go(exchange, None)
        if flow.response is not None or flow.error is None or flow.error.msg == flow.error.KILLED_MESSAGE:
            return
        if flow.server_conn.timestamp_tcp_setup is None and is_from_origin(flow):
            self._outages.note(exchange.request.url, self._clock())
        self._context.stand_in(flow, exchange, status=None)

    # Before the request is forwarded

    async def _decide(self, exchange: Exchange) -> Decision:
        request, offline = exchange.request, exchange.offline
        variants = await self._context.variants(request.url) if offline or may_use_store(request) else ()
        return decide(request, variants, now=self._clock(), settings=self.settings, offline=offline)

    def _outlast(self, exchange: Exchange, decision: Decision) -> Decision:
        """The decision while the origin is known to be out of reach."""
        if not self._outages.is_ongoing(exchange.request.url, self._clock()):
            return decision
        stored = stale_for_outage(exchange.request, decision, now=self._clock(), settings=self.settings)
        if stored is None:
            return decision
        exchange.forward, exchange.detail = "stale", "unreachable"
        return ServeStored(stored=stored)

    async def _collapse(self, exchange: Exchange, decision: Decision) -> Decision:
        """The decision, after waiting for another request that already fetches the same URL."""
        request, key = exchange.request, exchange.request.url
        if not may_collapse(request, decision, self.settings) or self._unshared.remembers(key, self._clock()):
            return decision
        exchange.leads = self._collapser.lead(key)
        if exchange.leads:
            return decision
        exchange.handle(ExchangeEvent.WAIT)
        await self._collapser.wait(key, self.settings.collapse_wait_s)
        exchange.handle(ExchangeEvent.LEADER_LANDED)
        exchange.requested_at = self._clock()
        after = await self._decide(exchange)
        if isinstance(after, ServeStored) and isinstance(decision, FetchFromOrigin | Revalidate):
            exchange.collapsed, exchange.forward = True, decision.forward
        elif may_collapse(request, after, self.settings):
            exchange.leads = self._collapser.lead(key)  # wait only once
        return after

    async def _carry_out(self, flow: http.HTTPFlow, exchange: Exchange, decision: Decision) -> None:
        if isinstance(decision, GatewayTimeout):
            refuse(flow, decision.forward)
            exchange.handle(ExchangeEvent.REFUSE)
            return
        if isinstance(decision, ServeStored | ServeStaleAndRevalidate):
            if await self._serve(flow, exchange, decision):
                exchange.handle(ExchangeEvent.SERVE)
                self._context.release(exchange)
                return
            decision = FetchFromOrigin(forward="uri-miss")  # its file is gone
        self._forward(flow, exchange, decision)

    def _forward(
        self, flow: http.HTTPFlow, exchange: Exchange, decision: FetchFromOrigin | Revalidate
    ) -> None:
        exchange.forward, exchange.stored = decision.forward, decision.stored
        if isinstance(decision, Revalidate):
            exchange.handle(ExchangeEvent.REVALIDATE)
            exchange.matches = decision.matches
            send_on(flow.request, decision.conditions)
        else:
            exchange.handle(ExchangeEvent.BYPASS if exchange.bypasses_store else ExchangeEvent.FORWARD)
            send_on(flow.request, None)

    async def _serve(
        self, flow: http.HTTPFlow, exchange: Exchange, decision: ServeStored | ServeStaleAndRevalidate
    ) -> bool:
        behind = None
        if isinstance(decision, ServeStaleAndRevalidate):
            behind = BackgroundRevalidation(
                flow, exchange.request, decision
            )  # before the answer points the flow elsewhere
        if not await self._answer(flow, exchange, decision.stored):
            # What a 304 to another request changed may be stored under another file's name by now.
            held = select(exchange.request, await self._context.variants(exchange.request.url))
            if held is None or not await self._answer(flow, exchange, held):
                return False
        if behind is not None:
            self._revalidation.revalidate_in_background(behind)
        return True

    async def _answer(self, flow: http.HTTPFlow, exchange: Exchange, stored: StoredResponse) -> bool:
        if stored.vary:
            self._store.note_variant(exchange.request.url, stored)
        answered = await answer(flow, self._context.hit(exchange, stored), self._body_server)
        exchange.file = answered if isinstance(answered, FileAnswer) else None
        return bool(answered)


def _must_bypass_store(flow: http.HTTPFlow) -> bool:
    """Whether a request must neither be answered from the store nor stored.

    A streamed request is already on its way, so an answer of ours would follow the origin's. A host that only the
    client names must not be a cache key. Nothing from a connection that authenticates one user may be shared.
    """
    return bool(flow.request.stream) or not named_truly(flow) or is_unshared(flow)
