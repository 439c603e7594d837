"""All schools of a district and their figures, for its desk.

Each school writes its own: what cannot be so, or cannot be shown, is left out, so that one school hides no other.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from proxy.district.desk.pushing import PushKind
from proxy.district.presence import PRESENCE

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection

SILENT_S = 900.0
"""A school that was not heard of for so long is behind."""
WEEKS = 12

_DAYS = """
SELECT school, day, least(greatest(misses, 0), 1000000) AS misses, least(greatest(opened, 0), 1000000) AS opened,
    CASE WHEN pages BETWEEN 0 AND 1000000000 THEN pages END AS pages
FROM school_days WHERE day BETWEEN current_date - 400 AND current_date + 1
"""
_SCHOOLS = f"""
WITH days AS ({_DAYS})
SELECT schools.id, schools.name, schools.may_write, presence.version, presence.waiting, presence.seen_at,
    extract(epoch FROM now() - presence.seen_at)::float8,
    coalesce(week.misses, 0), coalesce(week.opened, 0), held.pages, before.pages,
    coalesce(health.warnings::text, '')
FROM schools
LEFT JOIN ({PRESENCE}) AS presence ON presence.school = schools.id
LEFT JOIN school_health AS health ON health.school = schools.id
LEFT JOIN LATERAL (
    SELECT sum(misses) AS misses, sum(opened) AS opened FROM days
    WHERE school = schools.id AND day > current_date - 7
) AS week ON true
LEFT JOIN LATERAL (
    SELECT pages FROM days WHERE school = schools.id AND pages IS NOT NULL ORDER BY day DESC LIMIT 1
) AS held ON true
LEFT JOIN LATERAL (
    SELECT pages FROM days WHERE school = schools.id AND pages IS NOT NULL AND day <= current_date - 7
    ORDER BY day DESC LIMIT 1
) AS before ON true
WHERE NOT schools.is_district ORDER BY schools.name
"""  # noqa: S608  (constants)
_APPLIED = "SELECT school, kind, version, fault, replaced::text FROM applied WHERE kind = ANY(%s)"
_NEWEST = "SELECT kind, max(version) FROM pushed GROUP BY kind"
_WEEKS = f"""
WITH days AS ({_DAYS})
SELECT date_trunc('week', day)::date, sum(misses), sum(opened) FROM days WHERE day >= %s GROUP BY 1
"""  # noqa: S608  (constants)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedText:
    """What a school made of the district's rules or topics: the version it uses, why not the newest, and the names
    that it replaced by its own."""

    version: int
    fault: str
    replaced: tuple[str, ...]
    is_newest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictSchool:
    """One school; what it has not told yet is None. Misses and opened suggestions are those of seven days."""

    name: str
    is_member: bool
    version: str
    waiting: int
    seen_at: datetime | None
    is_silent: bool
    misses: int
    opened: int
    pages: int | None
    growth: int | None
    warnings: tuple[tuple[str, str], ...]
    applied: dict[PushKind, AppliedText]

    @property
    def is_behind(self) -> bool:
        """Whether it was not heard of for a while, or does not use the newest rules and topics."""
        return self.is_member and (
            self.is_silent or not all(each.is_newest for each in self.applied.values())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictWeek:
    """The dead links of a week in all schools, and for how many a suggestion was opened."""

    begin: date
    misses: int
    opened: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictOverview:
    """All schools by name, and the weeks, the oldest first."""

    schools: tuple[DistrictSchool, ...]
    weeks: tuple[DistrictWeek, ...]
    newest_version: str

    @property
    def misses(self) -> int:
        """Of seven days."""
        return sum(school.misses for school in self.schools)

    @property
    def opened(self) -> int:
        """Of seven days."""
        return sum(school.opened for school in self.schools)

    @property
    def pages(self) -> int:
        """Saved in all schools; a page that two have counts twice."""
        return sum(school.pages or 0 for school in self.schools)

    @property
    def behind(self) -> int:
        """How many schools are behind."""
        return sum(school.is_behind for school in self.schools)


def read_overview(connection: "DistrictConnection", today: date) -> DistrictOverview:
    """What the schools have told."""
    given: dict[str, int] = dict(connection.execute(_NEWEST).fetchall())
    applied: dict[int, dict[PushKind, AppliedText]] = {}
    for school, kind, version, fault, replaced in connection.execute(_APPLIED, (list(PushKind),)):
        applied.setdefault(school, {})[PushKind(kind)] = AppliedText(
            version=version,
            fault=fault,
            replaced=tuple(map(str, _listed(replaced))),
            is_newest=version >= given.get(kind, 0),
        )
    schools = tuple(
        _school(row, applied.get(row[0], {}), given) for row in connection.execute(_SCHOOLS).fetchall()
    )
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    found = {begin: (misses, opened) for begin, misses, opened in connection.execute(_WEEKS, (first,))}
    begins = [first + timedelta(weeks=number) for number in range(WEEKS)]
    weeks = tuple(
        DistrictWeek(begin=begin, misses=int(counts[0]), opened=int(counts[1]))
        for begin in begins
        for counts in (found.get(begin, (0, 0)),)
    )
    newest = max((school.version for school in schools), key=_order, default="")
    return DistrictOverview(schools=schools, weeks=weeks, newest_version=newest)


def _school(row: Any, applied: dict[PushKind, AppliedText], given: dict[str, int]) -> DistrictSchool:
    _, name, may_write, version, waiting, seen_at, silent_s, misses, opened, pages, before, warnings = row
    never = {
        kind: AppliedText(version=0, fault="", replaced=(), is_newest=not given.get(kind))
        for kind in PushKind
    }
    return DistrictSchool(
        name=name,
        is_member=may_write,
        version=version or "",
        waiting=waiting or 0,
        seen_at=seen_at,
        is_silent=silent_s is None or silent_s > SILENT_S,
        misses=int(misses),
        opened=int(opened),
        pages=pages,
        growth=None if pages is None or before is None else pages - before,
        warnings=tuple(
            (str(each.get("check", "")), str(each.get("found", "")))
            for each in _listed(warnings)
            if isinstance(each, dict)
        ),
        applied={**never, **applied},
    )


def _listed(text: str) -> list[Any]:
    """A list that a school wrote; empty when it wrote something else."""
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _order(version: str) -> tuple[int, ...]:
    """Versions as numbers: 0.10 is newer than 0.9."""
    return tuple(int(part) if part.isascii() and part.isdigit() else 0 for part in version.split("."))
