"""One link, tried as the class will see it: the rules, the way there, the answer, and what it really is.

A check is one request that a teacher asked for, as if they opened the page: like a browser's, it does not read
robots.txt, but it takes turns at each host. Every hop passes the rules and the guard of the client.
"""

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from msgspec.structs import replace

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.politeness import HostSlots
from proxy.http.client import HttpClient
from proxy.http.errors import (
    ForbiddenTarget,
    InvalidRedirect,
    InvalidTarget,
    NoConnection,
    UntrustedCertificate,
)
from proxy.http.redirects import follow_redirects
from proxy.lessons.model import CheckState, LinkFinding
from proxy.rules.model import RuleAction, RuleQuery, RuleVerdict
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings
from repair.detect import is_document, miss_kind
from repair.fetch import FetchError, FetchLimits, TooLarge
from repair.model import MissKind, Page
from repair.soft404.detector import Soft404Detector
from repair.soft404.judge import PageKind
from repair.text import urls

MAX_REDIRECTS = 10
_HEADERS = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, br"}
_LOGIN_PATH = re.compile(
    r"/(?:log-?in|sign-?in|sso|saml2?|oauth2?|cas|auth(?:enticate|orize)?)(?:[/.?]|\Z)", re.IGNORECASE
)
_REFUSED_BY_HOST = "111"  # ECONNREFUSED, as Squid tells it
_NOT_FOR_ALL = frozenset((401, 403, 407, 451))
_ANY_DEVICE = "198.51.100.7"  # for documentation (RFC 5737)
_MAX_NETWORKS = 50


class _Blocked(Exception):
    def __init__(self, verdict: RuleVerdict) -> None:
        super().__init__(verdict.rule)
        self.verdict = verdict


