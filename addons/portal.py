"""Answers requests to linkmend itself: /.well-known/linkmend/ on any host, and http://linkmend.internal/."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from mitmproxy import http

from addons.flows import header_list, url_of, write_page
from addons.flowstate import AnsweredBy
from proxy.archives.ownarchive import OwnArchive
from proxy.headers.navigation import is_navigation
from proxy.misses.searches import unanswered_words
from proxy.monitoring.metrics import Metrics
from proxy.pages import browsepages
from proxy.pages import otherpages as pages
from proxy.pages import startpage as portal
from proxy.pages.copies import copy_page
from proxy.pages.language import Catalogue, choose
from proxy.pages.render import RenderedPage
from proxy.pages.startpage import PortalInfo
from proxy.portal.addresses import PAC_PATHS, PORTAL_HOST, PREFIX
from proxy.portal.browsing import StartPageLists
from proxy.portal.certificate import certificate, fingerprint
from proxy.portal.devices import CertificateForm
from proxy.portal.linkmarking import LinkMarker
from proxy.portal.routemodel import (
    ArchivedRoute,
    BackRoute,
    BrowseRoute,
    CertificateRoute,
    ChoiceRoute,
    CopyRoute,
    DeviceCall,
    HelperCall,
    LateOffersRoute,
    MementosRoute,
    PacRoute,
    PrivacyRoute,
    RefusedRoute,
    SearchRoute,
    ShowAnywayRoute,
    StaticRoute,
    SuggestRoute,
    TopicRoute,
    ToPortalRoute,
    TrustedRoute,
)
from proxy.portal.routes import route, suggestion_of
from proxy.privacy.clients import ClientHasher, network_of
from proxy.privacy.portalredirect import PortalRedirects, RedirectedMiss, split_mark
from proxy.rpc.protocol import (
    ArchiveService,
    BrowseService,
    CollectionService,
    MissLogService,
    RepairService,
    SuggestionService,
)
from proxy.settings import split_address
from repair.collection.pagesearch import SearchRequest, SearchResults

log = logging.getLogger(__name__)

T = TypeVar("T")

_PORTAL = (f"http://{PORTAL_HOST}", f"https://{PORTAL_HOST}")


class Portal:
    """Comes early, so that no other addon takes such a request for one to a site."""

    def __init__(
        self,
        browser: BrowseService,
        marker: LinkMarker,
        collection: CollectionService,
        misses: MissLogService,
        *,
        own_archive: OwnArchive,
        ca: Path,
        metrics: Metrics,
        portal_info: Callable[[], PortalInfo],
        deadline_s: float,
        portal: Callable[[], bool],
        hasher: ClientHasher,
        show_anyway: Callable[[str, str], Awaitable[str | None]],
        archives: ArchiveService,
        portal_redirects: PortalRedirects,
        show_missed: Callable[[http.HTTPFlow, str, RedirectedMiss], Awaitable[RenderedPage]],
        suggestions: SuggestionService,
        repairs: RepairService,
    ) -> None:
        """`show_missed` makes the repair page for a miss at the portal."""
        self._show_missed = show_missed
        self._suggestions = suggestions
        self._repairs = repairs
        self._browser = browser
        self._marker = marker
        self._metrics = metrics
        self._collection = collection
        self._misses = misses
        self._own_archive = own_archive
        self._ca = ca
        self._portal = portal
        self._hasher = hasher
        self._show_anyway = show_anyway
        self._archives = archives
        self._portal_redirects = portal_redirects
        self._portal_info = portal_info
        self.deadline_s = deadline_s

    def request_now(self, flow: http.HTTPFlow) -> bool:
        """Nearly always: nothing for us."""
        path = flow.request.path
        return (
            not path.startswith(PREFIX)
            and path not in PAC_PATHS
            and not url_of(flow).startswith(_PORTAL)
            and not self._own(flow)
        )

    def _own(self, flow: http.HTTPFlow) -> str:
        """Our own address, when that is what the request is to; else ""."""
        return url_of(flow).split("/")[2] if self._portal() and _is_for_us(flow) else ""

    async def request(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None or self.request_now(flow):
            return  # answered by the desk or a rule; or nothing for us
        call = route(
            flow.request.method,
            url_of(flow),
            header_list(flow.request.headers),
            portal_reachable=self._portal(),
            own=self._own(flow),
            public=self._portal_info().public,
        )
        if call is not None:
            texts = choose(flow.request.headers.get("accept-language"))
            try:
                client = self._hasher.hash(flow.client_conn.peername[0])
                if isinstance(call, ArchivedRoute):
                    page = await self._show_archived(call, flow, texts)
                elif isinstance(call, DeviceCall):
                    page = await self._about_devices(call, flow, texts)
                elif isinstance(call, SuggestRoute):
                    page = await self._suggest(flow, client, texts)
                else:
                    if isinstance(call, ChoiceRoute):
                        self._note_choice(call, flow, client)
                    missed = (
                        await self._show_missed_page(call, flow, client)
                        if isinstance(call, BackRoute)
                        else None
                    )
                    page = missed or await self._answer(call, texts, client)
            except TimeoutError:
                log.warning(
                    "portal: timed out after %.1f s: %s", self.deadline_s, flow.request.path.partition("?")[0]
                )
                page = pages.refused_page(503, texts, portal=self._portal())
            except Exception:  # whatever failed: words meant for us must not go on to the site
                log.exception("portal: request failed for %s", flow.request.path)
                page = pages.refused_page(503, texts, portal=self._portal())
            write_page(flow, page, by=AnsweredBy.PORTAL)

    async def _about_devices(self, call: DeviceCall, flow: http.HTTPFlow, texts: Catalogue) -> RenderedPage:
        portal_info = self._portal_info()
        host, port = (
            split_address(portal_info.public) if portal_info.public else flow.client_conn.sockname[:2]
        )
        host = host.removeprefix("::ffff:")
        if isinstance(call, PacRoute):
            return portal.pac_page(host, port)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lists = await self._browse(self._browser.start_page(), "start")
        return portal.portal_page(
            texts,
            portal_info,
            held_pages=await self._collection.count(),
            lists=lists or StartPageLists(),
            trusts=self._trusts(flow),
            user_agent=flow.request.headers.get("user-agent", ""),
            fingerprint=await asyncio.to_thread(fingerprint, self._ca),
            pac_url=f"http://{place}{PAC_PATHS[0]}" if self._portal() else "",
            portal=self._portal(),
        )

    async def _suggest(self, flow: http.HTTPFlow, client: str, texts: Catalogue) -> RenderedPage:
        """Pass on what a user looked for. The form is read here and goes no further."""
        said = suggestion_of(flow.request.raw_content or b"")
        if said is None:
            return pages.refused_page(400, texts, portal=self._portal())
        kept = await self._suggestions.suggest(*said, client=client)
        return pages.suggested_page(texts, kept=kept, portal=self._portal())

    async def _answer(self, call: HelperCall, texts: Catalogue, client: str) -> RenderedPage:
        match call:
            case SearchRoute():
                return await self._search(call, texts, client)
            case TopicRoute():
                sections = await self._browse(self._browser.topic(call), "topic")
                if not sections:
                    return pages.refused_page(404, texts, portal=self._portal())
                return browsepages.topic_page(call, sections, texts, portal=self._portal())
            case BrowseRoute():
                listed = await self._browse(self._browser.browse(call), "list")
                return browsepages.list_page(call, listed, texts, portal=self._portal())
            case CopyRoute(url=url):
                return await self._copy(url, texts)
            case ChoiceRoute():
                return pages.no_content()
            case SuggestRoute():  # answered with its form
                return pages.refused_page(400, texts, portal=self._portal())
            case ShowAnywayRoute(miss_id=miss_id):
                shown = await self._show_anyway(miss_id, client)
                return (
                    pages.redirect(shown) if shown else pages.refused_page(404, texts, portal=self._portal())
                )
            case MementosRoute():
                found = await self._archives.answer(call, texts.code, client)
                return found or pages.refused_page(404, texts, portal=self._portal())
            case LateOffersRoute():
                added = await self._repairs.late_offers(call, texts.code, client)
                return added or pages.refused_page(404, texts, portal=self._portal())
            case CertificateRoute(form=form):
                return await self._certificate(form, texts)
            case TrustedRoute(picture=picture):
                return portal.trusted_picture() if picture else portal.trusted_page(texts)
            case PrivacyRoute():
                return portal.privacy_page(texts, self._portal_info(), portal=self._portal())
            case StaticRoute(name=name):
                return pages.static_page(name) or pages.refused_page(404, texts, portal=self._portal())
            case ToPortalRoute(url=url):
                return pages.redirect(url)
            case BackRoute(url=url):
                bare, seal = split_mark(url)
                if seal is None or not self._portal_redirects.is_ours(bare, seal, client):
                    return pages.refused_page(404, texts, portal=self._portal())
                missed = self._portal_redirects.open_seal(bare, seal, client)
                # Too late, or loaded again: from the beginning.
                return pages.redirect(bare if missed is None or missed.at_portal else url)
            case RefusedRoute(status=status):
                return pages.refused_page(status, texts, portal=self._portal())

    async def _show_missed_page(
        self, call: BackRoute, flow: http.HTTPFlow, client: str
    ) -> RenderedPage | None:
        """The repair page, if the portal redirect ends here; None if it leads back."""
        url, seal = split_mark(call.url)
        missed = self._portal_redirects.open_seal(url, seal, client) if seal is not None else None
        if missed is None or not missed.at_portal:
            return None
        if not is_navigation(flow.request.method, header_list(flow.request.headers)):
            return None
        return await self._show_missed(flow, url, missed)

    def _note_choice(self, call: ChoiceRoute, flow: http.HTTPFlow, client: str) -> None:
        network = self._hasher.hash(network_of(flow.client_conn.peername[0]))
        self._misses.record_choice(call.miss_id, call.number, client=client, network=network)

    async def _search(self, call: SearchRoute, texts: Catalogue, client: str) -> RenderedPage:
        asked = SearchRequest(
            text=call.query, topic=call.topic, language=call.language, kind=call.kind, page=call.page
        )
        lists = await self._browse(self._browser.start_page(), "search")
        async with asyncio.timeout(self.deadline_s):
            results = await self._browser.find(asked) if call.query.strip() else SearchResults()
        if call.page == 1 and (words := unanswered_words(call.query, results.found)) is not None:
            self._misses.record_search(words, client=client)
        return browsepages.search_page(call, results, lists, texts, portal=self._portal())

    async def _browse(self, asked: Awaitable[T], kind: str) -> T:
        """The backend's answer in time; pages of this kind are counted. Raises TimeoutError."""
        self._metrics.count_portal(kind)
        async with asyncio.timeout(self.deadline_s):
            return await asked

    def _trusts(self, flow: http.HTTPFlow) -> bool:
        """Whether the visitor's device is known to trust our certificate: it came by https, or has done so today."""
        return flow.request.scheme == "https" or self._metrics.trust.trusts(
            self._hasher.hash(flow.client_conn.peername[0])
        )

    async def _copy(self, url: str, texts: Catalogue) -> RenderedPage:
        copy = await self._collection.copy(url)
        if copy is not None:
            marks = await self._marker.marks(url)
            return await asyncio.to_thread(copy_page, copy, texts, marks)
        page = await self._collection.page(url)
        if page is not None:
            return pages.reading_page(page, texts, portal=self._portal())
        return pages.missing_copy_page(url, texts, portal=self._portal())

    async def _show_archived(
        self, call: ArchivedRoute, flow: http.HTTPFlow, texts: Catalogue
    ) -> RenderedPage:
        return await self._own_archive.answer(
            call.target,
            base=call.base,
            client=flow.client_conn.peername[0],
            accept=flow.request.headers.get("accept", ""),
            accept_datetime=flow.request.headers.get("accept-datetime"),
            texts=texts,
        )

    async def _certificate(self, form: CertificateForm, texts: Catalogue) -> RenderedPage:
        # The file also exists with its key (mitmproxy-ca.pem): only the certificate is ever read here.
        note = str(texts("device.profile_note"))
        return portal.certificate_page(await asyncio.to_thread(certificate, self._ca, form, note=note), form)


def _is_for_us(flow: http.HTTPFlow) -> bool:
    """Whether a request is to the very address that its client reached us at. A name would not do: anybody may give
    our address to a name of theirs, and their pages could then read what we answer."""
    host, port = flow.client_conn.sockname[:2]
    return (
        flow.request.port == port
        and flow.request.scheme == "http"
        and flow.request.host == host.removeprefix("::ffff:")
    )
