"""Matches rules against requests: the conditions of a rule as checks, each of which returns the matching entry."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from proxy.rules.domains import normal_host
from proxy.rules.model import Rule, RuleStage
from proxy.rules.patterns import UrlPattern
from repair.model import MissKind
from repair.text import urls

_ORDER = tuple(RuleStage)
_LONGEST = (
    100_000  # more than any request line that we take: what is too long for others is not past the rules
)
_ROOT_DOT = re.compile(r"\A(https?://[^/:\[]+?)\.+(?=[/:])")


class RequestFacts:
    """The facts about a request at one stage; normalises the address only when a rule needs it."""

    __slots__ = ("_normal_url", "at", "client", "content_type", "host", "miss", "url")

    def __init__(
        self,
        *,
        host: str,
        client: str,
        at: datetime,
        url: str = "",
        miss: MissKind | None = None,
        content_type: str = "",
    ) -> None:
        self.host = normal_host(host)
        self.client = client
        self.at = at
        self.url = url
        self.miss = miss
        self.content_type = content_type
        self._normal_url: str | None = None

    @property
    def normal_url(self) -> str:
        """The normalised address, or the address as it is if it has no normal form."""
        if self._normal_url is None:
            try:
                self._normal_url = _without_root_dot(urls.normal(self.url, most=_LONGEST))
            except ValueError:
                self._normal_url = self.url[:_LONGEST]
        return self._normal_url

    def with_url(self, url: str) -> "RequestFacts":
        """The same facts with another spelling of the address."""
        return RequestFacts(
            host=self.host,
            client=self.client,
            at=self.at,
            url=url,
            miss=self.miss,
            content_type=self.content_type,
        )


class RuleCheck(NamedTuple):
    """One condition of a rule: its key, the first stage at which it can be evaluated, and the match function."""

    key: str
    stage: RuleStage
    entry_for: Callable[[RequestFacts], str]
    """Returns the entry of the rule that matches; "" when none does."""


def checks_of(rule: Rule) -> tuple[RuleCheck, ...]:
    """The checks of a rule, the cheapest first."""
    when = rule.when
    found = []
    if (domains := when.domains) is not None:
        found.append(RuleCheck("domain", RuleStage.CONNECT, lambda known: domains.entry_for(known.host)))
    if (misses := when.misses) is not None:
        found.append(
            RuleCheck(
                "miss", RuleStage.RESPONSE, lambda known: known.miss or "" if known.miss in misses else ""
            )
        )
    if (clients := when.clients) is not None:
        found.append(RuleCheck("client", RuleStage.CONNECT, lambda known: clients.entry_for(known.client)))
    if (schedule := when.schedule) is not None:
        found.append(RuleCheck("time", RuleStage.CONNECT, lambda known: schedule.entry_for(known.at)))
    if (types := when.content_types) is not None:
        found.append(
            RuleCheck("content_type", RuleStage.RESPONSE, lambda known: types.entry_for(known.content_type))
        )
    if (patterns := when.url) is not None:
        found.append(
            RuleCheck("url", RuleStage.REQUEST, lambda known: _pattern_for(patterns, known.normal_url))
        )
    return tuple(found)


def stage_of(checks: tuple[RuleCheck, ...]) -> RuleStage:
    """The first stage at which all checks can be evaluated."""
    return max((check.stage for check in checks), key=_ORDER.index, default=RuleStage.CONNECT)


def is_reached(stage: RuleStage, needed: RuleStage) -> bool:
    """Whether a stage has the data of stage `needed`."""
    return _ORDER.index(needed) <= _ORDER.index(stage)


def _without_root_dot(url: str) -> str:
    """An address without the dot after its host, which leads to the same site but would match no pattern."""
    return _ROOT_DOT.sub(r"\1", url, count=1) if "./" in url or ".:" in url else url


def _pattern_for(patterns: tuple[UrlPattern, ...], url: str) -> str:
    return next((pattern.source for pattern in patterns if pattern.matches(url)), "")
