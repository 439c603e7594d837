"""The admin's rules in the proxy's path: each flow gets its verdict, and what a rule answers itself is answered here.

The verdict stands in the flow's metadata, where the cache, the harvest and the repair find it (`verdict_of`). It is
given with the request's headers, before an upload is on its way, and again when more is known of the answer.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from mitmproxy import http

from addons.flows import OURS, claimed_urls, host_of, named_truly, request_of, url_of, write_page
from proxy.pages.language import choose
from proxy.pages.render import RenderedPage
from proxy.pages.rulepages import blocked_page, led_elsewhere, plain_block
from proxy.portal.helper import PORTAL_HOST, PREFIX
from proxy.readers.navigation import asks_for_repair
from proxy.rules.model import NO_RULE, Action, Verdict
from proxy.rules.remembered import RememberedVerdicts
from repair import urls
from repair.model import MissKind

VERDICT = "linkmend_verdict"
"""Metadata: the `Verdict` of the rules; absent where none has a say."""
_ASKED = "linkmend_asked"
"""Metadata: what the rules were asked, so that they can be asked again."""


def verdict_of(flow: http.HTTPFlow) -> Verdict:
    verdict = flow.metadata.get(VERDICT)
    return verdict if isinstance(verdict, Verdict) else NO_RULE


def is_left_alone(flow: http.HTTPFlow) -> bool:
    """Whether a rule wants the answer as it came."""
    return verdict_of(flow).action in (Action.PASS, Action.BYPASS)


class Rules:
    """Asks the rules about every request, and blocks or redirects what they say."""

    def __init__(
        self,
        verdicts: RememberedVerdicts,
        *,
        portal: Callable[[], bool],
    ) -> None:
        self._verdicts = verdicts
        self._portal = portal

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._verdicts or flow.request.method == "CONNECT" or _is_ours(flow):
            return
        asked = (url_of(flow), host_of(flow), flow.client_conn.peername[0])
        flow.metadata[_ASKED] = asked
        flow.metadata[VERDICT] = self._on_claims(flow, asked[2]) or self._verdicts.on_request(*asked)

    def _on_claims(self, flow: http.HTTPFlow, client: str) -> Verdict | None:
        """A block of another site that the request names: where many share a server, that one would answer."""
        if named_truly(flow):
            return None  # nearly always
        for url in claimed_urls(flow):
            host = urlsplit(url).hostname or "" if urls.is_web_url(url) else ""
            verdict = self._verdicts.on_request(url, host, client) if host else NO_RULE
            if verdict.action is Action.BLOCK:
                return verdict
        return None

    def request(self, flow: http.HTTPFlow) -> None:
        page = self._instead(flow) if flow.response is None and VERDICT in flow.metadata else None
        if page is not None:
            write_page(flow, page, ours="rule")

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """By now the content type is known, and rules about it count, for the cache above all."""
        ours = flow.metadata.get(OURS)
        if flow.response is None or VERDICT not in flow.metadata or ours not in (None, "hit"):
            return
        if ours == "hit" and flow.response.raw_content is not None:
            return  # out of memory, and Held's
        self._again(flow, None)
        page = self._instead(flow)
        if page is not None:
            write_page(flow, page, ours="rule", also=(("Connection", "close"),))
            flow.response.stream = _in_place_of(flow.response.raw_content or b"")

    def on_held(self, flow: http.HTTPFlow) -> None:
        """Ask again about a flow that is answered with what was held."""
        self._again(flow, None)
        page = self._instead(flow)
        if page is not None:
            write_page(flow, page, ours="rule")

    def on_miss(self, flow: http.HTTPFlow, kind: MissKind) -> RenderedPage | None:
        """Ask again about a flow whose answer is a miss; what a rule answers itself, None for nothing."""
        self._again(flow, kind)
        return self._instead(flow)

    def _again(self, flow: http.HTTPFlow, miss: MissKind | None) -> Verdict:
        asked = flow.metadata.get(_ASKED)
        if asked is not None:
            kind = flow.response.headers.get("content-type", "") if flow.response else ""
            flow.metadata[VERDICT] = self._verdicts.on_response(*asked, miss=miss, content_type=kind)
        return verdict_of(flow)

    def _instead(self, flow: http.HTTPFlow) -> RenderedPage | None:
        verdict = verdict_of(flow)
        if verdict.action is Action.BLOCK:
            return self._blocked(flow, verdict.reason)
        if verdict.redirect_to not in ("", url_of(flow)) and flow.request.method in ("GET", "HEAD"):
            return led_elsewhere(verdict.redirect_to)
        return None

    def _blocked(self, flow: http.HTTPFlow, reason: str) -> RenderedPage:
        request = request_of(flow)
        if not asks_for_repair(request.method, request.headers):
            return plain_block(url_of(flow), reason)
        texts = choose(flow.request.headers.get("accept-language"))
        return blocked_page(url_of(flow), reason, texts, portal=self._portal())


class Held:
    """Has rules about the content type count for what the cache put in an answer's place: it stands after it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def response(self, flow: http.HTTPFlow) -> None:
        if (
            _ASKED in flow.metadata
            and flow.metadata.get(OURS) == "hit"
            and not (flow.response and flow.response.stream)
        ):
            self._rules.on_held(flow)


def _in_place_of(body: bytes) -> Callable[[bytes], bytes]:
    """Passes on `body` and none of what comes: a film that a rule keeps out is never held in memory."""
    pieces = [body]

    def passed(chunk: bytes) -> bytes:
        return pieces.pop() if pieces else b""

    return passed


def _is_ours(flow: http.HTTPFlow) -> bool:
    """The pages of linkmend itself stay within reach, whatever the rules say."""
    return flow.request.path.startswith(PREFIX) or flow.request.host == PORTAL_HOST
