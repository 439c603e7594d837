"""Questions of our own: ahead of a client's request, behind its answer, once more, or without anybody's Cookie.

A large body in doubt is asked about ahead: once a 304 has come to the client's own request, it would be too late to
stream the stored body. A stale response that may be served meanwhile is asked about behind its answer. And where
a 304 turns out to be no answer for the client, the origin is asked again without conditions. And where two clients
were sent the same picture, style, script or font, each with a Cookie, it is asked without one: if the same bytes
come, they are everybody's, and stored.

The questions pass through the hooks of addons/cache.py like any request.
"""

import asyncio
from dataclasses import replace

from mitmproxy import http

from addons.caching.answers import try_later
from addons.caching.background import answer_within, background_request, try_replay
from addons.caching.context import CacheContext
from proxy.cache.decide import Decision, FetchFromOrigin, Revalidate, ServeStaleAndRevalidate, ServeStored
from proxy.cache.exchange import Exchange, ExchangeEvent, RevalidationKind, Verdict
from proxy.cache.sharing.harmlessfields import plain_part
from proxy.cache.storage import is_impersonal_request
from proxy.cache.vary import select, vary_names
from proxy.headers.navigation import is_navigation
from proxy.messages import CacheRequest, FileBody, StoredResponse, values
from repair.bounded import BoundedDict
from repair.secrets.addresses import has_secret

_SENT_AT_MOST = 5_000
_ASKED = "asked"
"""In place of a client: nobody has to be asked about these bytes again."""
_PROOFS_AT_ONCE = 8
_PARTS = ("image/", "font/", "text/css", "text/javascript", "application/javascript", "application/font")


class BackgroundRevalidation:
    """A revalidation to be sent once the stale response is on its way; built before that, from the unchanged flow."""

    def __init__(self, flow: http.HTTPFlow, request: CacheRequest, decision: ServeStaleAndRevalidate) -> None:
        # The result is for all clients, so nothing of this client goes with it.
        headers = plain_part(request.headers, named=vary_names(decision.stored.headers))
        self.request = replace(request, method="GET", headers=headers)
        self.stored = decision.stored
        self.flow = background_request(flow, decision.conditions, headers=headers)


