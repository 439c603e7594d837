"""Answers plain requests from the store before mitmproxy makes a flow of them: most hits, at a tenth of the cost.

It says what the cache would say, by the same engine (proxy/cache/hits.py), or nothing at all: then the request takes
its usual way, with all addons. So nothing here may differ from that way, neither the bytes of an answer nor what is
done beside it, and whatever would need another addon's word (a page not yet known to be there, a client that was just
redirected, a response other than 200, anything for linkmend itself) is left to it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from mitmproxy import connection, http
from mitmproxy.proxy import layer

from addons.flows import url_of
from addons.flowstate import AnsweredBy, state_of
from addons.mitm.fastlayer import LayerTarget, UnansweredRequest, with_fast_path
from addons.mitm.fasttunnel import tunnel_of
from addons.mitm.inlinehooks import INLINE
from addons.soft404 import is_worth_keeping
from proxy.cache.hits import HitAnswer, PlainHit, answer_hit, goes_as_bytes
from proxy.cache.vary import select
from proxy.headers.fastrequest import PlainFields, PlainRequest, plain_request
from proxy.messages import CacheRequest, values
from proxy.portal.addresses import PORTAL_HOST, PREFIX
from proxy.settings import CacheSettings
from proxy.store.memory import CachedEntry
from proxy.store.responses import ResponseStore
from repair.bounded import BoundedDict
from repair.detect import is_document
from repair.model import Page

CLEARED_S = 60.0
"""How long a page that was found to be there is not judged again: its site's error pages may be learnt meanwhile."""
_CLEARED_AT_MOST = 10_000
_CHOICES_REMEMBERED = 50
_PORTAL = (f"http://{PORTAL_HOST}", f"https://{PORTAL_HOST}")

