"""The shared cache in the proxy's path: flows become values, `proxy.cache` decides, the answer is written back.

A request is answered from the store, sent on with our conditions, or sent on as it is. The first of several for the
same thing leads, and the others wait until its headers show whether the answer can be theirs too. Small bodies
are buffered by mitmproxy and stored when they are whole; large ones, and those of unknown length, are passed on as
they come with a copy to a spool, and stored when the last byte has passed.

A large body in doubt is asked about ahead of the request, by a request of our own: once a 304 has come to the
reader's own, it would be too late to stream the stored body.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from mitmproxy import http

from addons.answers import answer, answer_in_memory, mark, pass_file, refuse, try_later
from addons.background import Replay, answer_within, question, replay_in_mitmproxy, send_on, try_replay
from addons.connections import is_unshared
from addons.flows import FAILURE, OURS, body_of, header_list, page_of, request_of
from addons.passage import Passage, Verdict, stands_apart
from addons.rules import verdict_of
from proxy.cache.decide import (
    Decision,
    Fetch,
    GatewayTimeout,
    Revalidate,
    Serve,
    ServeStaleAndRevalidate,
    answers_others,
    decide,
    during_outage,
    looks_up,
    may_collapse,
    may_stand_in,
)
from proxy.cache.entry import CacheRequest, FileBody, Headers, StoredResponse, values
from proxy.cache.fields import content_length, has
from proxy.cache.flights import Flights
from proxy.cache.freshness import is_doubtful_error, ttl_s
from proxy.cache.harmless import plain_part
from proxy.cache.invalidating import invalidated
from proxy.cache.outages import Outages
from proxy.cache.reflecting import own_words, repeats
from proxy.cache.status import write_cache_status
from proxy.cache.storing import (
    changed_by,
    confirmed,
    may_store,
    says_for_everyone,
    speaks_for_all,
    to_stored,
)
from proxy.cache.unshared import Unshared
from proxy.cache.validating import freshened, updated_by_head
from proxy.cache.vary import is_somebodys, select, vary_names
from proxy.readers.navigation import asks_for_repair
from proxy.readers.privacy import SeenContent
from proxy.settings import CacheSettings
from proxy.store.bodyserver import BodyServer
from proxy.store.responses import ResponseStore
from proxy.store.spool import Spool

_DECODED_AT_ONCE = 32 * 1024
"""Bytes of a body that are decoded within a millisecond or two; more is left to a thread."""


class Cache:
    """The hooks. It stands after what may answer by itself and before the parent, the harvest and the repair."""

    def __init__(
        self,
        settings: CacheSettings,
        store: ResponseStore,
        flights: Flights,
        body_server: BodyServer,
        *,
        offline: Callable[[], bool],
        clock: Callable[[], float] = time.time,
        replay: Replay = replay_in_mitmproxy,
    ) -> None:
        self.settings = settings
        self._store = store
        self._flights = flights
        self._body_server = body_server
        self._offline = offline
        self._clock = clock
        self._replay = replay
        self._unshared = Unshared()
        self._outages = Outages()
        self._seen = SeenContent()
        self._passages: WeakKeyDictionary[http.HTTPFlow, Passage] = WeakKeyDictionary()

    # The hooks

    def request_now(self, flow: http.HTTPFlow) -> bool:
        """Send on what is known not to be held, if nobody has to be waited for."""
        if flow.response is not None or flow in self._passages:
            return True
        verdict = verdict_of(flow)
        if self._offline() or verdict.offline_only or not verdict.cache or stands_apart(flow):
            return False
        request, now = request_of(flow), self._clock()
        held = self._store.recall(request.url) if looks_up(request) else ()
        if held is None or self._outages.ongoing(request.url, now):
            return False
        decision = decide(request, held, now=now, settings=self.settings)
        if not isinstance(decision, Fetch):
            return False
        alone = not may_collapse(request, decision, self.settings) or self._unshared.remembers(
            request.url, now
        )
        if not alone and not self._flights.lead(request.url):
            return False
        self._passages[flow] = passage = Passage(request=request, requested_at=now, leads=not alone)
        self._forward(flow, passage, decision)
        return True

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None or flow in self._passages:
            return  # answered by another addon, or a question of our own
        verdict = verdict_of(flow)
        passage = Passage(
            request=request_of(flow),
            requested_at=self._clock(),
            apart=stands_apart(flow) or not verdict.cache,
            offline=self._offline() or verdict.offline_only,
        )
        self._passages[flow] = passage
        if not passage.apart:
            decision = self._outlast(passage, await self._decide(passage))
            decision = await self._collapse(passage, decision)
            decision = await self._ask_ahead(flow, passage, decision)
        elif passage.offline and not flow.request.stream:
            decision = GatewayTimeout(forward="bypass")
        else:
            decision = Fetch(forward="bypass")
        await self._carry_out(flow, passage, decision)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        passage, response = self._passages.get(flow), flow.response
        if passage is None or response is None or response.status_code < 200:
            return
        if OURS in flow.metadata:
            if passage.file is not None and flow.metadata[OURS] == "hit":
                pass_file(flow, response, passage.file)
            return
        self._outages.over(passage.request.url)
        passage.received_at = self._clock()
        passage.forward_status = response.status_code
        passage.headers = header_list(response.headers)
        passage.apart = passage.apart or is_unshared(flow)  # the answer may have told so
        if passage.verdict is not None and response.status_code != 304:
            passage.conclude(response.status_code)
            flow.kill()  # type: ignore[no-untyped-call]  # the reader's own request will fetch what has changed
        elif not (passage.conditional and response.status_code == 304):
            self._take(flow, passage, response)

    def response_now(self, flow: http.HTTPFlow) -> bool:
        """Let go what is neither stored nor has to do with what is."""
        passage, response = self._passages.get(flow), flow.response
        if passage is None:
            return True
        if response is None or OURS in flow.metadata or not _leaves_no_trace(passage, response):
            return False
        del self._passages[flow]
        self._end(passage, response)
        return True

    async def response(self, flow: http.HTTPFlow) -> None:
        passage = self._passages.pop(flow, None)
        if passage is None or flow.response is None:
            return
        try:
            if OURS not in flow.metadata and flow.response.status_code >= 200:
                await self._settle(flow, passage, flow.response)
            elif OURS in flow.metadata and "cache-status" not in flow.response.headers:
                told = write_cache_status(passage.status())
                flow.response.headers["Cache-Status"] = told
        finally:
            self._end(passage, flow.response)

    def _end(self, passage: Passage, response: http.Response | None) -> None:
        self._release(passage)
        passage.conclude(None)
        passage.hand_over(response)

    def error(self, flow: http.HTTPFlow) -> None:
        """The origin failed, or the client went away. What is set as response here is sent (addons/failures.py)."""
        passage = self._passages.get(flow)
        if passage is None:
            return
        if passage.spool is not None:
            passage.spool.abandon()
        passage.detail, passage.storable = "unreachable", False
        self._end(passage, None)
        if flow.response is not None or flow.error is None or flow.error.msg == flow.error.KILLED_MESSAGE:
            return
        if flow.server_conn.timestamp_tcp_setup is None and OURS not in flow.metadata:
            self._outages.note(passage.request.url, self._clock())
        self._stand_in(flow, passage, status=None)

    # Before the origin is asked

    async def _decide(self, passage: Passage) -> Decision:
        request, offline = passage.request, passage.offline
        variants = await self._variants(request.url) if offline or looks_up(request) else ()
        return decide(request, variants, now=self._clock(), settings=self.settings, offline=offline)

    async def _variants(self, key: str) -> tuple[StoredResponse, ...]:
        held = self._store.recall(key)
        return await self._store.lookup(key) if held is None else held

    def _outlast(self, passage: Passage, decision: Decision) -> Decision:
        """The decision while the origin is known to be out of reach."""
        if not self._outages.ongoing(passage.request.url, self._clock()):
            return decision
        stored = during_outage(passage.request, decision, now=self._clock(), settings=self.settings)
        if stored is None:
            return decision
        passage.forward, passage.detail = "stale", "unreachable"
        return Serve(stored=stored)

    async def _collapse(self, passage: Passage, decision: Decision) -> Decision:
        """The decision after waiting for whoever already fetches the same."""
        request, key = passage.request, passage.request.url
        if not may_collapse(request, decision, self.settings) or self._unshared.remembers(key, self._clock()):
            return decision
        passage.leads = self._flights.lead(key)
        if passage.leads:
            return decision
        await self._flights.wait(key, self.settings.collapse_wait_s)
        passage.requested_at = self._clock()
        after = await self._decide(passage)
        if isinstance(after, Serve) and isinstance(decision, Fetch | Revalidate):
            passage.collapsed, passage.forward = True, decision.forward
        elif may_collapse(request, after, self.settings):
            passage.leads = self._flights.lead(key)  # waiting once is enough, whoever else was quicker
        return after

    async def _ask_ahead(self, flow: http.HTTPFlow, passage: Passage, decision: Decision) -> Decision:
        """The decision after asking about a large body in doubt."""
        if not isinstance(decision, Revalidate) or not isinstance(decision.stored.body, FileBody):
            return decision
        verdict = await self._verdict(flow, passage, decision)
        passage.requested_at = self._clock()
        if isinstance(verdict, StoredResponse):
            passage.forward, passage.forward_status = decision.forward, 304
            # Storing the merged headers may have given the body's file another name.
            held = select(passage.request, await self._variants(passage.request.url))
            return Serve(stored=held or verdict)
        if decision.matches and self._stands_in(passage.request, decision.stored, verdict):
            passage.forward, passage.forward_status = decision.forward, verdict
            passage.detail = "unreachable" if verdict is None else "error"
            return Serve(stored=decision.stored)
        return Fetch(forward=decision.forward)

    async def _verdict(self, flow: http.HTTPFlow, reader: Passage, decision: Revalidate) -> Verdict:
        asked = question(flow, decision.conditions)
        passage = self._question_passage(reader.request, decision.stored)
        passage.matches = decision.matches
        passage.verdict = asyncio.get_running_loop().create_future()
        self._passages[asked] = passage
        if not try_replay(self._replay, asked):
            return 0  # no answer that would excuse a stale one
        verdict = await answer_within(self.settings.collapse_wait_s, passage.verdict)
        reader.set_cookies = passage.set_cookies
        return verdict

    def _revalidate_behind(self, asked: http.HTTPFlow, request: CacheRequest, stored: StoredResponse) -> None:
        if not self._flights.lead(request.url):
            return  # somebody is at it
        passage = self._question_passage(request, stored)
        passage.leads = True
        self._passages[asked] = passage
        if not try_replay(self._replay, asked):
            self._release(passage)

    def _question_passage(self, request: CacheRequest, stored: StoredResponse) -> Passage:
        return Passage(
            request=request, requested_at=self._clock(), forward="stale", stored=stored, conditional=True
        )

    async def _carry_out(self, flow: http.HTTPFlow, passage: Passage, decision: Decision) -> None:
        if isinstance(decision, GatewayTimeout):
            refuse(flow, decision.forward)
            return
        if isinstance(decision, Serve | ServeStaleAndRevalidate):
            if await self._serve(flow, passage, decision):
                self._release(passage)
                return
            decision = Fetch(forward="uri-miss")  # its file is gone
        self._forward(flow, passage, decision)

    def _forward(self, flow: http.HTTPFlow, passage: Passage, decision: Fetch | Revalidate) -> None:
        passage.forward, passage.stored = decision.forward, decision.stored
        if isinstance(decision, Revalidate):
            passage.conditional, passage.matches = True, decision.matches
        send_on(flow.request, decision.conditions if isinstance(decision, Revalidate) else None)

    async def _serve(
        self, flow: http.HTTPFlow, passage: Passage, decision: Serve | ServeStaleAndRevalidate
    ) -> bool:
        asked, request = None, passage.request
        if isinstance(decision, ServeStaleAndRevalidate):
            # It is asked for everyone, so nothing of this client goes with it. And before the answer points the
            # flow elsewhere.
            request = replace(request, method="GET", headers=_asked_for_all(request, decision.stored))
            asked = question(flow, decision.conditions, headers=request.headers)
        if not await self._answer(flow, passage, decision.stored):
            # What a 304 to another request changed may be stored under another file's name by now.
            held = select(passage.request, await self._variants(passage.request.url))
            if held is None or not await self._answer(flow, passage, held):
                return False
        if asked is not None:
            self._revalidate_behind(asked, request, decision.stored)
        return True

    async def _answer(self, flow: http.HTTPFlow, passage: Passage, stored: StoredResponse) -> bool:
        now = self._clock()
        if stored.vary:
            self._store.note_variant(passage.request.url, stored)
        status = passage.status(ttl_s=ttl_s(stored, now, self.settings))
        return await answer(flow, passage, stored, now=now, status=status, body_server=self._body_server)

    # After the origin was asked

    def _take(self, flow: http.HTTPFlow, passage: Passage, response: http.Response) -> None:
        """Look at the origin's headers: may it be stored, do others wait in vain, is it to be streamed?"""
        request, status = passage.request, response.status_code
        judged = partial(
            may_store,
            request,
            status,
            passage.headers,
            received_at=passage.received_at,
            settings=self.settings,
        )
        passage.storable = not passage.apart and judged(seen_without_cookie=True)
        passage.unproven = passage.storable and has(request.headers, "cookie") and not judged()
        length = content_length(passage.headers)
        if passage.storable and length is not None and length > self.settings.max_body_bytes:
            passage.storable = False
        if passage.storable and (_keeps_stored(passage, status) or not verdict_of(flow).cache):
            passage.storable = False
        self._note_shared(passage, response)
        mark(response, passage.headers, passage.status(), received_at=passage.received_at)
        if self._streams(passage, status, length):
            passage.spool = self._store.spool() if passage.storable else None
            passage.digest = hashlib.blake2b(digest_size=16) if _matters(passage) else None
            response.stream = _tee(passage.spool, passage.digest) if passage.spool is not None else True

    def _note_shared(self, passage: Passage, response: http.Response) -> None:
        shared = passage.storable and not passage.unproven
        shared = shared and answers_others(
            self._stored(passage, response, b""), now=self._clock(), settings=self.settings
        )
        if shared:
            self._unshared.forget(passage.request.url)
        elif passage.leads:
            self._unshared.note(passage.request.url, self._clock())
            self._release(passage)

    def _streams(self, passage: Passage, status: int, length: int | None) -> bool:
        if passage.request.method == "HEAD" or status == 204:
            return False
        if length is not None:
            return length > self.settings.stream_over_bytes
        if passage.again is not None or (passage.stored is not None and status >= 500):
            return False  # it answers another flow; or what is stored may stand in for it
        return not asks_for_repair(passage.request.method, passage.request.headers)

    async def _settle(self, flow: http.HTTPFlow, passage: Passage, response: http.Response) -> None:
        """The origin's answer is whole."""
        if is_unshared(flow):  # more came than was asked for
            passage.apart, passage.storable = True, False
            if passage.spool is not None:
                passage.spool.abandon()
        if passage.conditional and response.status_code == 304:
            await self._validated(flow, passage)
            return
        failed = FAILURE in flow.metadata  # the parent's word that it could not reach the origin
        if not response.stream and self._stand_in(
            flow, passage, status=None if failed else response.status_code
        ):
            return
        if failed:
            passage.storable = False
            if passage.spool is not None:
                passage.spool.abandon()
        for url in invalidated(passage.request, response.status_code, passage.headers):
            await self._store.remove(url)
        if passage.storable:
            await self._put(flow, passage, response)
        elif passage.request.method == "HEAD" and response.status_code == 200 and not passage.apart:
            await self._updated_by_head(passage)

    async def _put(self, flow: http.HTTPFlow, passage: Passage, response: http.Response) -> None:
        body: bytes | FileBody | None = None
        digest = passage.digest
        if passage.spool is None:
            body = whole = body_of(flow)
            if whole and response.status_code == 204:
                return  # HTTP/2 lets it pass; as HTTP/1 the body would be the next answer's beginning
            if await self._repeats(flow, passage, whole or b""):
                return
            digest = hashlib.blake2b(whole or b"", digest_size=16) if _matters(passage) else None
        if digest is not None and not self._seen_without_cookie(passage, digest.digest()):
            if passage.spool is not None:
                passage.spool.abandon()
            return
        if passage.spool is not None:
            body = await passage.spool.finish()
        if body is not None:
            await self._store.put(passage.request.url, self._stored(passage, response, body))

    async def _repeats(self, flow: http.HTTPFlow, passage: Passage, body: bytes) -> bool:
        """Whether the body has in it what this client said of itself."""
        words = own_words(passage.request, passage.headers)
        if len(body) <= _DECODED_AT_ONCE:
            return repeats(words, page_of(flow))
        return await asyncio.to_thread(repeats, words, page_of(flow))

    def _seen_without_cookie(self, passage: Passage, digest: bytes) -> bool:
        """Whether a body was sent to a request without a Cookie, now or before."""
        cookie = "; ".join(values(passage.request.headers, "cookie")) if passage.unproven else None
        return self._seen.note(passage.request.url, digest, cookie or None)

    def _stored(self, passage: Passage, response: http.Response, body: bytes | FileBody) -> StoredResponse:
        return to_stored(
            passage.request,
            status=response.status_code,
            reason=response.reason,
            headers=passage.headers,
            body=body,
            requested_at=passage.requested_at,
            received_at=passage.received_at,
        )

    async def _validated(self, flow: http.HTTPFlow, passage: Passage) -> None:
        """The origin says 304 to our conditions."""
        if passage.stored is None:
            return
        request = passage.request
        passage.set_cookies = tuple(field for field in passage.headers if field[0].lower() == "set-cookie")
        times = {"requested_at": passage.requested_at, "received_at": passage.received_at}
        stored = freshened(request, passage.stored, passage.headers, **times)
        if not passage.matches and (stored is None or is_somebodys(stored)):
            await self._contradicted(flow, passage)
            return
        await self._change(passage, stored)
        now, held = self._clock(), stored or passage.stored
        passage.conclude(held)
        status = passage.status(ttl_s=ttl_s(held, now, self.settings))
        answer_in_memory(flow, passage, held, now=now, status=status)

    async def _contradicted(self, flow: http.HTTPFlow, passage: Passage) -> None:
        """A 304 that does not give this client the variant we asked about: ask again, without conditions.

        The client sent none, so that a 304 is no answer to it, and the variant is somebody else's.
        """
        if passage.stored is not None and speaks_for_all(passage.request, passage.stored, self.settings):
            await self._store.remove(passage.request.url)
        if passage.verdict is not None:
            passage.conclude(0)  # the reader's own request goes on as it came
            return
        answered = asyncio.get_running_loop().create_future()
        asked = question(flow, ())
        self._passages[asked] = Passage(
            request=passage.request, requested_at=self._clock(), forward=passage.forward, again=answered
        )
        response = None
        if try_replay(self._replay, asked):
            response = await answer_within(self.settings.collapse_wait_s, answered)
        if response is None or response.stream:
            try_later(flow)
        else:
            flow.response = response

    async def _updated_by_head(self, passage: Passage) -> None:
        if passage.stored is None:
            return
        times = {"requested_at": passage.requested_at, "received_at": passage.received_at}
        await self._change(
            passage, updated_by_head(passage.request, passage.stored, passage.headers, **times)
        )

    async def _change(self, passage: Passage, merged: StoredResponse | None) -> None:
        """Let an answer without a body change what is stored, as far as it may."""
        request, stored = passage.request, passage.stored
        if stored is None or passage.apart:  # what somebody alone may have been told changes nothing
            return
        changed = changed_by(request, stored, merged, received_at=passage.received_at, settings=self.settings)
        if changed is stored and merged is not None and passage.conditional and passage.matches:
            changed = confirmed(request, stored, merged, settings=self.settings)
        passage.storable = changed is not None and changed is not stored
        if changed is None:
            await self._store.remove(request.url)
        elif changed is not stored:
            await self._store.put(request.url, changed)

    # When the origin fails

    def _stand_in(self, flow: http.HTTPFlow, passage: Passage, *, status: int | None) -> bool:
        """Answer with what is stored although it is stale, if that is allowed."""
        stored = passage.stored
        if stored is None or not passage.matches or not self._stands_in(passage.request, stored, status):
            return False
        passage.storable = False
        passage.detail = "unreachable" if status is None else "error"
        now = self._clock()
        told = passage.status(ttl_s=ttl_s(stored, now, self.settings))
        answered = answer_in_memory(flow, passage, stored, now=now, status=told)
        if answered and status is None and flow.response is not None and flow.request.is_http11:
            # mitmproxy remembers a failed connection as long as the client's lasts (see addons/failures.py).
            flow.response.headers["connection"] = "close"
        return answered

    def _stands_in(self, request: CacheRequest, stored: StoredResponse, status: int | None) -> bool:
        return may_stand_in(request, stored, status=status, now=self._clock(), settings=self.settings)

    def _release(self, passage: Passage) -> None:
        if passage.leads:
            passage.leads = False
            self._flights.land(passage.request.url)


