"""Looks at pages answered 200 before a person sees them: are they there, or do they only say so?

It stands before the harvest, which keeps no error pages, and the repair, which answers what is found here. Whatever
fails here, the reader gets the page. Bodies that are passed on while they arrive have gone by and are not judged.
"""

from collections.abc import Callable

from mitmproxy import http

from addons.connections import is_unshared
from addons.flows import OURS, is_navigation_of, named_truly, page_of, request_of, url_of
from addons.rules import is_left_alone, verdict_of
from proxy.readers.clients import ClientHasher
from proxy.readers.navigation import asks_for_repair
from proxy.readers.withheld import Withheld, WithheldPages
from repair.detect import is_document
from repair.model import Page
from repair.settings import Soft404Settings
from repair.soft404.detector import Detector, Finding
from repair.soft404.judge import PageKind
from repair.soft404.redirects import RecentRedirects

FINDING = "linkmend_soft404"
"""Metadata: the `Finding` about the page."""
WITHHELD = "linkmend_withheld"
"""Metadata: the `Withheld` page, when it is to be answered with a repair page."""

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_KEPT = frozenset((PageKind.ORDINARY, PageKind.SHELL))


class Soft404:
    """Judges documents that a person opens, and lets a reader see what was withheld."""

    def __init__(
        self,
        settings: Soft404Settings,
        detector: Detector,
        *,
        hasher: ClientHasher,
        withheld: WithheldPages,
        redirects: RecentRedirects,
        offline: Callable[[], bool],
    ) -> None:
        self.settings = settings
        self._detector = detector
        self._hasher = hasher
        self._withheld = withheld
        self._offline = offline
        self._redirects = redirects

    def response_now(self, flow: http.HTTPFlow) -> bool:
        """Nothing to look at, or a page that came again unchanged."""
        response = flow.response
        if response is None or not self._looks_at(flow):
            return True
        if response.status_code in (404, 410):
            return OURS in flow.metadata
        if response.status_code != 200:
            return response.status_code not in _REDIRECTS
        page = page_of(flow)
        if not is_document(page):
            return True
        found = self._detector.settled(page)
        if found is None or self.was_redirected(flow.client_conn.peername[0], page.url):
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
        elif response.status_code in (404, 410) and OURS not in flow.metadata:
            await self._detector.learn_error_page(page_of(flow))
        elif response.status_code == 200:
            await self._judge(flow, self._redirects.taken(client, url_of(flow)))

    async def _judge(self, flow: http.HTTPFlow, asked: str | None) -> None:
        page = page_of(flow)
        if not is_document(page):
            return
        found = await self._detector.find(page, asked=asked, budget_s=self._budget_s(flow))
        self._note(flow, page, found, asked)

    def _note(self, flow: http.HTTPFlow, page: Page, found: Finding, asked: str | None) -> None:
        flow.metadata[FINDING] = found
        if found.miss is not None:
            missed = asked if asked is not None and found.why == "redirect" else page.url
            flow.metadata[WITHHELD] = Withheld(
                kind=found.miss, missed=missed, url=page.url, sketch=found.sketch
            )

    def _looks_at(self, flow: http.HTTPFlow) -> bool:
        return self.settings.enabled and _is_page_of_a_site(flow) and not is_left_alone(flow)

    def judges(self) -> bool:
        """Whether pages are looked at at all."""
        return self.settings.enabled

    def was_redirected(self, address: str, url: str) -> bool:
        """Whether the client at this address was sent to `url` a moment ago."""
        return self._redirects.awaits(self._hasher.hash(address), url)

    def _budget_s(self, flow: http.HTTPFlow) -> float:
        return 0.0 if self._offline() or verdict_of(flow).offline_only else self.settings.budget_s

    async def show_anyway(self, miss_id: str, client: str) -> str | None:
        """A reader wants to see the page: where it is, from now on unjudged. None when it was not theirs to see."""
        page = self._withheld.of(miss_id, client)
        if page is None:
            return None
        # After a redirect, the page itself is innocent: it was the address that was vouched for.
        sketch = page.sketch if page.missed == page.url else ()
        await self._detector.vouch(page.missed, sketch)
        return page.url

    async def done(self) -> None:
        await self._detector.close()


def is_worth_keeping(flow: http.HTTPFlow) -> bool:
    """Whether the page may be held and offered to others: no error page, login or building site."""
    found = flow.metadata.get(FINDING)
    return not isinstance(found, Finding) or (found.miss is None and found.judgement.kind in _KEPT)


def withheld_of(flow: http.HTTPFlow) -> Withheld | None:
    page = flow.metadata.get(WITHHELD)
    return page if isinstance(page, Withheld) else None


def _is_page_of_a_site(flow: http.HTTPFlow) -> bool:
    """Whether a person (or a program that would take JSON) waits for this answer, and it is the site's own."""
    if flow.response is None or flow.response.stream or flow.is_replay is not None:
        return False
    if flow.metadata.get(OURS) not in (None, "hit") or flow.request.method != "GET" or not named_truly(flow):
        return False
    if is_unshared(flow):
        return False  # what is learnt of a site is used for everybody
    request = request_of(flow)
    return is_navigation_of(flow) or asks_for_repair(request.method, request.headers)
