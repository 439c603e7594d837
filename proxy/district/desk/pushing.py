"""Rules and topics that a district gives its schools: each change a version, the newest counts."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from proxy.rules.pushed import parse_pushed
from repair.crawling.syllabus import parse_outline

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection

_MAX_BY = 80


class PushKind(StrEnum):
    """What is given."""

    RULES = "rules"
    TOPICS = "topics"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedText:
    """One version."""

    kind: PushKind
    version: int
    text: str
    made_by: str
    made_at: datetime


def check(kind: PushKind, text: str) -> None:
    """Raises RulesError or InvalidTopic, with lines. An empty text takes back what was given."""
    if not text.strip():
        return
    if kind is PushKind.RULES:
        parse_pushed(text)
    else:
        parse_outline(text)


def push(connection: "DistrictConnection", kind: PushKind, text: str, *, by: str) -> int:
    """Give schools a text; returns its version. Raises RulesError or InvalidTopic, and then gives nothing."""
    check(kind, text)
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(7310002)")  # two admins at once: two versions
        row = connection.execute(
            "INSERT INTO pushed (kind, version, text, made_by)"
            " SELECT %s, coalesce(max(version), 0) + 1, %s, %s FROM pushed WHERE kind = %s RETURNING version",
            (kind, text, by[:_MAX_BY], kind),
        ).fetchone()
    return int(row[0]) if row else 0


def newest(connection: "DistrictConnection", kind: PushKind, *, after: int = 0) -> PushedText | None:
    """The newest version; None when there is none after that one."""
    found = versions(connection, kind, limit=1)
    return found[0] if found and found[0].version > after else None


def versions(connection: "DistrictConnection", kind: PushKind, *, limit: int) -> tuple[PushedText, ...]:
    """The latest versions, the newest first."""
    rows = connection.execute(
        "SELECT version, text, made_by, made_at FROM pushed WHERE kind = %s ORDER BY version DESC LIMIT %s",
        (kind, limit),
    ).fetchall()
    return tuple(
        PushedText(kind=kind, version=version, text=text, made_by=by, made_at=at)
        for version, text, by, at in rows
    )
