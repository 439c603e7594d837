"""What the cache does with an origin's answer: stream or buffer it, store it, merge a 304, or let it pass.

Small bodies are buffered by mitmproxy and stored when they are whole; large ones, and those of unknown length, are
passed on as they come with a copy to a spool, and stored when the last byte has passed.
"""

import asyncio
import hashlib
from collections.abc import Callable
from functools import partial

from mitmproxy import http

from addons.caching.answers import answer_in_memory, mark
from addons.caching.context import CacheContext
from addons.caching.revalidation import Revalidation
from addons.connections import is_unshared
from addons.flows import body_of, is_navigation_of, page_of
from addons.flowstate import BufferedBody, state_of
from addons.rules import verdict_of
from proxy.cache.decide import may_answer_others
from proxy.cache.exchange import BodySpool, Exchange, ExchangeEvent, ExchangeState, RevalidationKind
from proxy.cache.freshness import is_doubtful_error
from proxy.cache.invalidation import invalidated_urls
from proxy.cache.sharing.reflection import contains_value, identifying_values
from proxy.cache.sharing.unshared import UnsharedUrls
from proxy.cache.storage import confirm_stored, is_declared_public, may_store, to_stored, updated_response
from proxy.cache.validation import freshen, updated_by_head
from proxy.cache.vary import is_personal_variant
from proxy.headers.fields import content_length, has
from proxy.headers.navigation import asks_for_repair
from proxy.messages import FileBody, StoredResponse, values
from proxy.privacy.seencontent import SeenContent
from repair.parse.formats.kinds import kind_of

_DECODED_AT_ONCE = 32 * 1024
"""Bytes of a body that are decoded within a millisecond or two; more is left to a thread."""


