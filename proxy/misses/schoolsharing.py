"""The exchange of confirmed repairs between schools: one JSON object a line, and which addresses may be shared.

A line says which page was missing, which was chosen instead, how often, on which day last, and which school reports
it; nothing about the users, and no hour. Personal addresses, addresses with somebody's search words, and addresses
that exist only within a school are neither exported nor imported.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated

import msgspec

from proxy.errors import SettingsError
from repair.evidence.choices import Choice
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

VERSION = 1
_MAX_SCHOOL = 80
_MAX_LINES = 200_000  # of one file
_MOST_TIMES = 100  # that one school's report counts for, however often it says a page was chosen

Times = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Line(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One repair as it is written."""

    version: int
    school: str
    url: str
    chosen: str
    times: Times
    refused: Times
    last: date


@dataclass(slots=True, kw_only=True)
class SharedRepairsReport:
    """Counts of the lines of a file: of our own school, not shareable, and by school for the others."""

    own: int = 0
    unfit: int = 0
    schools: set[str]


def export_repairs(choices: Iterable[Choice], school: str) -> Iterator[bytes]:
    """The lines with which a school exports choices, without those that are not for others."""
    for choice in choices:
        if is_shareable(choice.url) and is_shareable(choice.chosen):
            line = _Line(
                version=VERSION,
                school=school,
                url=choice.url,
                chosen=choice.chosen,
                times=choice.times,
                refused=choice.refused,
                last=choice.at.date(),
            )
            yield msgspec.json.encode(line) + b"\n"


def import_repairs(
    lines: Iterable[tuple[int, bytes | None]], *, own: frozenset[str], today: date, tally: SharedRepairsReport
) -> Iterator[Choice]:
    """The choices in numbered lines of other schools; `own` are our names. ValueError names a bad line."""
    for count, (number, line) in enumerate(lines):
        try:
            if line is None or count >= _MAX_LINES:
                raise ValueError(
                    "line too long" if line is None else f"more than {_MAX_LINES} repairs in one file"
                )
            parsed = _parse_line(line)
        except ValueError as error:  # also what msgspec raises
            raise ValueError(f"line {number}: {error}") from error
        if parsed.school in own:
            tally.own += 1
        elif not (is_shareable(parsed.url) and is_shareable(parsed.chosen)):
            tally.unfit += 1
        else:
            tally.schools.add(parsed.school)
            yield _choice(parsed, today)


def school_name(school: str, otherwise: str) -> str:
    """The name under which a school exports, generated if necessary; SettingsError when others could not read it."""
    if school and not _is_name(school):
        raise SettingsError(
            f"repair.school: expected up to {_MAX_SCHOOL} printable characters, got {school!r}"
        )
    return school or otherwise


def _parse_line(line: bytes) -> _Line:
    parsed = msgspec.json.decode(line, type=_Line)
    if parsed.version != VERSION:
        raise ValueError(f"expected version {VERSION}, got {parsed.version}")
    if not _is_name(parsed.school):
        raise ValueError(f"school: expected 1 to {_MAX_SCHOOL} printable characters")
    for name, url in (("url", parsed.url), ("chosen", parsed.chosen)):
        if not urls.is_web_url(url):
            raise ValueError(f"{name}: expected an http or https address, got {url[:200]!r}")
    return parsed


def _choice(parsed: _Line, today: date) -> Choice:
    """Choices from tomorrow would never fade, and a school's clock may be wrong: they count as today's."""
    return Choice(
        url=parsed.url,
        chosen=parsed.chosen,
        school=parsed.school,
        times=min(parsed.times, _MOST_TIMES),
        refused=min(parsed.refused, _MOST_TIMES),
        at=datetime.combine(min(parsed.last, today), time(), UTC),
    )


def _is_name(school: str) -> bool:
    return 0 < len(school) <= _MAX_SCHOOL and school.isprintable() and school == school.strip()
