"""Marks the links of stored pages while there is no internet: those that lead nowhere, and those with a replacement.

Only whole pages that the cache answers are marked, and only then: pages that sites send are passed on as they are.
Saved copies are marked where they are made (`proxy.pages.copies`).
"""

import asyncio
from collections.abc import Callable

from mitmproxy import http

from addons.flows import body_of, is_navigation_of, page_of, replace_body, url_of
from addons.flowstate import AnsweredBy, state_of
from addons.rules import is_left_alone
from proxy.pages.language import choose
from proxy.pages.linkmarks import with_marks
from proxy.portal.linkmarking import LinkMarker
from repair.detect import is_document
from repair.parse.decode import identity_body

_MAX_BYTES = 3 * 1024 * 1024
_CONDITIONS = ("if-none-match", "if-modified-since")


class OfflineLinkMarks:
    """Marks links in what the cache answers to a person's navigation."""

    def __init__(self, marker: LinkMarker, offline: Callable[[], bool]) -> None:
        self._marker = marker
        self._offline = offline

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if self._offline() and self._marker.enabled and is_navigation_of(flow):
            for name in _CONDITIONS:  # a page that the browser holds already would come without marks
                flow.request.headers.pop(name, None)

    def response_now(self, flow: http.HTTPFlow) -> bool:
        """Nearly always: nothing to mark."""
        return not (self._offline() and state_of(flow).answered_by is AnsweredBy.CACHE)

    async def response(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        if self.response_now(flow) or response is None or response.status_code != 200 or response.stream:
            return
        if not is_navigation_of(flow) or is_left_alone(flow):
            return
        page = page_of(flow)
        body = identity_body(page, _MAX_BYTES) if body_of(flow) and is_document(page) else None
        marks = await self._marker.marks(url_of(flow)) if body is not None else ()
        if body is None or not marks:
            return
        texts = choose(flow.request.headers.get("accept-language"))
        content_type = page.header("content-type") or ""
        marked = await asyncio.to_thread(with_marks, body, content_type, page.url, marks, texts)
        if marked is not None:
            replace_body(response, marked)
