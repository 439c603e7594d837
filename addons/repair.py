"""Answers a miss with a repair page: saved copies of the page, and similar saved pages.

It comes last, after the cache and the harvest have seen the origin's response. If anything fails here, the user gets
that response: the flow is changed only when the page is ready.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from mitmproxy import http

from addons.flows import (
    header_list,
    is_contradicted,
    page_of,
    request_of,
    url_of,
    write_page,
)
from addons.flowstate import AnsweredBy, state_of
from addons.rules import Rules, is_left_alone, verdict_of
from proxy.failures import proxy_status
from proxy.headers.fields import retry_after
from proxy.headers.navigation import (
    asks_for_repair,
    has_fetch_metadata,
    may_be_script,
    shows_service_worker,
    wants_json,
)
from proxy.messages import Headers
from proxy.misses.record import MissRecord, new_miss_id
from proxy.networknames import NetworkNames
from proxy.pages.copies import copy_page
from proxy.pages.language import Catalogue, choose
from proxy.pages.otherpages import redirect
from proxy.pages.render import RenderedPage
from proxy.pages.repairpage import RepairPageContext, auto_follow_target
from proxy.pages.rulepages import rule_redirect
from proxy.portal.linkmarking import LinkMarker
from proxy.privacy.automaticretries import AutomaticRetries
from proxy.privacy.clients import ClientHasher, device_of
from proxy.privacy.portalredirect import PortalRedirects, RedirectedMiss
from proxy.privacy.recentpages import RecentPages
from proxy.privacy.serviceworkers import ServiceWorkerOrigins
from proxy.privacy.suppressed import SuppressedPage, SuppressedPages
from proxy.repairservice import RepairRequest, RepairResponse, bare_page
from proxy.rpc.protocol import ArchiveService, CollectionService, MissLogService, RepairService
from proxy.rules.model import NO_RULE, RuleVerdict
from repair.detect import miss_kind, miss_kind_of
from repair.logs import RateLimitedLogger
from repair.model import BrokenLink, Click, HeldCopy, MissKind, RankedAlternatives
from repair.secrets.addresses import has_secret, without_secret

log = logging.getLogger(__name__)

# Headers of the origin that the user's browser still gets with a repair page.
_KEPT = frozenset({"cache-status", "connection", "date", "retry-after", "set-cookie", "via", "age"})
# With the content type, which rules may speak of.
_TAKEN_ROUND = (_KEPT | {"content-type"}) - {"connection", "date", "set-cookie"}


class Repair:
    """Detects misses of users (or of programs that ask for JSON), and answers them."""

    def __init__(
        self,
        repair_service: RepairService,
        collection: CollectionService,
        misses: MissLogService,
        *,
        deadline_s: float,
        recent_pages: RecentPages,
        hasher: ClientHasher,
        offline: Callable[[], bool],
        portal: Callable[[], bool],
        suppressed: SuppressedPages,
        archives: ArchiveService,
        rules: Rules,
        portal_redirects: PortalRedirects,
        use_portal_redirect: Callable[[], bool],
        workers: ServiceWorkerOrigins,
        marker: LinkMarker,
        ask_archives: bool = True,
        search_template: str = "",
        network_names: NetworkNames | None = None,
    ) -> None:
        """`sends_round` tells whether those who may be scripts are to go by way of the portal, `ask_archives` whether
        archives are queried where no rule says otherwise."""
        self.ask_archives = ask_archives
        self.search_template = search_template
        self.network_names = network_names or NetworkNames()
        self._workers = workers
        self._marker = marker
        self.deadline_s = deadline_s
        self._repair_service = repair_service
        self._collection = collection
        self._misses = misses
        self._recent_pages = recent_pages
        self._hasher = hasher
        self._offline = offline
        self._portal = portal
        self._suppressed = suppressed
        self._archives = archives
        self._rules = rules
        self._without = RateLimitedLogger(log)
        self._retries = AutomaticRetries()
        self._portal_redirects = portal_redirects
        self._sends_round = use_portal_redirect

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Remember which sites have service workers."""
        fields = flow.request.headers.fields
        named = [
            (key.decode("latin-1"), value.decode("latin-1")) for key, value in fields if key[:1] in b"sS"
        ]
        if named and shows_service_worker(named):
            self._workers.note(url_of(flow), self._client(flow))

    def response_now(self, flow: http.HTTPFlow) -> bool:
        return miss_of(flow) is None

    async def response(self, flow: http.HTTPFlow) -> None:
        kind = miss_of(flow)
        if kind is None:
            return
        request = request_of(flow)
        if not asks_for_repair(request.method, request.headers):
            return
        if self._suppressed.has_leave(self._client(flow), request.url):
            return  # the user has asked for the site's own page
        self._suppress(flow, kind)
        instead, verdict = self._rules.on_miss(flow, kind), verdict_of(flow)
        if instead is not None:
            write_page(flow, instead, by=AnsweredBy.RULE, keep=_KEPT, also=(("Linkmend-Miss", kind.value),))
        if instead is not None or is_left_alone(flow):
            return
        if self._may_be_worker(flow):
            if self._sends_round():
                self._send_round(flow, kind, at_portal=True, ask=self._ask(url_of(flow), verdict))
            return
        texts = choose(flow.request.headers.get("accept-language"))
        if kind is MissKind.OFFLINE and await self._served_copy(flow, texts):
            return
        if self._may_be_script(flow):
            self._send_round(flow, kind)
            return
        started = time.perf_counter()
        miss = self._miss(flow, kind, verdict, texts)
        response = await self._request_page(miss, verdict)
        record = self._record(flow, miss, response.found, started, rule=verdict.rule)
        self._withhold(flow, record.id)
        if not await self._auto_redirect(flow, response.found, verdict):
            self._write(flow, response)
        self._misses.record(record)

    def _may_be_worker(self, flow: http.HTTPFlow) -> bool:
        """Whether a service worker of the site may read the answer. There is none on plain http, but for localhost.

        Of a browser that does not say how a request came about nothing is known, unless there is no portal to send
        it to: then it is answered as on plain http.
        """
        request = request_of(flow)
        if request.method != "GET":
            return False
        if has_fetch_metadata(request.headers):
            return self._workers.has(request.url, self._client(flow))
        return request.url.startswith("https:") and may_be_script(request.headers) and self._sends_round()

    def _may_be_script(self, flow: http.HTTPFlow) -> bool:
        """Whether a script of the site may be asking; in transparent and reverse mode there is no way to find out."""
        request = request_of(flow)
        may_be = request.method == "GET" and may_be_script(request.headers)
        return may_be and state_of(flow).returned_miss is None and self._sends_round()

    def _send_round(
        self, flow: http.HTTPFlow, kind: MissKind, *, at_portal: bool = False, ask: bool | None = None
    ) -> None:
        """By way of the portal, where no script can follow and read. Who came from there in vain, or cannot be sent
        for the length of the address, has the answer as it came."""
        if state_of(flow).was_portal_redirected or flow.response is None:
            return
        page, failure, miss_id = state_of(flow).suppressed, state_of(flow).failure, new_miss_id()
        headers = header_list(flow.response.headers)
        missed = RedirectedMiss(
            kind=kind,
            status=flow.response.status_code,
            miss_id=miss_id,
            headers=tuple((name, value) for name, value in headers if name.lower() in _TAKEN_ROUND),
            referrer=flow.request.headers.get("referer", ""),
            missed=page.missed if page is not None else "",
            failure=failure,
            at_portal=at_portal,
            ask=ask,
        )
        way = self._portal_redirects.redirect_url(url_of(flow), self._client(flow), missed)
        if way is not None:
            self._withhold(flow, miss_id)
            write_page(flow, redirect(way), by=AnsweredBy.PORTAL_REDIRECT, keep=_KEPT)

    async def show_missed(self, flow: http.HTTPFlow, url: str, missed: RedirectedMiss) -> RenderedPage:
        """The repair page for a client that was redirected to the portal because of a miss under `url`."""
        started, lost = time.perf_counter(), missed.missed or url
        texts = choose(flow.request.headers.get("accept-language"))
        copy = await self._collection.copy(url) if missed.kind is MissKind.OFFLINE else None
        if copy is not None:
            return await self._show_copy(copy, texts)
        failure, client = missed.failure, self._client(flow)
        context = RepairPageContext(
            language=texts.code,
            status=missed.status,
            miss_id=missed.miss_id,
            offline=self._offline(),
            error_detail=failure.error if failure is not None else "",
            fault=failure.fault if failure is not None else "",
            portal=self._portal(),
            anyway=bool(missed.missed),
            search_template=self.search_template,
            framed=flow.request.headers.get("sec-fetch-dest", "document") != "document",
            at_portal=True,
            retry_after_s=self._retry_after_s(flow, url, missed.kind, missed.headers),
        )
        click = Click(referrer=missed.referrer or None, recent=tuple(self._recent_pages.recent(client)))
        link = BrokenLink(url=lost, kind=missed.kind)
        miss = RepairRequest(
            link=link, click=click, client=client, ask=missed.ask, context=context, device=self._device(flow)
        )
        response = await self._request_page(miss, NO_RULE)
        self._misses.record(self._record(flow, miss, response.found, started))
        status: Headers = (("Proxy-Status", proxy_status(failure)),) if failure is not None else ()
        return replace(response.page, headers=(*response.page.headers, *status))

    def _suppress(self, flow: http.HTTPFlow, kind: MissKind) -> None:
        """Note the error page of a site, so that its user can ask for it."""
        state, response = state_of(flow), flow.response
        from_site = state.failure is None and state.answered_by in (None, AnsweredBy.CACHE)
        if state.suppressed is None and from_site and response is not None and response.raw_content:
            state.suppressed = SuppressedPage(kind=kind, missed=url_of(flow), url=url_of(flow))

    def _withhold(self, flow: http.HTTPFlow, miss_id: str) -> None:
        if (page := state_of(flow).suppressed) is not None:
            self._suppressed.note(miss_id, self._client(flow), page)

    async def _auto_redirect(
        self, flow: http.HTTPFlow, found: RankedAlternatives, verdict: RuleVerdict
    ) -> bool:
        """Redirect the user to the best alternative if a rule says so; returns whether it did.

        A user who comes back to the missing address gets the list instead.
        """
        client, missed = self._client(flow), found.link.url
        if wants_json(request_of(flow).headers) or self._recent_pages.was_redirected(client, missed):
            return False
        target = auto_follow_target(found, verdict.auto_follow)
        if target is None:
            return False
        self._recent_pages.note_redirect(client, missed, target)
        if self._recent_pages.update_delay_s:  # a browser follows at once, perhaps to another worker
            await asyncio.sleep(self._recent_pages.update_delay_s)
        also: Headers = (("Linkmend-Miss", found.link.kind.value),)
        write_page(flow, rule_redirect(target), by=AnsweredBy.AUTO_REDIRECT, keep=_KEPT, also=also)
        return True

    async def _served_copy(self, flow: http.HTTPFlow, texts: Catalogue) -> bool:
        """Answer with the saved copy while offline; returns whether there is one.

        It tells a script of the site no more than a cache would: its own page. Marks tell of others, so they are
        only there for who is known to be no script.
        """
        copy = await self._collection.copy(url_of(flow))
        if copy is None:
            return False
        is_script = may_be_script(request_of(flow).headers) and state_of(flow).returned_miss is None
        page = copy_page(copy, texts) if is_script else await self._show_copy(copy, texts)
        write_page(flow, page, by=AnsweredBy.SAVED_COPY, keep=_KEPT)
        self._recent_pages.note_page(self._client(flow), url_of(flow))
        return True

    async def _show_copy(self, copy: HeldCopy, texts: Catalogue) -> RenderedPage:
        marks = await self._marker.marks(copy.url)
        return await asyncio.to_thread(copy_page, copy, texts, marks)

    def _miss(
        self, flow: http.HTTPFlow, kind: MissKind, verdict: RuleVerdict, texts: Catalogue
    ) -> RepairRequest:
        before, failure = state_of(flow).returned_miss, state_of(flow).failure
        page = state_of(flow).suppressed or before
        suppressed = page.missed if page is not None else ""
        url = suppressed or url_of(flow)
        client = self._client(flow)
        headers = header_list(flow.response.headers) if flow.response else ()
        context = RepairPageContext(
            language=texts.code,
            status=flow.response.status_code if flow.response else 502,
            as_json=wants_json(request_of(flow).headers),
            miss_id=before.miss_id if before is not None else new_miss_id(),
            offline=self._offline(),
            error_detail=failure.error if failure is not None else "",
            fault=failure.fault if failure is not None else "",
            portal=self._portal(),
            anyway=bool(suppressed),
            search_template=self.search_template,
            framed=flow.request.headers.get("sec-fetch-dest", "document") != "document",
            retry_after_s=self._retry_after_s(flow, url, kind, headers),
        )
        click = Click(
            referrer=flow.request.headers.get("referer"),
            recent=tuple(self._recent_pages.recent(client)),
            typed=flow.request.headers.get("sec-fetch-site") == "none",
        )
        link = BrokenLink(url=url, kind=kind)
        return RepairRequest(
            link=link,
            click=click,
            client=client,
            ask=self._ask(url, verdict),
            context=context,
            device=self._device(flow),
        )

    def _ask(self, url: str, verdict: RuleVerdict) -> bool | None:
        """Whether archives may be queried about a lost page; None for an address that must not be sent to any."""
        if has_secret(url) or verdict.archive == "off":
            return None
        return self.ask_archives if verdict.archive is None else verdict.archive == "on"

    async def _request_page(self, miss: RepairRequest, verdict: RuleVerdict) -> RepairResponse:
        deadline_s = self.deadline_s if verdict.budget_s is None else verdict.budget_s
        try:
            return await self._repair_service.repair_page(miss, within_s=deadline_s)
        except TimeoutError as error:
            self._without.warning("repair page without suggestions: %s", error)
            if miss.ask is not None:  # the page's script may ask for archived versions all the same
                self._archives.note(miss.context.miss_id, miss.client, miss.link, ask=miss.ask)
            return bare_page(miss)

    def _record(
        self,
        flow: http.HTTPFlow,
        miss: RepairRequest,
        found: RankedAlternatives,
        started: float,
        *,
        rule: str = "",
    ) -> MissRecord:
        return MissRecord(
            id=miss.context.miss_id,
            at=datetime.now(UTC),
            url=without_secret(found.link.url),
            kind=found.link.kind,
            source_url=without_secret(found.link.source_url) if found.link.source_url else None,
            source_guessed=found.link.source_guessed,
            client=miss.client,
            rule=rule,
            offered=(*(item.url for item in found.alternatives), *found.shortened),
            status=miss.context.status,
            latency_ms=(time.perf_counter() - started) * 1000,
            query="" if has_secret(found.link.url) else found.query,
            language=miss.context.language,
            copy=found.copy_at is not None,
            network=self.network_names.name_of(flow.client_conn.peername[0]),
        )

    def _write(self, flow: http.HTTPFlow, response: RepairResponse) -> None:
        failure = state_of(flow).failure
        also: Headers = (("Proxy-Status", proxy_status(failure)),) if failure is not None else ()
        write_page(flow, response.page, by=AnsweredBy.REPAIR, keep=_KEPT, also=also)

    def _retry_after_s(self, flow: http.HTTPFlow, url: str, kind: MissKind, headers: Headers) -> int:
        """After how long the page tries again by itself, where the site has asked for it; 0 for never."""
        if (
            kind is not MissKind.SERVER_ERROR
            or flow.request.headers.get("sec-fetch-dest", "document") != "document"
        ):
            return 0
        wait_s = retry_after(headers, time.time())
        return self._retries.wait_s(self._client(flow), url, wait_s) if wait_s is not None else 0

    def _client(self, flow: http.HTTPFlow) -> str:
        return self._hasher.hash(flow.client_conn.peername[0])

    def _device(self, flow: http.HTTPFlow) -> str:
        return self._hasher.hash(device_of(flow.client_conn.peername[0]))


def miss_of(flow: http.HTTPFlow) -> MissKind | None:
    """Why the flow's response is not the requested page; None when it is, or is ours to keep."""
    if flow.response is None or flow.response.stream or flow.is_replay is not None:
        return None
    if is_contradicted(flow):
        return None  # another site's answer, perhaps
    if (page := state_of(flow).suppressed) is not None:
        return page.kind
    if (
        state_of(flow).answered_by is AnsweredBy.PORTAL_RETURN
        and (before := state_of(flow).returned_miss) is not None
    ):
        return before.kind
    failure = state_of(flow).failure
    if failure is not None and state_of(flow).answered_by in (None, AnsweredBy.FAILURE):
        return failure.kind
    if state_of(flow).answered_by is AnsweredBy.OFFLINE:
        return MissKind.OFFLINE
    if (
        state_of(flow).answered_by in (None, AnsweredBy.CACHE)
        and miss_kind(flow.response.status_code) is not None
    ):
        return miss_kind_of(page_of(flow))
    return None
