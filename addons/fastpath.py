"""Answers plain requests out of memory before mitmproxy makes a flow of them: most hits, at a tenth of the cost.

It says what the cache would say, by the same functions, or nothing at all: then the request takes its usual way, with
all addons. So nothing here may differ from that way, neither the bytes of an answer nor what is done beside it, and
whatever would need another addon's word (a page not yet known to be there, a client that was just redirected, a
response other than 200, anything for linkmend itself) is left to it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from mitmproxy import connection, http
from mitmproxy.proxy import layer

from addons.flows import OURS, url_of
from addons.internals.quicklayer import Place, quickened
from addons.soft404 import FINDING, is_worth_keeping
from proxy.cache.decide import Serve, decide
from proxy.cache.entry import CacheRequest, values
from proxy.cache.freshness import ttl_s
from proxy.cache.ready import Ready, made_ready
from proxy.cache.reply import reply_from
from proxy.cache.status import CacheStatus
from proxy.cache.vary import select
from proxy.cache.wire import dressed, head_bytes
from proxy.plainhttp import PlainFields, PlainRequest, plain_request
from proxy.portal.helper import PORTAL_HOST, PREFIX
from proxy.settings import CacheSettings
from proxy.store.memory import Held
from proxy.store.responses import ResponseStore
from repair.detect import is_document
from repair.model import Page
from repair.soft404.detector import Finding

CLEARED_S = 60.0
"""How long a page that was found to be there is not judged again: its site's error pages may be learnt meanwhile."""
_CHOICES_REMEMBERED = 50
_PORTAL = (f"http://{PORTAL_HOST}", f"https://{PORTAL_HOST}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asides:
    """What is asked and done beside an answer; clients are told by their addresses."""

    spoke: Callable[[connection.Client], None]
    """The client has sent a request."""
    opened: Callable[[str, str, bool], None]
    """A person at the address opened a URL, and whether the page was shown."""
    judges: Callable[[], bool]
    """Whether pages are looked at before they are shown."""
    was_redirected: Callable[[str, str], bool]
    """Whether the client comes to a URL by a redirect a moment ago."""
    in_reach: Callable[[str], bool]
    """Whether a URL may be asked for at all; the answer holds until there are new settings."""
    may_answer: Callable[[str, str, str], bool]
    """Whether nothing that an admin has laid down touches this URL, for this client and content type."""
    answered: Callable[[int], None] = lambda size: None
    """So many bytes were sent."""


@dataclass(slots=True, kw_only=True)
class _Variant:
    ready: Ready
    is_document: bool
    content_type: str
    cleared_until: float = 0.0


@dataclass(slots=True, kw_only=True)
class _Prepared:
    """What is held of one URL, made ready under these settings; `chosen` is the variant for fields seen before.

    Nobody's fields are kept for that: each block of them is as large as a small page.
    """

    settings: CacheSettings
    variants: tuple[_Variant, ...]
    chosen: WeakKeyDictionary[PlainFields, _Variant | None] = field(default_factory=WeakKeyDictionary)


class Quick:
    """Puts itself below mitmproxy's HTTP layers. It stands after Soft404, whose findings it notes."""

    def __init__(
        self,
        settings: CacheSettings,
        store: ResponseStore,
        asides: Asides,
        *,
        offline: Callable[[], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.answered = 0
        self._store = store
        self._asides = asides
        self._offline = offline
        self._clock = clock

    def next_layer(self, chosen: layer.NextLayer) -> None:
        quickened(chosen.layer, self.answer)

    def response(self, flow: http.HTTPFlow) -> None:
        """A hit went the usual way and was judged: if it is there, the next one need not."""
        found = flow.metadata.get(FINDING)
        if not isinstance(found, Finding) or flow.metadata.get(OURS) != "hit" or flow.response is None:
            return
        if found.judgement.unsure or not is_worth_keeping(flow):
            return
        url = url_of(flow)
        held = self._store.at_hand(url)
        for variant in self._prepared(held, url).variants if held is not None else ():
            if variant.ready.body is flow.response.raw_content:
                variant.cleared_until = self._clock() + CLEARED_S

    def answer(self, client: connection.Client, place: Place, data: bytes) -> bytes | None:
        """The whole answer to one request, with all that goes with it; None: it takes the usual way."""
        asked = plain_request(data)
        url = _url(asked, place) if asked is not None else None
        if asked is None or url is None:
            return None
        held = self._store.at_hand(url)
        address = client.peername[0]
        variant = self._variant(held, url, asked) if held is not None else None
        if held is None or variant is None or not self._may_be_shown(variant, asked, url, address):
            return None
        if len(held.responses) > 1:
            self._store.note_variant(url, variant.ready.stored)
        now = self._clock()
        if asked.fields.asks_nothing and not self._offline():
            said, is_whole = variant.ready.answer(asked.method, now), True
        else:
            said, is_whole = self._decided(held, variant, asked, url, now)
        if said is None:
            return None
        self._asides.spoke(client)
        if asked.fields.is_navigation:
            self._asides.opened(address, url, is_whole)
        self.answered += 1
        self._asides.answered(len(said))
        return said

    def _variant(self, held: Held, url: str, asked: PlainRequest) -> _Variant | None:
        prepared = self._prepared(held, url)
        if asked.fields in prepared.chosen:
            return prepared.chosen[asked.fields]
        stored = select(CacheRequest(method="GET", url=url, headers=asked.fields.headers), held.responses)
        fitting = (variant for variant in prepared.variants if variant.ready.stored is stored)
        if len(prepared.chosen) >= _CHOICES_REMEMBERED:
            prepared.chosen.clear()
        found = prepared.chosen[asked.fields] = next(fitting, None)
        return found

    def _prepared(self, held: Held, url: str) -> _Prepared:
        prepared = held.prepared
        if not isinstance(prepared, _Prepared) or prepared.settings is not self.settings:
            responses = held.responses if self._asides.in_reach(url) else ()
            made = (made_ready(stored, self.settings) for stored in responses)
            variants = tuple(_variant(ready, url) for ready in made if ready is not None)
            prepared = held.prepared = _Prepared(settings=self.settings, variants=variants)
        return prepared

    def _may_be_shown(self, variant: _Variant, asked: PlainRequest, url: str, address: str) -> bool:
        """Whether nobody needs to look at the page before this client gets it."""
        if not self._asides.may_answer(url, address, variant.content_type):
            return False
        if not variant.is_document or not asked.fields.asks_for_repair or asked.method != "GET":
            return True
        if not self._asides.judges():
            return True
        return variant.cleared_until > self._clock() and not self._asides.was_redirected(address, url)

    def _decided(
        self, held: Held, variant: _Variant, asked: PlainRequest, url: str, now: float
    ) -> tuple[bytes | None, bool]:
        """The answer to a request with wishes of its own, and whether it is the whole page."""
        request = CacheRequest(method=asked.method, url=url, headers=asked.fields.headers)
        decision = decide(request, held.responses, now=now, settings=self.settings, offline=self._offline())
        if not isinstance(decision, Serve) or decision.stored is not variant.ready.stored:
            return None, False
        reply = reply_from(request, decision.stored, now)
        if not isinstance(reply.body, bytes):
            return None, False
        told = CacheStatus(ttl_s=ttl_s(decision.stored, now, self.settings))
        head = head_bytes(reply.status, reply.reason, dressed(reply.headers, told))
        return b"%s\r\n%s" % (head, reply.body), reply.status == 200


def _url(asked: PlainRequest, place: Place) -> str | None:
    """The normal form of the URL, as `url_of` gives it; None when it is not for a site, or in doubt which one."""
    target, host = asked.target, asked.fields.host
    if place.base is not None:
        if host not in place.hosts or target[0] != "/":
            return None
        path, url = target, place.base + target
    else:
        if not target.startswith(f"http://{host}/") or host in place.ourselves or host.endswith(":80"):
            return None
        path, url = target[len("http://") + len(host) :], target
    return None if path.startswith(PREFIX) or url.startswith(_PORTAL) else url


def _variant(ready: Ready, url: str) -> _Variant:
    fetched_at = datetime.fromtimestamp(ready.stored.received_at, UTC)
    page = Page(url=url, status=200, headers=ready.stored.headers, body=b"", fetched_at=fetched_at)
    stated = ", ".join(values(ready.stored.headers, "content-type"))
    return _Variant(ready=ready, is_document=is_document(page), content_type=stated)
