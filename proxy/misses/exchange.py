"""What schools tell each other of repairs that their readers confirmed: a JSON object a line, and who may see what.

A line says which page was missing, which one was chosen instead, how often, on which day last, and which school says
so; nothing of the readers, and no hour. Addresses that belong to somebody, that hold words somebody searched for, or
that only exist within a school, are neither told nor taken.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated

import msgspec

from proxy.errors import SettingsError
from proxy.readers.privacy import is_personal_url
from repair import urls
from repair.experience import Choice
from repair.memento.reach import is_public_host

VERSION = 1
_MAX_SCHOOL = 80
_MAX_URL = 2_000
_MAX_LINES = 200_000  # of one file
_MOST_TIMES = 100  # that one school's word counts for, however often it says a page was chosen
_SEARCHED = re.compile(
    r"(?i)(?:^|[&;])(?:q|s|kw|wd|text|find|terms?|\w{0,20}query|\w{0,20}search\w{0,20}|\w{0,20}keywords?)="
)

Times = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Line(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A repair as it is written."""

    version: int
    school: str
    url: str
    chosen: str
    times: Times
    refused: Times
    last: date


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of the lines of a file: of our own school, not fit to be shared, and from whom the others were."""

    own: int = 0
    unfit: int = 0
    schools: set[str]


def told(choices: Iterable[Choice], school: str) -> Iterator[bytes]:
    """The lines in which a school tells of choices, those left out that are not for others."""
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


def heard(
    lines: Iterable[tuple[int, bytes | None]], *, own: frozenset[str], today: date, tally: Tally
) -> Iterator[Choice]:
    """What other schools tell in numbered lines; `own` are the names of this one. ValueError names a bad line."""
    for count, (number, line) in enumerate(lines):
        try:
            if line is None or count >= _MAX_LINES:
                raise ValueError("too long" if line is None else f"a file of more than {_MAX_LINES} repairs")
            read = _read(line)
        except ValueError as error:  # also what msgspec raises
            raise ValueError(f"line {number}: {error}") from error
        if read.school in own:
            tally.own += 1
        elif not (is_shareable(read.url) and is_shareable(read.chosen)):
            tally.unfit += 1
        else:
            tally.schools.add(read.school)
            yield _choice(read, today)


def is_shareable(url: str) -> bool:
    """Whether an address may be told to other schools: public, nobody's own, no search somebody typed."""
    if len(url) > _MAX_URL or is_personal_url(url):
        return False
    try:
        parts = urls.parse(url)
    except ValueError:
        return False
    return is_public_host(parts.host) and not _SEARCHED.search(parts.query)


def named(school: str, otherwise: str) -> str:
    """The name under which a school tells, made up for it if need be; SettingsError when it could not be read."""
    if school and not _is_name(school):
        raise SettingsError(
            f"repair.school: expected up to {_MAX_SCHOOL} printable characters, got {school!r}"
        )
    return school or otherwise


def _read(line: bytes) -> _Line:
    read = msgspec.json.decode(line, type=_Line)
    if read.version != VERSION:
        raise ValueError(f"expected version {VERSION}, got {read.version}")
    if not _is_name(read.school):
        raise ValueError(f"school: expected 1 to {_MAX_SCHOOL} printable characters")
    for name, url in (("url", read.url), ("chosen", read.chosen)):
        if not urls.is_web_url(url):
            raise ValueError(f"{name}: expected an http or https address, got {url[:200]!r}")
    return read


def _choice(read: _Line, today: date) -> Choice:
    """Tomorrow's choices would never fade, and a school's clock may be wrong: they count as today's."""
    return Choice(
        url=read.url,
        chosen=read.chosen,
        school=read.school,
        times=min(read.times, _MOST_TIMES),
        refused=min(read.refused, _MOST_TIMES),
        at=datetime.combine(min(read.last, today), time(), UTC),
    )


def _is_name(school: str) -> bool:
    return 0 < len(school) <= _MAX_SCHOOL and school.isprintable() and school == school.strip()