class LinkChecker:
    """Checks addresses under the settings and rules of the moment. For one event loop."""

    def __init__(
        self,
        client: HttpClient,
        slots: HostSlots,
        detector: Soft404Detector,
        connectivity: Connectivity,
        *,
        rules: Callable[[], RuleSet],
        settings: Callable[[], Settings],
        behind_parent: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._slots = slots
        self._detector = detector
        self._connectivity = connectivity
        self._rules = rules
        self._settings = settings
        self._behind_parent = behind_parent

    async def check(self, url: str) -> LinkFinding:
        """What is at an address."""
        if self._settings().proxy.offline:
            return LinkFinding(state=CheckState.UNKNOWN, kind=MissKind.OFFLINE)
        try:
            page, hops = await follow_redirects(self._get, url, limit=MAX_REDIRECTS)
        except _Blocked as blocked:
            return LinkFinding(
                state=CheckState.BLOCKED, rule=blocked.verdict.rule, detail=blocked.verdict.reason[:300]
            )
        except FetchError as error:
            return self._failure(error)
        return await self._judge(url, page, hops)

    async def fetch_page(self, url: str) -> Page:
        """A whole page, redirects followed, to read its links. Raises FetchError."""
        try:
            return (await follow_redirects(self._get, url, limit=MAX_REDIRECTS))[0]
        except _Blocked as blocked:
            raise ForbiddenTarget(f"blocked by the rule {blocked.verdict.rule!r}") from blocked

    def _check_rules(self, url: str) -> None:
        """Raises _Blocked when the page is blocked now, for the devices of any network."""
        host = urls.parse(url).host.removeprefix("[").removesuffix("]")
        now, rules = datetime.now().astimezone(), self._rules()
        for client in _one_of_each_network(rules):
            verdict = rules.on_request(RuleQuery(url=url, host=host, client=client, at=now))
            if verdict.action is RuleAction.BLOCK:
                raise _Blocked(verdict)

    async def _get(self, url: str) -> Page:
        settings = self._settings().teach
        self._check_rules(url)
        limits = FetchLimits(max_bytes=settings.max_page_bytes, timeout_s=settings.timeout_s)
        async with self._slots.at(urls.parse(url).authority, pause_s=settings.pause_s):
            page = await self._client.get(url, limits=limits, headers=_HEADERS)
        fault = page.header("x-squid-error") if self._behind_parent() else None
        if fault is not None and not fault.endswith(_REFUSED_BY_HOST):
            raise NoConnection(f"the parent proxy could not reach the site: {fault[:80]}")
        self._connectivity.note_answer(time.monotonic())
        return page

    def _failure(self, error: FetchError) -> LinkFinding:
        """What a request without an answer means for the class."""
        detail = str(error)[:200]
        match error:
            case TooLarge():
                most = self._settings().teach.max_page_bytes
                return LinkFinding(state=CheckState.WORKS, size=most, larger=True)
            case ForbiddenTarget() | InvalidTarget():
                return LinkFinding(state=CheckState.FORBIDDEN, detail=detail)
            case UntrustedCertificate():
                return LinkFinding(state=CheckState.DEAD, kind=MissKind.TLS, detail=detail)
            case InvalidRedirect():
                return LinkFinding(state=CheckState.DEAD, kind=MissKind.UNREACHABLE, detail=detail)
            case NoConnection():
                if self._connectivity.note_silence(time.monotonic()):
                    return LinkFinding(state=CheckState.UNKNOWN, kind=MissKind.OFFLINE, detail=detail)
                return LinkFinding(state=CheckState.DEAD, kind=MissKind.UNREACHABLE, detail=detail)
        if isinstance(error.__cause__, TimeoutError):
            return LinkFinding(state=CheckState.TROUBLE, kind=MissKind.TIMEOUT, detail=detail)
        return LinkFinding(state=CheckState.DEAD, kind=MissKind.UNREACHABLE, detail=detail)

    async def _judge(self, url: str, page: Page, hops: tuple[Page, ...]) -> LinkFinding:
        moved = _is_elsewhere(url, page.url)
        found = LinkFinding(
            state=CheckState.REDIRECTED if moved else CheckState.WORKS,
            status=page.status,
            final_url=page.url if moved else "",
            size=len(page.body),
        )
        at_login = bool(hops) and _LOGIN_PATH.search(page.url.partition("?")[0]) is not None
        if page.status in _NOT_FOR_ALL or at_login:
            return replace(found, state=CheckState.LOGIN)
        kind = miss_kind(page.status)
        if kind is not None:
            if kind is not MissKind.SERVER_ERROR and is_document(page):
                await self._detector.learn_error_page(page)
            dead = kind is not MissKind.SERVER_ERROR
            return replace(found, state=CheckState.DEAD if dead else CheckState.TROUBLE, kind=kind)
        if page.status >= 400:
            return replace(found, state=CheckState.TROUBLE, kind=MissKind.SERVER_ERROR)
        settings = self._settings().soft404
        if not is_document(page) or not settings.enabled:
            return found
        seen = await self._detector.find(
            page, redirected_from=url if hops else None, budget_s=settings.budget_s
        )
        if seen.miss is not None:
            return replace(found, state=CheckState.SOFT_404, kind=seen.miss)
        return replace(found, state=CheckState.LOGIN) if seen.judgement.kind is PageKind.LOGIN else found


def _one_of_each_network(rules: RuleSet) -> Iterator[str]:
    """The address of a device that no rule singles out, and one in each network that a rule names."""
    yield _ANY_DEVICE
    named = (rule.when.clients for rule in rules.rules if rule.when.clients is not None)
    for network in islice((each for networks in named for each in networks.networks), _MAX_NETWORKS):
        yield network.text.partition("/")[0]


def _is_elsewhere(url: str, final: str) -> bool:
    """Whether a redirect led to another page, and not only to https, to www or to the same path with a slash."""
    return _bare(url) != _bare(final)


def _bare(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").partition("#")[0].rstrip("/")