def _leaves_no_trace(passage: Passage, response: http.Response) -> bool:
    """Whether a whole answer changes nothing in the store, and nothing of it takes the answer's place."""
    if passage.stored is not None or passage.conditional or passage.storable or response.status_code < 200:
        return False
    return not invalidated(passage.request, response.status_code, passage.headers)


def _keeps_stored(passage: Passage, status: int) -> bool:
    """Whether something better would be lost: an imported copy to anything but a page, a page to a passing error."""
    if passage.stored is None:
        return False
    return (passage.stored.pinned and status != 200) or (
        passage.stored.status == 200 and is_doubtful_error(status)
    )


def _matters(passage: Passage) -> bool:
    """Whether it matters to whom else these bytes were sent."""
    if not passage.storable or passage.unproven:
        return passage.storable
    # With a password nobody vouches that others are sent the same.
    return not says_for_everyone(passage.headers) and not has(passage.request.headers, "authorization")


def _asked_for_all(request: CacheRequest, stored: StoredResponse) -> Headers:
    return plain_part(request.headers, named=vary_names(stored.headers))


def _tee(spool: Spool, digest: "hashlib.blake2b | None") -> Callable[[bytes], bytes]:
    def through(chunk: bytes) -> bytes:
        spool.write(chunk)
        if digest is not None:
            digest.update(chunk)
        return chunk

    return through
