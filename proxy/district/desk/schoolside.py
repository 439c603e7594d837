"""A school's side of the district's desk: it takes the rules and topics that it is given, and tells how it fares.

What was taken last stays in the data folder: a school without a line keeps it. A text that this linkmend cannot read
changes nothing here, and the district is told why.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from proxy.atomicfiles import write
from proxy.district.desk.pushedtopics import apply_topics
from proxy.district.desk.pushing import PushedText, PushKind, newest
from proxy.paths import DISTRICT_RULES
from proxy.rules.model import RulesError
from proxy.rules.pushed import parse_pushed, replaced
from proxy.rules.ruleset import RuleSet
from repair.crawling.syllabus import parse_outline
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import InvalidTopic
from repair.crawling.topicstore import TopicStore

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection

log = logging.getLogger(__name__)

_STATE = "desk.json"
_MAX_FAULT, _MAX_NAMES, _MAX_WARNING = 500, 100, 300

_DAY = """
INSERT INTO school_days (school, day, misses, opened, pages) VALUES (current_school(), %s, %s, %s, %s)
ON CONFLICT (school, day) DO UPDATE SET misses = excluded.misses, opened = excluded.opened,
    pages = coalesce(excluded.pages, school_days.pages)
"""
_HEALTH = """
INSERT INTO school_health (school, warnings) VALUES (current_school(), %s)
ON CONFLICT (school) DO UPDATE SET warnings = excluded.warnings, told_at = now()
"""
_APPLIED = """
INSERT INTO applied (school, kind, version, fault, replaced) VALUES (current_school(), %s, %s, %s, %s)
ON CONFLICT (school, kind) DO UPDATE SET version = excluded.version, fault = excluded.fault,
    replaced = excluded.replaced
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchoolDay:
    """How many dead links users reached on a day, and for how many they opened a suggestion; the pages saved by then,
    if that is known."""

    day: date
    misses: int
    opened: int
    pages: int | None = None


class _State(Struct, kw_only=True):
    versions: dict[str, int] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)


class SchoolSide:
    """What one school has taken. Methods block; for one thread at a time."""

    def __init__(
        self,
        data: Path,
        *,
        own_rules: Callable[[], RuleSet],
        topics: TopicDatabase | None,
        on_change: Callable[[PushKind, int], None] = lambda kind, version: None,
    ) -> None:
        """`on_change` hears of each version that was taken."""
        self._rules_file = data / DISTRICT_RULES
        self._state_file = self._rules_file.parent / _STATE
        self._own_rules = own_rules
        self._topics = TopicStore(topics) if topics is not None else None
        self._on_change = on_change
        self._state = self._read()

    def fault(self, kind: PushKind) -> str:
        """Why the newest version is not used here; "" when it is."""
        return self._state.faults.get(kind, "")

    def take(self, connection: "DistrictConnection") -> None:
        """Take what is new, and tell the district what is used here."""
        for kind in PushKind:
            seen = max(self._state.versions.get(kind, 0), self._state.refused.get(kind, 0))
            if (found := newest(connection, kind, after=seen)) is not None:
                self._take(found)
            self._tell(connection, kind)

    def tell(
        self, connection: "DistrictConnection", days: Sequence[SchoolDay], warnings: Sequence[tuple[str, str]]
    ) -> None:
        """Tell the district this school's figures, and what an admin should put right: (name of the check, what)."""
        shown = [{"check": check, "found": found[:_MAX_WARNING]} for check, found in warnings[:_MAX_NAMES]]
        with connection.transaction():
            for each in days:
                connection.execute(_DAY, (each.day, each.misses, each.opened, each.pages))
            connection.execute(_HEALTH, (msgspec.json.encode(shown).decode(),))

    def _take(self, found: PushedText) -> None:
        kind = found.kind
        self._state_file.parent.mkdir(parents=True, exist_ok=True)
        try:
            if kind is PushKind.RULES:
                parse_pushed(found.text)
                write(self._rules_file, found.text.encode(), mode=0o600)
            elif self._topics is not None:
                pushed = parse_outline(found.text) if found.text.strip() else ()
                self._state.topics, kept = apply_topics(self._topics, pushed, self._state.topics)
                self._state.replaced = list(kept)
        except (RulesError, InvalidTopic) as error:
            log.error("district: its %s, version %d, cannot be used here: %s", kind, found.version, error)
            self._state.faults[kind] = f"version {found.version}: {error}"[:_MAX_FAULT]
            self._state.refused[kind] = found.version
        else:
            log.info("district: its %s are now version %d", kind, found.version)
            self._state.versions[kind] = found.version
            self._state.faults.pop(kind, None)
            self._on_change(kind, found.version)
        write(self._state_file, msgspec.json.encode(self._state), mode=0o600)

    def _tell(self, connection: "DistrictConnection", kind: PushKind) -> None:
        names = self._replaced_rules() if kind is PushKind.RULES else self._state.replaced
        connection.execute(
            _APPLIED,
            (
                kind,
                self._state.versions.get(kind, 0),
                self.fault(kind),
                msgspec.json.encode([name[:80] for name in names[:_MAX_NAMES]]).decode(),
            ),
        )

    def _replaced_rules(self) -> Sequence[str]:
        try:
            return replaced(self._own_rules(), parse_pushed(self._rules_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, RulesError):
            return ()

    def _read(self) -> _State:
        try:
            return msgspec.json.decode(self._state_file.read_bytes(), type=_State)
        except FileNotFoundError:
            return _State()
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("district: %s cannot be read, and is made anew: %s", self._state_file, error)
            return _State()
