"""Judges pages with status 200 before the user sees them: real pages, or error pages (soft 404s)?

It comes before the harvest, which saves no error pages, and the repair, which answers them. If anything fails here,
the user gets the page. Streamed bodies are not judged.
"""

import asyncio
from collections.abc import Callable

from mitmproxy import http

from addons.connections import is_unshared
from addons.flows import is_navigation_of, named_truly, page_of, request_of, url_of
from addons.flowstate import AnsweredBy, is_from_origin, state_of
from addons.rules import is_left_alone, verdict_of
from proxy.headers.navigation import asks_for_repair
from proxy.privacy.clients import ClientHasher
from proxy.privacy.suppressed import SuppressedPage, SuppressedPages
from repair.detect import is_document
from repair.model import JUDGED, Page
from repair.settings import Soft404Settings
from repair.soft404.detector import Soft404Detector, Soft404Finding
from repair.soft404.judge import PageKind
from repair.soft404.redirects import RecentRedirects

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_KEPT = frozenset((PageKind.ORDINARY, PageKind.SHELL))


class Soft404:
    """Judges pages that users open, and lets a user see a suppressed page."""

    def __init__(
        self,
        settings: Soft404Settings,
        detector: Soft404Detector,
        *,
        hasher: ClientHasher,
        suppressed: SuppressedPages,
        redirects: RecentRedirects,
        offline: Callable[[], bool],
    ) -> None:
        self.settings = settings
        self._detector = detector
        self._hasher = hasher
        self._suppressed = suppressed
        self._offline = offline
        self._redirects = redirects

    def response_now(self, flow: http.HTTPFlow) -> bool:
        """Nothing to look at, or a page that came again unchanged."""
        response = flow.response
        if response is None or not self._looks_at(flow):
            return True
        if response.status_code in (404, 410):
            return not is_from_origin(flow)
        if response.status_code != 200:
            return response.status_code not in _REDIRECTS
        page = page_of(flow)
        if not is_document(page):
            return True
        if self.was_redirected(flow.client_conn.peername[0], page.url):
            return False
        found = self._detector.recent_finding(page) or self._detector.find_at_once(page)
        if found is None:
            return False
        self._note(flow, page, found, None)
        return True

    async def response(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if response is None or not self._looks_at(flow):
            return
        client = self._hasher.hash(flow.client_conn.peername[0])
        if response.status_code in _REDIRECTS:
            self._redirects.note(client, url_of(flow), response.headers.get("location", ""))
        elif response.status_code in (404, 410) and is_from_origin(flow):
            await self._detector.learn_error_page(page_of(flow))
        elif response.status_code == 200:
            await self._judge(flow, self._redirects.pop_origin(client, url_of(flow)))

    async def _judge(self, flow: http.HTTPFlow, redirected_from: str | None) -> None:
        page = page_of(flow)
        if not is_document(page):
            return
        found = await self._detector.find(
            page, redirected_from=redirected_from, budget_s=self._budget_s(flow)
        )
        self._note(flow, page, found, redirected_from)

    def _note(
        self, flow: http.HTTPFlow, page: Page, found: Soft404Finding, redirected_from: str | None
    ) -> None:
        state_of(flow).finding = found
        if found.miss is not None:
            missed = redirected_from if redirected_from is not None and found.why == "redirect" else page.url
            state_of(flow).suppressed = SuppressedPage(
                kind=found.miss, missed=missed, url=page.url, sketch=found.sketch
            )

    def _looks_at(self, flow: http.HTTPFlow) -> bool:
        return self.settings.enabled and _is_page_of_a_site(flow) and not is_left_alone(flow)

    def judges(self) -> bool:
        """Whether pages are looked at at all."""
        return self.settings.enabled

    def was_redirected(self, address: str, url: str) -> bool:
        """Whether the client at this address was sent to `url` a moment ago."""
        return self._redirects.has_origin(self._hasher.hash(address), url)

    def _budget_s(self, flow: http.HTTPFlow) -> float:
        return 0.0 if self._offline() or verdict_of(flow).offline_only else self.settings.budget_s

    async def show_anyway(self, miss_id: str, client: str) -> str | None:
        """The address of a suppressed page; None when it was another client's.

        A page taken for an error page is shown from now on; the error page of a site, to this client for a minute.
        """
        page = self._suppressed.of(miss_id, client)
        if page is None:
            return None
        if page.kind not in JUDGED:
            self._suppressed.give_leave(client, page.url)
            await asyncio.sleep(
                self._suppressed.update_delay_s
            )  # a browser follows at once, perhaps elsewhere
            return page.url
        # After a redirect, the page itself is innocent: it was the address that was vouched for.
        sketch = page.sketch if page.missed == page.url else ()
        await self._detector.vouch(page.missed, sketch)
        return page.url

    async def done(self) -> None:
        await self._detector.close()


def is_worth_keeping(flow: http.HTTPFlow) -> bool:
    """Whether the page may be held and offered to others: no error page, login or building site."""
    found = state_of(flow).finding
    return found is None or (found.miss is None and found.judgement.kind in _KEPT)


def _is_page_of_a_site(flow: http.HTTPFlow) -> bool:
    """Whether a person (or a program that would take JSON) waits for this answer, and it is the site's own."""
    if flow.response is None or flow.response.stream or flow.is_replay is not None:
        return False
    if (
        state_of(flow).answered_by not in (None, AnsweredBy.CACHE)
        or flow.request.method != "GET"
        or not named_truly(flow)
    ):
        return False
    if is_unshared(flow):
        return False  # what is learnt of a site is used for everybody
    request = request_of(flow)
    return is_navigation_of(flow) or asks_for_repair(request.method, request.headers)
