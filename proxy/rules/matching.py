"""Whether a rule matches what is known: its matchers as checks, each of which names the entry that fits."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from proxy.rules.domains import normal_host
from proxy.rules.model import Rule, Stage
from proxy.rules.patterns import UrlPattern
from repair import urls
from repair.model import MissKind

_ORDER = tuple(Stage)
_LONGEST = (
    100_000  # more than any request line that we take: what is too long for others is not past the rules
)
_ROOT_DOT = re.compile(r"\A(https?://[^/:\[]+?)\.+(?=[/:])")


class Known:
    """All that is known at one moment; the address is brought into normal form only when a rule asks for it."""

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
        """The address in normal form, or as it is when it has none."""
        if self._normal_url is None:
            try:
                self._normal_url = _without_root_dot(urls.normal(self.url, most=_LONGEST))
            except ValueError:
                self._normal_url = self.url[:_LONGEST]
        return self._normal_url

    def read_as(self, url: str) -> "Known":
        """The same about another reading of the address."""
        return Known(
            host=self.host,
            client=self.client,
            at=self.at,
            url=url,
            miss=self.miss,
            content_type=self.content_type,
        )


class Check(NamedTuple):
    """One matcher of a rule: its key, the first moment it can be answered, and what is known against it."""

    key: str
    stage: Stage
    entry_for: Callable[[Known], str]
    """The entry of the rule that fits what is known; "" when none does."""


def checks_of(rule: Rule) -> tuple[Check, ...]:
    """The matchers of a rule, those that cost least first."""
    when = rule.when
    found = []
    if (domains := when.domains) is not None:
        found.append(Check("domain", Stage.CONNECT, lambda known: domains.entry_for(known.host)))
    if (misses := when.misses) is not None:
        found.append(
            Check("miss", Stage.RESPONSE, lambda known: known.miss or "" if known.miss in misses else "")
        )
    if (clients := when.clients) is not None:
        found.append(Check("client", Stage.CONNECT, lambda known: clients.entry_for(known.client)))
    if (schedule := when.schedule) is not None:
        found.append(Check("time", Stage.CONNECT, lambda known: schedule.entry_for(known.at)))
    if (types := when.content_types) is not None:
        found.append(Check("content_type", Stage.RESPONSE, lambda known: types.entry_for(known.content_type)))
    if (patterns := when.url) is not None:
        found.append(Check("url", Stage.REQUEST, lambda known: _pattern_for(patterns, known.normal_url)))
    return tuple(found)


def stage_of(checks: tuple[Check, ...]) -> Stage:
    """The first moment at which all checks can be answered."""
    return max((check.stage for check in checks), key=_ORDER.index, default=Stage.CONNECT)


def reached(stage: Stage, needed: Stage) -> bool:
    """Whether what is needed is known at a stage."""
    return _ORDER.index(needed) <= _ORDER.index(stage)


def _without_root_dot(url: str) -> str:
    """An address without the dot after its host, which leads to the same place but past every pattern."""
    return _ROOT_DOT.sub(r"\1", url, count=1) if "./" in url or ".:" in url else url


def _pattern_for(patterns: tuple[UrlPattern, ...], url: str) -> str:
    return next((pattern.source for pattern in patterns if pattern.matches(url)), "")