_PageKey = tuple[str, int]
_ANY = 0
"""In a key: some content of the page, whichever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FastPathListeners:
    """Checks and notifications of other addons for each answer; clients are named by their addresses."""

    spoke: Callable[[connection.Client], None]
    """The client has sent a request."""
    opened: Callable[[str, str, bool], None]
    """A person at the address opened a URL, and whether the page was shown."""
    judges: Callable[[], bool]
    """Whether pages are looked at before they are shown."""
    was_redirected: Callable[[str, str], bool]
    """Whether the client comes to a URL by a redirect a moment ago."""
    in_reach: Callable[[str], bool]
    """Whether a URL may be requested at all; the answer is valid until the settings change."""
    may_answer: Callable[[str, str, str], bool]
    """Whether nothing that an admin has laid down touches this URL, for this client and content type."""
    answered: Callable[[int], None] = lambda size: None
    """So many bytes were sent."""


@dataclass(slots=True, kw_only=True)
class _Variant:
    hit: PlainHit
    is_document: bool
    content_type: str


@dataclass(slots=True, kw_only=True)
class _Prepared:
    """The stored responses of one URL, prepared under these settings; `chosen` is the variant for fields seen before.

    Nobody's fields are kept for that: each block of them is as large as a small page.
    """

    settings: CacheSettings
    variants: tuple[_Variant, ...]
    chosen: WeakKeyDictionary[PlainFields, _Variant | None] = field(default_factory=WeakKeyDictionary)


class FastPath:
    """Puts itself below mitmproxy's HTTP layers. It comes after Soft404, whose findings it notes."""

    def __init__(
        self,
        settings: CacheSettings,
        store: ResponseStore,
        listeners: FastPathListeners,
        *,
        offline: Callable[[], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.answered = 0
        self.reading = 0
        """How many requests wait for the disk."""
        self._store = store
        self._listeners = listeners
        self._offline = offline
        self._clock = clock
        self._cleared = BoundedDict[_PageKey, float](_CLEARED_AT_MOST)

    def next_layer(self, chosen: layer.NextLayer) -> None:
        with_fast_path(chosen.layer, self.answer)
        inline = vars(chosen.context).get(INLINE)
        if inline is not None:
            inline.tunnel = tunnel_of(chosen.context)

    def response(self, flow: http.HTTPFlow) -> None:
        """A page went the usual way and was judged: if it is there, the next one to open it need not."""
        found = state_of(flow).finding
        if (
            found is None
            or state_of(flow).answered_by not in (None, AnsweredBy.CACHE)
            or flow.response is None
        ):
            return
        body = flow.response.raw_content
        if body and not found.judgement.unsure and is_worth_keeping(flow):
            url, until = url_of(flow), self._clock() + CLEARED_S
            self._cleared[_page_key(url, body)] = self._cleared[url, _ANY] = until

    def answer(
        self, client: connection.Client, place: LayerTarget, data: bytes
    ) -> bytes | UnansweredRequest | None:
        """The whole answer to one request, with all that goes with it; None: it takes the usual way."""
        request_head = plain_request(data)
        url = _url(request_head, place) if request_head is not None else None
        if request_head is None or url is None:
            return None
        entry = self._store.get_cached(url) or self._store.read_warm(url)
        if entry is not None:
            return self._answer_from(entry, client, request_head, url)
        if self._store.may_be_on_disk(url) and self._is_worth_reading(request_head, url):
            return UnansweredRequest(client=client, request_head=request_head, url=url)
        return None

    def _is_worth_reading(self, request_head: PlainRequest, url: str) -> bool:
        """A page that was not found to be there a moment ago must be judged: first visits go on at once."""
        if not request_head.fields.asks_for_repair or not self._listeners.judges():
            return True
        return self._cleared.get((url, _ANY), 0.0) > self._clock()

    async def read_stored(self, request: UnansweredRequest) -> None:
        """Answer a request out of what is on disk, as if it were in memory."""
        self.reading += 1
        try:
            entry = await self._store.read(request.url)
        finally:
            self.reading -= 1
        if entry.responses:
            request.answer = self._answer_from(entry, request.client, request.request_head, request.url)

    def _answer_from(
        self, entry: CachedEntry, client: connection.Client, request_head: PlainRequest, url: str
    ) -> bytes | None:
        address = client.peername[0]
        variant = self._variant(entry, url, request_head)
        if variant is None or not self._may_be_shown(variant, request_head, url, address):
            return None
        if len(entry.responses) > 1:
            self._store.note_variant(url, variant.hit.stored)
        answer = self._answer(entry, variant, request_head, url)
        if answer is None or not isinstance(answer.fixed.body, bytes):
            return None
        response_bytes = answer.head + answer.fixed.body
        self._listeners.spoke(client)
        if request_head.fields.is_navigation:
            self._listeners.opened(address, url, answer.fixed.status == 200)
        self.answered += 1
        self._listeners.answered(len(response_bytes))
        return response_bytes

    def _variant(self, entry: CachedEntry, url: str, request_head: PlainRequest) -> _Variant | None:
        prepared = self._prepare(entry, url)
        if request_head.fields in prepared.chosen:
            return prepared.chosen[request_head.fields]
        stored = select(
            CacheRequest(method="GET", url=url, headers=request_head.fields.headers), entry.responses
        )
        fitting = (variant for variant in prepared.variants if variant.hit.stored is stored)
        if len(prepared.chosen) >= _CHOICES_REMEMBERED:
            prepared.chosen.clear()
        found = prepared.chosen[request_head.fields] = next(fitting, None)
        return found

    def _prepare(self, entry: CachedEntry, url: str) -> _Prepared:
        prepared = entry.prepared
        if not isinstance(prepared, _Prepared) or prepared.settings is not self.settings:
            responses = entry.responses if self._listeners.in_reach(url) else ()
            hits = (PlainHit(stored, self.settings) for stored in responses if goes_as_bytes(stored))
            variants = tuple(_variant(hit, url) for hit in hits)
            prepared = entry.prepared = _Prepared(settings=self.settings, variants=variants)
        return prepared

    def _may_be_shown(self, variant: _Variant, request_head: PlainRequest, url: str, address: str) -> bool:
        """Whether no other addon has to look at the page before this client gets it."""
        if not self._listeners.may_answer(url, address, variant.content_type):
            return False
        if not variant.is_document or not request_head.fields.asks_for_repair or request_head.method != "GET":
            return True
        if not self._listeners.judges():
            return True
        body = variant.hit.stored.body
        if not isinstance(body, bytes) or self._cleared.get(_page_key(url, body), 0.0) <= self._clock():
            return False
        return not self._listeners.was_redirected(address, url)

    def _answer(
        self, entry: CachedEntry, variant: _Variant, request_head: PlainRequest, url: str
    ) -> HitAnswer | None:
        now, offline = self._clock(), self._offline()
        if request_head.fields.asks_nothing and not offline:
            return variant.hit.answer(request_head.method, now)
        request = CacheRequest(method=request_head.method, url=url, headers=request_head.fields.headers)
        answer = answer_hit(request, entry.responses, now=now, settings=self.settings, offline=offline)
        return answer if answer is not None and answer.fixed.stored is variant.hit.stored else None


def _url(request_head: PlainRequest, place: LayerTarget) -> str | None:
    """The normal form of the URL, as `url_of` gives it; None when it is not for a site, or in doubt which one."""
    target, host = request_head.target, request_head.fields.host
    if place.base is not None:
        if host not in place.hosts or target[0] != "/":
            return None
        path, url = target, place.base + target
    else:
        if not target.startswith(f"http://{host}/") or host in place.ourselves or host.endswith(":80"):
            return None
        path, url = target[len("http://") + len(host) :], target
    return None if path.startswith(PREFIX) or url.startswith(_PORTAL) else url


def _page_key(url: str, body: bytes) -> _PageKey:
    """By Python's hash, as repair/soft404/detector.py does it."""
    return url, hash(body)


def _variant(hit: PlainHit, url: str) -> _Variant:
    stored = hit.stored
    fetched_at = datetime.fromtimestamp(stored.received_at, UTC)
    page = Page(url=url, status=200, headers=stored.headers, body=b"", fetched_at=fetched_at)
    stated = ", ".join(values(stored.headers, "content-type"))
    return _Variant(hit=hit, is_document=is_document(page), content_type=stated)