class Revalidation:
    """Sends our own requests and evaluates the responses."""

    def __init__(self, context: CacheContext) -> None:
        self._context = context
        self._sent = BoundedDict[str, tuple[str, bytes]](_SENT_AT_MOST)
        """The last client that was sent something with a Cookie, or _ASKED, and the digest of it."""

    async def revalidate_first(self, flow: http.HTTPFlow, exchange: Exchange, decision: Decision) -> Decision:
        """The decision after asking about a large body in doubt."""
        if not isinstance(decision, Revalidate) or not isinstance(decision.stored.body, FileBody):
            return decision
        exchange.handle(ExchangeEvent.ASK_AHEAD)
        verdict = await self._verdict(flow, exchange, decision)
        exchange.requested_at = self._context.clock()
        if isinstance(verdict, StoredResponse):
            exchange.forward, exchange.forward_status = decision.forward, 304
            # Storing the merged headers may have given the body's file another name.
            held = select(exchange.request, await self._context.variants(exchange.request.url))
            return ServeStored(stored=held or verdict)
        if decision.matches and self._context.may_serve_stale(exchange.request, decision.stored, verdict):
            exchange.forward, exchange.forward_status = decision.forward, verdict
            exchange.detail = "unreachable" if verdict is None else "error"
            return ServeStored(stored=decision.stored)
        return FetchFromOrigin(forward=decision.forward)

    async def _verdict(self, flow: http.HTTPFlow, exchange: Exchange, decision: Revalidate) -> Verdict:
        revalidation = background_request(flow, decision.conditions)
        about = self._about(exchange.request, decision.stored, RevalidationKind.AHEAD)
        about.matches = decision.matches
        waiter: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        about.waiter = waiter
        self._context.exchanges[revalidation] = about
        if not try_replay(self._context.replay, revalidation):
            return 0  # no answer that would excuse a stale one
        verdict = await answer_within(self._context.settings.collapse_wait_s, waiter)
        exchange.set_cookies = about.set_cookies
        return verdict

    def revalidate_in_background(self, revalidation: BackgroundRevalidation) -> None:
        if not self._context.collapser.lead(revalidation.request.url):
            return  # somebody is at it
        about = self._about(revalidation.request, revalidation.stored, RevalidationKind.BEHIND)
        about.leads = True
        self._context.exchanges[revalidation.flow] = about
        if not try_replay(self._context.replay, revalidation.flow):
            self._context.release(about)

    def ask_without_cookie(self, flow: http.HTTPFlow, exchange: Exchange, digest: bytes) -> None:
        """A client was sent these bytes with a Cookie. If another was before, find out whether everybody is.

        No Cookie and no unlisted field of a client goes with the question, and only its answer may be stored.
        """
        request, client = exchange.request, flow.client_conn.peername[0]
        before = self._sent.get(request.url, (client, b""))
        if before == (_ASKED, digest):
            return
        self._sent[request.url] = client, digest
        named = vary_names(exchange.headers)
        if before[0] == client or before[1] != digest or "cookie" in named:
            return
        if not _is_part_of_page(exchange, self._context.settings.stream_over_bytes):
            return
        own = sum(each.own_request is RevalidationKind.PROOF for each in self._context.exchanges.values())
        if own >= _PROOFS_AT_ONCE or has_secret(request.url) or not self._context.collapser.lead(request.url):
            return
        self._sent[request.url] = _ASKED, digest
        headers = plain_part(request.headers, named=named)
        question = background_request(flow, (), headers=headers)
        proof = Exchange(
            request=replace(request, headers=headers),
            requested_at=self._context.clock(),
            forward="uri-miss",
            own_request=RevalidationKind.PROOF,
            proves=digest,
            leads=True,
        )
        proof.handle(ExchangeEvent.FORWARD)
        self._context.exchanges[question] = proof
        if not try_replay(self._context.replay, question):
            self._context.release(proof)

    def _about(self, request: CacheRequest, stored: StoredResponse, kind: RevalidationKind) -> Exchange:
        exchange = Exchange(
            request=request,
            requested_at=self._context.clock(),
            forward="stale",
            stored=stored,
            own_request=kind,
        )
        exchange.handle(ExchangeEvent.REVALIDATE)
        return exchange

    async def ask_again(self, flow: http.HTTPFlow, exchange: Exchange) -> None:
        """A 304 that does not give this client the variant we asked about: ask again, without conditions.

        The client sent none, so that a 304 is no answer to it, and the variant is somebody else's.
        """
        context, request = self._context, exchange.request
        if exchange.stored is not None and is_impersonal_request(request, exchange.stored, context.settings):
            await context.store.remove(request.url)
        if exchange.own_request is RevalidationKind.AHEAD:
            exchange.conclude(0)  # the client's own request goes on as it came
            return
        exchange.handle(ExchangeEvent.ASK_AGAIN)
        waiter: asyncio.Future[http.Response | None] = asyncio.get_running_loop().create_future()
        revalidation = background_request(flow, ())
        once_more = Exchange(
            request=request,
            requested_at=context.clock(),
            forward=exchange.forward,
            own_request=RevalidationKind.AGAIN,
            waiter=waiter,
        )
        once_more.handle(ExchangeEvent.FORWARD)
        context.exchanges[revalidation] = once_more
        response = None
        if try_replay(context.replay, revalidation):
            response = await answer_within(context.settings.collapse_wait_s, waiter)
        if response is None or response.stream:
            try_later(flow)
        else:
            flow.response = response


def _is_part_of_page(exchange: Exchange, most_bytes: int) -> bool:
    """Whether the answer is what pages are made of, rather than a page, data that a script asked for, or large."""
    request, kind = exchange.request, values(exchange.headers, "content-type")
    if exchange.forward_status != 200 or len(kind) != 1 or not kind[0].lower().startswith(_PARTS):
        return False
    is_small = exchange.spool is None or exchange.spool.size <= most_bytes
    return is_small and request.method == "GET" and not is_navigation("GET", request.headers)