class OriginAnswers:
    """`begin` when the headers are there, `settle` when the answer is whole."""

    def __init__(self, context: CacheContext, revalidation: Revalidation, unshared: UnsharedUrls) -> None:
        self._context = context
        self._revalidation = revalidation
        self._unshared = unshared
        self._seen = SeenContent()

    # The headers are there

    def begin(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> None:
        """Decide whether to store it, whether to release waiting requests, and whether to stream it."""
        status, length = response.status_code, content_length(exchange.headers)
        storable = self._is_storable(flow, exchange, status, length)
        streams = self._streams(exchange, status, length)
        if not storable:
            exchange.handle(ExchangeEvent.PASS)
        else:
            exchange.handle(ExchangeEvent.SPOOL if streams else ExchangeEvent.BUFFER)
        self._note_shared(exchange, response)
        mark(response, exchange.headers, exchange.cache_status(), received_at=exchange.received_at)
        if exchange.state is ExchangeState.SPOOLING:
            exchange.spool = self._context.store.spool()
            exchange.digest = hashlib.blake2b(digest_size=16) if _needs_digest(exchange) else None
            response.stream = _tee(exchange.spool, exchange.digest)
        elif streams:
            response.stream = True

    def _is_storable(self, flow: http.HTTPFlow, exchange: Exchange, status: int, length: int | None) -> bool:
        request, settings = exchange.request, self._context.settings
        allows = partial(
            may_store, request, status, exchange.headers, received_at=exchange.received_at, settings=settings
        )
        if exchange.bypasses_store or not allows(seen_without_cookie=True):
            return False
        exchange.unproven = has(request.headers, "cookie") and not allows()
        if length is not None and length > settings.max_body_bytes:
            return False
        return not _keeps_stored(exchange, status) and verdict_of(flow).cache

    def _note_shared(self, exchange: Exchange, response: http.Response) -> None:
        now = self._context.clock()
        shared = exchange.is_storing and not exchange.unproven
        shared = shared and may_answer_others(
            _to_stored(exchange, response, b""), now=now, settings=self._context.settings
        )
        if shared:
            self._unshared.forget(exchange.request.url)
        elif exchange.leads:
            self._unshared.note(exchange.request.url, now)
            self._context.release(exchange)

    def _streams(self, exchange: Exchange, status: int, length: int | None) -> bool:
        request = exchange.request
        if request.method == "HEAD" or status == 204:
            return False
        if length is not None:
            return length > self._context.settings.stream_over_bytes
        if exchange.own_request is RevalidationKind.AGAIN or (exchange.stored is not None and status >= 500):
            return False  # it answers another flow; or a stored response is served instead
        return not asks_for_repair(request.method, request.headers)

    # The answer is whole

    async def settle(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> None:
        if is_unshared(flow):  # the origin sent more than one response
            exchange.bypasses_store = True
            exchange.discard()
        if exchange.state is ExchangeState.NOT_MODIFIED:
            await self._confirm(flow, exchange)
            return
        failed = state_of(flow).failure is not None  # the parent's word that it could not reach the origin
        if not response.stream and self._context.stand_in(
            flow, exchange, status=None if failed else response.status_code
        ):
            return
        if failed:
            exchange.discard()
        for url in invalidated_urls(exchange.request, response.status_code, exchange.headers):
            await self._context.store.remove(url)
        if exchange.is_storing:
            await self._put(flow, exchange, response)
        elif (
            exchange.request.method == "HEAD" and response.status_code == 200 and not exchange.bypasses_store
        ):
            await self._update_by_head(exchange)

    def settle_first(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> bool:
        """As `settle` for a small whole answer where nothing was stored: most first visits, which wait for nothing.

        Returns whether it is dealt with.
        """
        is_first = exchange.state is ExchangeState.BUFFERING and exchange.forward == "uri-miss"
        body = body_of(flow)
        if (
            not is_first
            or exchange.unproven
            or exchange.own_request is not None
            or body is None
            or len(body) > _DECODED_AT_ONCE
            or response.status_code == 204
            or is_unshared(flow)
            or state_of(flow).failure is not None
            or invalidated_urls(exchange.request, response.status_code, exchange.headers)
        ):
            return False
        stored = _to_stored(exchange, response, body)
        if stored.vary:
            return False
        if contains_value(identifying_values(exchange.request, exchange.headers), page_of(flow)):
            return True
        if _needs_digest(exchange):
            self._seen_without_cookie(exchange, hashlib.blake2b(body, digest_size=16).digest())
        self._context.store_soon(exchange, stored)
        return True

    async def _put(self, flow: http.HTTPFlow, exchange: Exchange, response: http.Response) -> None:
        body: bytes | FileBody | None = None
        digest = exchange.digest
        if exchange.spool is None:
            body = whole = body_of(flow)
            if whole and response.status_code == 204:
                return  # HTTP/2 lets it pass; as HTTP/1 the body would be the next answer's beginning
            if await _body_repeats_request(flow, exchange, whole or b""):
                return
            digest = hashlib.blake2b(whole or b"", digest_size=16) if _needs_digest(exchange) else None
        if digest is not None and not self._seen_without_cookie(exchange, digest.digest()):
            exchange.discard()
            self._revalidation.ask_without_cookie(flow, exchange, digest.digest())
            return
        if exchange.proves and (digest is None or digest.digest() != exchange.proves):
            exchange.discard()
            return
        if exchange.spool is not None:
            body = await exchange.spool.finish()
            await _keep_for_harvest(flow, body)
        if body is not None:
            await self._context.store.put(exchange.request.url, _to_stored(exchange, response, body))

    def _seen_without_cookie(self, exchange: Exchange, digest: bytes) -> bool:
        """Whether a body was sent to a request without a Cookie, now or before."""
        cookie = "; ".join(values(exchange.request.headers, "cookie")) if exchange.unproven else None
        return self._seen.note(exchange.request.url, digest, cookie or None)

    # Answers that change what is stored

    async def _confirm(self, flow: http.HTTPFlow, exchange: Exchange) -> None:
        """The origin says 304 to our conditions."""
        if exchange.stored is None:
            return
        exchange.set_cookies = tuple(field for field in exchange.headers if field[0].lower() == "set-cookie")
        times = {"requested_at": exchange.requested_at, "received_at": exchange.received_at}
        merged = freshen(exchange.request, exchange.stored, exchange.headers, **times)
        if not exchange.matches and (merged is None or is_personal_variant(merged)):
            await self._revalidation.ask_again(flow, exchange)
            return
        await self._change(exchange, merged)
        held = merged or exchange.stored
        exchange.conclude(held)
        if answer_in_memory(flow, self._context.hit(exchange, held)):
            exchange.handle(ExchangeEvent.SERVE)

    async def _update_by_head(self, exchange: Exchange) -> None:
        if exchange.stored is None:
            return
        times = {"requested_at": exchange.requested_at, "received_at": exchange.received_at}
        merged = updated_by_head(exchange.request, exchange.stored, exchange.headers, **times)
        await self._change(exchange, merged)

    async def _change(self, exchange: Exchange, merged: StoredResponse | None) -> None:
        """Let an answer without a body change what is stored, as far as it may."""
        request, stored, settings = exchange.request, exchange.stored, self._context.settings
        if (
            stored is None or exchange.bypasses_store
        ):  # what somebody alone may have been told changes nothing
            return
        changed = updated_response(
            request, stored, merged, received_at=exchange.received_at, settings=settings
        )
        is_confirmed = exchange.state is ExchangeState.NOT_MODIFIED and exchange.matches
        if changed is stored and merged is not None and is_confirmed:
            changed = confirm_stored(request, stored, merged, settings=settings)
        exchange.renewed = changed is not None and changed is not stored
        if changed is None:
            await self._context.store.remove(request.url)
        elif changed is not stored:
            await self._context.store.put(request.url, changed)


def leaves_no_trace(exchange: Exchange, response: http.Response) -> bool:
    """Whether a whole answer changes nothing in the store, and nothing of it takes the answer's place."""
    if exchange.state is not ExchangeState.PASSING or exchange.stored is not None:
        return False
    return not invalidated_urls(exchange.request, response.status_code, exchange.headers)


async def _keep_for_harvest(flow: http.HTTPFlow, body: bytes | FileBody | None) -> None:
    """Keep the bytes of a file that a user opened for the harvest: most files are too large to be buffered."""
    size = body.size if isinstance(body, FileBody) else len(body or b"")
    if not 0 < size <= BufferedBody.MAX_BYTES or kind_of(page_of(flow)) is None or not is_navigation_of(flow):
        return
    kept = BufferedBody()
    try:
        kept(await asyncio.to_thread(body.path.read_bytes) if isinstance(body, FileBody) else body or b"")
    except OSError:
        return
    state_of(flow).kept_body = kept


async def _body_repeats_request(flow: http.HTTPFlow, exchange: Exchange, body: bytes) -> bool:
    """Whether the body has in it what this client said of itself."""
    words = identifying_values(exchange.request, exchange.headers)
    if len(body) <= _DECODED_AT_ONCE:
        return contains_value(words, page_of(flow))
    return await asyncio.to_thread(contains_value, words, page_of(flow))


def _to_stored(exchange: Exchange, response: http.Response, body: bytes | FileBody) -> StoredResponse:
    return to_stored(
        exchange.request,
        status=response.status_code,
        reason=response.reason,
        headers=exchange.headers,
        body=body,
        requested_at=exchange.requested_at,
        received_at=exchange.received_at,
    )


def _keeps_stored(exchange: Exchange, status: int) -> bool:
    """Whether something better would be lost: an imported copy to anything but a page, a page to a passing error."""
    stored = exchange.stored
    if stored is None:
        return False
    return (stored.pinned and status != 200) or (stored.status == 200 and is_doubtful_error(status))


def _needs_digest(exchange: Exchange) -> bool:
    """Whether these bytes must be compared with what other clients were sent."""
    if exchange.unproven:
        return True
    # With a password nobody vouches that others are sent the same.
    return not is_declared_public(exchange.headers) and not has(exchange.request.headers, "authorization")


def _tee(spool: BodySpool, digest: "hashlib.blake2b | None") -> Callable[[bytes], bytes]:
    def through(chunk: bytes) -> bytes:
        spool.write(chunk)
        if digest is not None:
            digest.update(chunk)
        return chunk

    return through
