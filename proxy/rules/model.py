"""The data types of the rules: queries, rules, and the verdicts that the rest of linkmend acts on.

Rules are ordered, and the first match alone decides. They are evaluated at three stages: at CONNECT (host, client,
time), with the request (its URL), and with the response (its kind of miss, if any, and its content type). A stage
skips rules that need data of a later one.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from proxy.errors import LinkmendError
from proxy.rules.domains import DomainList
from proxy.rules.hours import Schedule
from proxy.rules.networks import Networks
from proxy.rules.patterns import ContentTypes, UrlPattern
from repair.model import MissKind

Archive = Literal["on", "off", "local"]


class RuleAction(StrEnum):
    """What to do with a request that a rule matches."""

    REPAIR = "repair"
    """The default: errors get a repair page."""
    PASS = "pass"  # noqa: S105
    """Errors are forwarded unchanged."""
    BYPASS = "bypass"
    """No interception: TLS is passed through; plain HTTP is neither stored, indexed nor rewritten."""
    BLOCK = "block"
    """A page with the reason instead."""
    OFFLINE_ONLY = "offline-only"
    """Only stored pages are shown, as if offline."""
    NO_CACHE = "no-cache"
    """Neither stored nor added to the collection."""
    NO_INDEX = "no-index"
    """Stored, but not added to the collection."""
    REDIRECT = "redirect"
    """The user is redirected to another address."""


class RuleStage(StrEnum):
    """The stages at which rules are evaluated."""

    CONNECT = "connect"
    REQUEST = "request"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleQuery:
    """The data of a request that rules use."""

    url: str
    host: str
    """The host of the URL, without port."""
    client: str
    """The client's IP address."""
    at: datetime
    """Local time, as in the rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVerdict:
    """What to do; the defaults apply without any rule."""

    rule: str = ""
    """The name of the rule that decided; "" for none."""
    action: RuleAction = RuleAction.REPAIR
    reason: str = ""
    """The admin's text for the page; "" for none."""
    redirect_to: str = ""
    """With `redirect`: an http or https address, encoded and ready for a Location header."""
    archive: Archive | None = None
    """Whether archives are queried for this page: on, off, or only private ones; None for the configured value."""
    auto_follow: float | None = None
    """Redirect to the first alternative if its confidence is at least this; None for never."""
    budget_s: float | None = None
    """How long the repair may take; None for the configured value."""
    cache: bool = True
    """Whether the response may be stored and served from the store."""
    index: bool = True
    """Whether the page may enter the collection."""
    offline_only: bool = False


NO_RULE = RuleVerdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matchers:
    """The conditions of a rule. All must match; within one, any entry suffices. None: no condition."""

    domains: DomainList | None = None
    url: tuple[UrlPattern, ...] | None = None
    clients: Networks | None = None
    schedule: Schedule | None = None
    misses: frozenset[MissKind] | None = None
    content_types: ContentTypes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One `[[rule]]` of a file: its place, its conditions, its action."""

    name: str
    file: str
    line: int
    when: Matchers = field(default_factory=Matchers)
    action: RuleAction = RuleAction.REPAIR
    reason: str = ""
    to: str = ""
    """The template of a redirect."""
    archive: Archive | None = None
    auto_follow: float | None = None
    budget_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFault:
    """One error in the rules, and its place; line 0 for the file as a whole."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class RulesError(LinkmendError):
    """The rules are invalid; `faults` has the places and reasons, in order of file and line."""

    def __init__(self, faults: tuple[RuleFault, ...]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")
        self.faults = faults
