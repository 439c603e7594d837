"""Lets what passes feed the collection, behind the answer, when nothing about it is private: pages and moves."""

import hashlib
from functools import partial

from mitmproxy import http

from addons.connections import is_unshared
from addons.flows import header_list, is_navigation_of, named_truly, page_of, request_of
from addons.flowstate import is_from_origin, state_of
from addons.rules import verdict_of
from addons.soft404 import is_worth_keeping
from proxy.headers.personal import is_personal
from proxy.messages import CacheRequest
from proxy.privacy.clients import ClientHasher
from proxy.privacy.harvestpolicy import may_harvest
from proxy.privacy.recentpages import RecentPages
from proxy.privacy.seencontent import SeenContent
from proxy.rpc.protocol import HarvestService
from proxy.settings import HarvestSettings
from repair.parse.formats.kinds import kind_of
from repair.secrets.addresses import has_secret
from repair.text import urls

_PERMANENT = (301, 308)


class Harvest:
    """Offers shareable documents to the harvester, tells of pages that moved for good, remembers what clients opened.

    It comes after the cache and before the repair: what it sees is what the origin said.
    """

    def __init__(
        self,
        settings: HarvestSettings,
        harvest: HarvestService,
        *,
        recent_pages: RecentPages,
        hasher: ClientHasher,
        max_bytes: int,
        harmless_fields: tuple[str, ...] = (),
    ) -> None:
        self.settings = settings
        self._harvest = harvest
        self._recent_pages = recent_pages
        self._hasher = hasher
        self._max_bytes = max_bytes
        self._harmless = harmless_fields
        self._seen = SeenContent()

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.response is None or flow.is_replay or not verdict_of(flow).index or is_unshared(flow):
            return
        if flow.response.status_code in _PERMANENT:
            self._note_move(flow)
        if flow.response.status_code != 200 or not is_worth_keeping(flow):
            return
        # A page that was passed on unread was not judged.
        if flow.response.stream and not _is_kept_file(flow):
            return
        request = request_of(flow)
        if not is_navigation_of(flow) or not named_truly(flow):
            return
        self._recent_pages.note_page(self._hasher.hash(flow.client_conn.peername[0]), request.url)
        if self.settings.enabled and is_from_origin(flow) and request.method == "GET":
            self._offer(flow, request)

    def _note_move(self, flow: http.HTTPFlow) -> None:
        """A document that moved for good, as the site tells everybody."""
        request, response = request_of(flow), flow.response
        location = response.headers.get("location") if response else None
        if (
            not location
            or not self.settings.enabled
            or not is_from_origin(flow)
            or not is_navigation_of(flow)
            or not named_truly(flow)
        ):
            return
        # A redirect is judged like the page that it replaces.
        response_headers = header_list(response.headers) if response else ()
        shared = may_harvest(
            request, response_headers, status=200, seen_without_cookie=False, harmless=self._harmless
        ).allowed
        new = urls.resolve(request.url, location) if shared else None
        if new is not None and not has_secret(new):
            self._harvest.note_redirect(request.url, new)

    def _offer(self, flow: http.HTTPFlow, request: CacheRequest) -> None:
        page = page_of(flow)
        judged = partial(may_harvest, request, page.headers, status=page.status, harmless=self._harmless)
        # Most refusals depend on headers only, so the body is hashed last.
        if len(page.body) > self._max_bytes or not judged(seen_without_cookie=True).allowed:
            return
        headers = request.headers
        # A request with a token is as personal as one with a cookie: neither proves that a page is public.
        cookie = "; ".join(value for name, value in headers if is_personal(name.lower())) or None
        shared = self._seen.note(page.url, hashlib.blake2b(page.body, digest_size=16).digest(), cookie)
        if shared or judged(seen_without_cookie=False).allowed:
            self._harvest.offer(page)


def _is_kept_file(flow: http.HTTPFlow) -> bool:
    """Whether the response is a PDF or the like that was passed on as it came, and its bytes were kept."""
    return state_of(flow).kept_body is not None and kind_of(page_of(flow)) is not None
