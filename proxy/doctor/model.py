"""What a check finds: ok, a warning or a failure, in words for an admin, with what to do."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from proxy.settings import Settings


class FindingLevel(StrEnum):
    """How bad a finding is. A failure keeps linkmend, or a part that is switched on, from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report; `advice` is empty when all is well."""

    check: str
    level: FindingLevel
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is checked: settings, data folder, and whether linkmend is running there now."""

    settings: Settings
    data: Path
    running: bool


Check = Callable[[Installation], Awaitable[list[Finding]]]


def ok(check: str, found: str) -> Finding:
    return Finding(check=check, level=FindingLevel.OK, found=found)


def warn(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=FindingLevel.WARN, found=found, advice=advice)


def fail(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=FindingLevel.FAIL, found=found, advice=advice)


def has_failed(findings: Iterable[Finding]) -> bool:
    return any(finding.level is FindingLevel.FAIL for finding in findings)
