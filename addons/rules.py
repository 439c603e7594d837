"""Applies the admin's rules: each flow gets its verdict, and blocks and redirects are answered here.

The verdict is in the flow's state, where the cache, the harvest and the repair read it (`verdict_of`). It is computed
with the request headers, before an upload starts, and again when more is known about the response.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from mitmproxy import http

from addons.flows import claimed_urls, host_of, named_truly, request_of, url_of, write_page
from addons.flowstate import AnsweredBy, state_of
from proxy.headers.navigation import asks_for_repair
from proxy.pages.language import choose
from proxy.pages.render import RenderedPage
from proxy.pages.rulepages import blocked_page, plain_block, rule_redirect
from proxy.portal.addresses import PORTAL_HOST, PREFIX
from proxy.rules.model import NO_RULE, RuleAction, RuleVerdict
from proxy.rules.verdictcache import VerdictCache
from repair.model import MissKind
from repair.text import urls


def verdict_of(flow: http.HTTPFlow) -> RuleVerdict:
    """What the rules say of a flow; NO_RULE where none has a say."""
    return state_of(flow).verdict or NO_RULE


def is_left_alone(flow: http.HTTPFlow) -> bool:
    """Whether a rule wants the answer as it came."""
    return verdict_of(flow).action in (RuleAction.PASS, RuleAction.BYPASS)


class Rules:
    """Asks the rules about every request, and blocks or redirects what they say."""

    def __init__(
        self,
        verdicts: VerdictCache,
        *,
        portal: Callable[[], bool],
    ) -> None:
        self._verdicts = verdicts
        self._portal = portal

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not self._verdicts or flow.request.method == "CONNECT" or _is_ours(flow):
            return
        rule_query = (url_of(flow), host_of(flow), flow.client_conn.peername[0])
        state_of(flow).rule_query = rule_query
        state_of(flow).verdict = self._on_claims(flow, rule_query[2]) or self._verdicts.on_request(
            *rule_query
        )

    def _on_claims(self, flow: http.HTTPFlow, client: str) -> RuleVerdict | None:
        """A block of another site that the request names: where many share a server, that one would answer."""
        if named_truly(flow):
            return None  # nearly always
        for url in claimed_urls(flow):
            host = urlsplit(url).hostname or "" if urls.is_web_url(url) else ""
            verdict = self._verdicts.on_request(url, host, client) if host else NO_RULE
            if verdict.action is RuleAction.BLOCK:
                return verdict
        return None

    def request(self, flow: http.HTTPFlow) -> None:
        page = self._instead(flow) if flow.response is None and state_of(flow).verdict is not None else None
        if page is not None:
            write_page(flow, page, by=AnsweredBy.RULE)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """By now the content type is known, and rules about it count, for the cache above all."""
        ours = state_of(flow).answered_by
        if flow.response is None or state_of(flow).verdict is None or ours not in (None, AnsweredBy.CACHE):
            return
        if ours is AnsweredBy.CACHE and flow.response.raw_content is not None:
            return  # from memory: RulesForStored deals with it
        self._again(flow, None)
        page = self._instead(flow)
        if page is not None:
            write_page(flow, page, by=AnsweredBy.RULE, also=(("Connection", "close"),))
            flow.response.stream = _in_place_of(flow.response.raw_content or b"")

    def on_held(self, flow: http.HTTPFlow) -> None:
        """Ask again about a flow that is answered with what was held."""
        self._again(flow, None)
        page = self._instead(flow)
        if page is not None:
            write_page(flow, page, by=AnsweredBy.RULE)

    def on_miss(self, flow: http.HTTPFlow, kind: MissKind) -> RenderedPage | None:
        """Ask again about a flow whose answer is a miss; what a rule answers itself, None for nothing."""
        self._again(flow, kind)
        return self._instead(flow)

    def _again(self, flow: http.HTTPFlow, miss: MissKind | None) -> RuleVerdict:
        rule_query = state_of(flow).rule_query
        if rule_query is not None:
            kind = flow.response.headers.get("content-type", "") if flow.response else ""
            state_of(flow).verdict = self._verdicts.on_response(*rule_query, miss=miss, content_type=kind)
        return verdict_of(flow)

    def _instead(self, flow: http.HTTPFlow) -> RenderedPage | None:
        verdict = verdict_of(flow)
        if verdict.action is RuleAction.BLOCK:
            return self._block_page(flow, verdict.reason)
        if verdict.redirect_to not in ("", url_of(flow)) and flow.request.method in ("GET", "HEAD"):
            return rule_redirect(verdict.redirect_to)
        return None

    def _block_page(self, flow: http.HTTPFlow, reason: str) -> RenderedPage:
        request = request_of(flow)
        if not asks_for_repair(request.method, request.headers):
            return plain_block(url_of(flow), reason)
        texts = choose(flow.request.headers.get("accept-language"))
        return blocked_page(url_of(flow), reason, texts, portal=self._portal())


class RulesForStored:
    """Applies rules about content types to responses from the cache; so it comes after the cache."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def response(self, flow: http.HTTPFlow) -> None:
        if (
            state_of(flow).rule_query is not None
            and state_of(flow).answered_by is AnsweredBy.CACHE
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
