"""Answers a miss with a repair page: what we hold of the page, and what we hold that is like it.

It stands last, after the cache and the harvest have seen the origin's own answer. Whatever fails here, the
reader gets that answer: the flow is touched only when the page is ready.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from mitmproxy import http

from addons.detour import has_been_round, missed_before
from addons.flows import (
    FAILURE,
    OURS,
    header_list,
    is_contradicted,
    page_of,
    request_of,
    url_of,
    write_page,
)
from addons.rules import Rules, is_left_alone, verdict_of
from addons.soft404 import withheld_of
from proxy.cache.entry import Headers
from proxy.failures import Failure, proxy_status
from proxy.mending import Mended, Miss, bare
from proxy.misses.record import MissRecord, new_miss_id
from proxy.pages.copies import copy_page
from proxy.pages.language import Catalogue, choose
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import PageContext, auto_follow_target
from proxy.pages.rulepages import led_elsewhere
from proxy.pages.simple import redirect
from proxy.readers.clients import ClientHasher, device_of
from proxy.readers.detour import Detours, Missed
from proxy.readers.navigation import asks_for_repair, may_be_script, says_how, tells_of_worker, wants_json
from proxy.readers.privacy import is_personal_url, shareable_url
from proxy.readers.serviceworkers import WorkerOrigins
from proxy.readers.visitors import Visitors
from proxy.readers.withheld import WithheldPages
from proxy.rules.model import NO_RULE, Verdict
from proxy.seams import Archives, Mender, MissLog, Reader
from proxy.seldom import Seldom
from repair.detect import broken, miss_kind
from repair.model import BrokenLink, Click, MissKind, RankedAlternatives

log = logging.getLogger(__name__)

# What the reader's browser would have got from the origin beside the page, and still gets.
_KEPT = frozenset({"cache-status", "connection", "date", "retry-after", "set-cookie", "via", "age"})
# With the content type, which rules may speak of.
_TAKEN_ROUND = (_KEPT | {"content-type"}) - {"connection", "date", "set-cookie"}


class Repair:
    """Notices a miss where a person (or a machine that asks for JSON) waits for a page, and answers it."""

    def __init__(
        self,
        mender: Mender,
        reader: Reader,
        misses: MissLog,
        *,
        deadline_s: float,
        visitors: Visitors,
        hasher: ClientHasher,
        offline: Callable[[], bool],
        portal: Callable[[], bool],
        withheld: WithheldPages,
        archives: Archives,
        rules: Rules,
        detours: Detours,
        sends_round: Callable[[], bool],
        workers: WorkerOrigins,
    ) -> None:
        """`sends_round` tells whether those who may be scripts are to go by way of the portal."""
        self._workers = workers
        self.deadline_s = deadline_s
        self._mender = mender
        self._reader = reader
        self._misses = misses
        self._visitors = visitors
        self._hasher = hasher
        self._offline = offline
        self._portal = portal
        self._withheld = withheld
        self._archives = archives
        self._rules = rules
        self._without = Seldom(log)
        self._detours = detours
        self._sends_round = sends_round

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Remember which sites have service workers."""
        if tells_of_worker(flow.request.headers.items(multi=True)):
            self._workers.note(url_of(flow))

    def response_now(self, flow: http.HTTPFlow) -> bool:
        return miss_of(flow) is None

    async def response(self, flow: http.HTTPFlow) -> None:
        kind = miss_of(flow)
        if kind is None:
            return
        request = request_of(flow)
        if not asks_for_repair(request.method, request.headers):
            return
        instead, verdict = self._rules.on_miss(flow, kind), verdict_of(flow)
        if instead is not None:
            write_page(flow, instead, ours="rule", keep=_KEPT, also=(("Linkmend-Miss", kind.value),))
        if instead is not None or is_left_alone(flow):
            return
        if self._may_be_worker(flow):
            if self._sends_round():
                self._send_round(flow, kind, at_portal=True, ask=self._ask(url_of(flow), verdict))
            return
        if self._may_be_script(flow):
            self._send_round(flow, kind)
            return
        started = time.perf_counter()
        texts = choose(flow.request.headers.get("accept-language"))
        if kind is MissKind.OFFLINE and await self._served_copy(flow, texts):
            return
        miss = self._miss(flow, kind, verdict, texts)
        mended = await self._mended(miss, verdict)
        record = self._record(miss, mended.found, started, rule=verdict.rule)
        self._withhold(flow, record.id)
        if not await self._led(flow, mended.found, verdict):
            self._write(flow, mended)
        self._misses.record(record)

    def _may_be_worker(self, flow: http.HTTPFlow) -> bool:
        """Whether a service worker of the site may read the answer. There is none on plain http, but for localhost.

        Of a browser that does not say how a request came about nothing is known, unless there is no portal to send
        it to: then it is answered as on plain http.
        """
        request = request_of(flow)
        if request.method != "GET":
            return False
        if says_how(request.headers):
            return self._workers.has(request.url)
        return request.url.startswith("https:") and may_be_script(request.headers) and self._sends_round()

    def _may_be_script(self, flow: http.HTTPFlow) -> bool:
        """Whether a script of the site may be asking; in transparent and reverse mode there is no way to find out."""
        request = request_of(flow)
        may_be = request.method == "GET" and may_be_script(request.headers)
        return may_be and missed_before(flow) is None and self._sends_round()

    def _send_round(
        self, flow: http.HTTPFlow, kind: MissKind, *, at_portal: bool = False, ask: bool | None = None
    ) -> None:
        """By way of the portal, where no script can follow and read. Who came from there in vain, or cannot be sent
        for the length of the address, has the answer as it came."""
        if has_been_round(flow) or flow.response is None:
            return
        page, failure, miss_id = withheld_of(flow), flow.metadata.get(FAILURE), new_miss_id()
        headers = header_list(flow.response.headers)
        missed = Missed(
            kind=kind,
            status=flow.response.status_code,
            miss_id=miss_id,
            headers=tuple((name, value) for name, value in headers if name.lower() in _TAKEN_ROUND),
            referrer=flow.request.headers.get("referer", ""),
            missed=page.missed if page is not None else "",
            failure=failure if isinstance(failure, Failure) else None,
            at_portal=at_portal,
            ask=ask,
        )
        way = self._detours.way(url_of(flow), self._client(flow), missed)
        if way is not None:
            self._withhold(flow, miss_id)
            write_page(flow, redirect(way), ours="detour", keep=_KEPT)

    async def show_missed(self, flow: http.HTTPFlow, url: str, missed: Missed) -> RenderedPage:
        """The repair page for who was sent to the portal because of a miss under `url`."""
        started, lost = time.perf_counter(), missed.missed or url
        texts = choose(flow.request.headers.get("accept-language"))
        copy = await self._reader.copy(url) if missed.kind is MissKind.OFFLINE else None
        if copy is not None:
            return copy_page(copy, texts)
        failure, client = missed.failure, self._client(flow)
        context = PageContext(
            language=texts.code,
            status=missed.status,
            miss_id=missed.miss_id,
            offline=self._offline(),
            error_detail=failure.error if failure is not None else "",
            fault=failure.fault if failure is not None else "",
            portal=self._portal(),
            anyway=bool(missed.missed),
            search_template=self._archives.shown.search_template,
            framed=flow.request.headers.get("sec-fetch-dest", "document") != "document",
            at_portal=True,
        )
        click = Click(referrer=missed.referrer or None, recent=tuple(self._visitors.recent(client)))
        link = BrokenLink(url=lost, kind=missed.kind)
        miss = Miss(
            link=link, click=click, client=client, ask=missed.ask, context=context, device=self._device(flow)
        )
        mended = await self._mended(miss, NO_RULE)
        self._misses.record(self._record(miss, mended.found, started))
        status: Headers = (("Proxy-Status", proxy_status(failure)),) if failure is not None else ()
        return replace(mended.page, headers=(*mended.page.headers, *status))

    def _withhold(self, flow: http.HTTPFlow, miss_id: str) -> None:
        if (page := withheld_of(flow)) is not None:
            self._withheld.note(miss_id, self._client(flow), page)

    async def _led(self, flow: http.HTTPFlow, found: RankedAlternatives, verdict: Verdict) -> bool:
        """Lead the reader straight to the best page where a rule wants that, and whether it was done.

        Who comes back to the missing address wants to see the list, and is shown it.
        """
        client, missed = self._client(flow), found.link.url
        if wants_json(request_of(flow).headers) or self._visitors.was_led(client, missed):
            return False
        target = auto_follow_target(found, verdict.auto_follow)
        if target is None:
            return False
        self._visitors.led(client, missed, target)
        if self._visitors.told_within_s:  # a browser follows at once, perhaps to another worker
            await asyncio.sleep(self._visitors.told_within_s)
        also: Headers = (("Linkmend-Miss", found.link.kind.value),)
        write_page(flow, led_elsewhere(target), ours="led", keep=_KEPT, also=also)
        return True

    async def _served_copy(self, flow: http.HTTPFlow, texts: Catalogue) -> bool:
        """Off the line there is nothing newer than the copy we hold, so it is the answer."""
        copy = await self._reader.copy(url_of(flow))
        if copy is None:
            return False
        write_page(flow, copy_page(copy, texts), ours="copy", keep=_KEPT)
        return True

    def _miss(self, flow: http.HTTPFlow, kind: MissKind, verdict: Verdict, texts: Catalogue) -> Miss:
        before, failure = missed_before(flow), flow.metadata.get(FAILURE)
        page = withheld_of(flow) or before
        withheld = page.missed if page is not None else ""
        url = withheld or url_of(flow)
        client = self._client(flow)
        context = PageContext(
            language=texts.code,
            status=flow.response.status_code if flow.response else 502,
            as_json=wants_json(request_of(flow).headers),
            miss_id=before.miss_id if before is not None else new_miss_id(),
            offline=self._offline(),
            error_detail=failure.error if isinstance(failure, Failure) else "",
            fault=failure.fault if isinstance(failure, Failure) else "",
            portal=self._portal(),
            anyway=bool(withheld),
            search_template=self._archives.shown.search_template,
            framed=flow.request.headers.get("sec-fetch-dest", "document") != "document",
        )
        click = Click(
            referrer=flow.request.headers.get("referer"), recent=tuple(self._visitors.recent(client))
        )
        link = BrokenLink(url=url, kind=kind)
        return Miss(
            link=link,
            click=click,
            client=client,
            ask=self._ask(url, verdict),
            context=context,
            device=self._device(flow),
        )

    def _ask(self, url: str, verdict: Verdict) -> bool | None:
        """Whether archives may be asked about a lost page; None for an address that none may be told."""
        if is_personal_url(url) or verdict.archive == "off":
            return None
        return self._archives.asked if verdict.archive is None else verdict.archive == "on"

    async def _mended(self, miss: Miss, verdict: Verdict) -> Mended:
        deadline_s = self.deadline_s if verdict.budget_s is None else verdict.budget_s
        try:
            return await self._mender.mend(miss, within_s=deadline_s)
        except TimeoutError as error:
            self._without.warn("a repair page without alternatives: %s", error)
            if miss.ask is not None:  # the page's script may ask for archived versions all the same
                self._archives.note(miss.context.miss_id, miss.client, miss.link, ask=miss.ask)
            return bare(miss)

    def _record(self, miss: Miss, found: RankedAlternatives, started: float, *, rule: str = "") -> MissRecord:
        return MissRecord(
            id=miss.context.miss_id,
            at=datetime.now(UTC),
            url=shareable_url(found.link.url),
            kind=found.link.kind,
            source_url=shareable_url(found.link.source_url) if found.link.source_url else None,
            client=miss.client,
            rule=rule,
            offered=(*(item.url for item in found.alternatives), *found.shortened),
            status=miss.context.status,
            latency_ms=(time.perf_counter() - started) * 1000,
            query="" if is_personal_url(found.link.url) else found.query,
            language=miss.context.language,
            copy=found.copy_at is not None,
        )

    def _write(self, flow: http.HTTPFlow, mended: Mended) -> None:
        failure = flow.metadata.get(FAILURE)
        also: Headers = (("Proxy-Status", proxy_status(failure)),) if isinstance(failure, Failure) else ()
        write_page(flow, mended.page, ours="repair", keep=_KEPT, also=also)

    def _client(self, flow: http.HTTPFlow) -> str:
        return self._hasher.hash(flow.client_conn.peername[0])

    def _device(self, flow: http.HTTPFlow) -> str:
        return self._hasher.hash(device_of(flow.client_conn.peername[0]))


def miss_of(flow: http.HTTPFlow) -> MissKind | None:
    """Why the flow's response is not the page that was asked for; None when it is, or is ours to keep."""
    if flow.response is None or flow.response.stream or flow.is_replay is not None:
        return None
    if is_contradicted(flow):
        return None  # another site's answer, perhaps
    if (page := withheld_of(flow)) is not None:
        return page.kind
    if flow.metadata.get(OURS) == "back" and (before := missed_before(flow)) is not None:
        return before.kind
    failure = flow.metadata.get(FAILURE)
    if isinstance(failure, Failure) and flow.metadata.get(OURS) in (None, "failure"):
        return failure.kind
    if flow.metadata.get(OURS) == "offline":
        return MissKind.OFFLINE
    if flow.metadata.get(OURS) in (None, "hit") and miss_kind(flow.response.status_code) is not None:
        return broken(page_of(flow))
    return None
