"""The words of the rules: what is asked, what a rule says, and the verdict that the rest of linkmend acts on.

Rules stand in order and the first that matches decides alone. They are asked at three moments, as more becomes
known: at CONNECT (host, client, time), with the request (its URL), and with the response (what kind of miss it is,
if any, and its content type). A rule that needs something not yet known is passed over at that moment.
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


class Action(StrEnum):
    """What is done with what a rule matches."""

    REPAIR = "repair"
    """The usual: errors are answered with a repair page."""
    PASS = "pass"  # noqa: S105
    """Errors are left as they came."""
    BYPASS = "bypass"
    """No interception at all; TLS is passed through. Over plain HTTP: neither stored, read nor rewritten."""
    BLOCK = "block"
    """A page that gives the reason instead."""
    OFFLINE_ONLY = "offline-only"
    """Only what is held is shown, as if the line were down."""
    NO_CACHE = "no-cache"
    """Neither stored nor read into the collection."""
    NO_INDEX = "no-index"
    """Stored, but not read into the collection."""
    REDIRECT = "redirect"
    """The reader is sent elsewhere."""


class Stage(StrEnum):
    """The moments at which rules are asked."""

    CONNECT = "connect"
    REQUEST = "request"
    RESPONSE = "response"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known when a request comes."""

    url: str
    host: str
    """The host of the URL, without port."""
    client: str
    """The client's IP address."""
    at: datetime
    """Local time: the hours in rules are those of the clock on the wall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be done; the defaults are what happens without any rule."""

    rule: str = ""
    """The name of the rule that decided; "" for none."""
    action: Action = Action.REPAIR
    reason: str = ""
    """What the admin wrote, for the page that says so; "" for nothing."""
    redirect_to: str = ""
    """With `redirect`: an http or https address, encoded and ready for a Location header."""
    archive: Archive | None = None
    """Whether archives are asked for this page: on, off, or only the private ones; None for what is configured."""
    auto_follow: float | None = None
    """Lead straight to the first alternative whose confidence is at least this; None for never."""
    budget_s: float | None = None
    """How long the repair may take; None for what is configured."""
    cache: bool = True
    """Whether the answer may be stored and served from the store."""
    index: bool = True
    """Whether the page may be read into the collection."""
    offline_only: bool = False


NO_RULE = Verdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matchers:
    """What a rule asks for. All that are given must hold; within one, any entry will do. None: not asked."""

    domains: DomainList | None = None
    url: tuple[UrlPattern, ...] | None = None
    clients: Networks | None = None
    schedule: Schedule | None = None
    misses: frozenset[MissKind] | None = None
    content_types: ContentTypes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One `[[rule]]` of a file: where it stands, what it asks for, what it wants done."""

    name: str
    file: str
    line: int
    when: Matchers = field(default_factory=Matchers)
    action: Action = Action.REPAIR
    reason: str = ""
    to: str = ""
    """The template of a redirect."""
    archive: Archive | None = None
    auto_follow: float | None = None
    budget_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with the rules, and where; line 0 when it is the file as a whole."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class RulesError(LinkmendError):
    """The rules cannot be used; `faults` says where and why, in order of file and line."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{faults[0]}{more}")
        self.faults = faults
