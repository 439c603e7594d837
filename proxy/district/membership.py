"""A school's membership in its district: joining, leaving, and how it stands."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from proxy.district.connection import DistrictConnection, connected
from proxy.district.leftmark import has_left, mark_left, unmark_left
from proxy.district.presence import PRESENCE
from proxy.district.reading import forget_elsewhere
from proxy.district.schema import check_version, version
from proxy.district.sending import erase_school
from proxy.district.spool import spools
from proxy.errors import DistrictUnavailable
from proxy.settings import DistrictSettings
from repair.collection.database import Database

_STANDINGS = f"""
SELECT name, may_write, coalesce(held, 0), coalesce(waiting, 0), coalesce(version, ''), seen_at FROM schools
LEFT JOIN usage ON usage.school = id LEFT JOIN ({PRESENCE}) AS presence ON presence.school = id
WHERE NOT is_district ORDER BY name
"""  # noqa: S608  (constants)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedDistrict:
    """The school's name in the district, and how many changes wait to be sent."""

    school: str
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchoolStanding:
    """How a school stands, for the district's admin; `seen_at` is None for one that was never here."""

    name: str
    may_write: bool
    held: int
    waiting: int
    linkmend: str
    seen_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictStatus:
    """How this school stands in its district; `schools` is empty for all but admins."""

    school: str
    version: str
    waiting: int
    confirmed: int
    taking_part: int
    has_left: bool
    schools: tuple[SchoolStanding, ...] = ()


def join(settings: DistrictSettings, data: Path) -> JoinedDistrict:
    """Check the login, and note all that is to be shared, also what was sent before. Raises DistrictUnavailable."""
    with connected(settings) as connection:
        check_version(connection)
        school = _school(connection)
    unmark_left(data)
    for spool in spools(data):
        spool.tell_all()
    return JoinedDistrict(school=school, waiting=_waiting(data))


def leave(settings: DistrictSettings, data: Path, database: Database, *, erase: bool) -> int | None:
    """Share nothing more, and forget what other schools told; `database` is the collection's.

    With `erase` the school's rows at the district go too; returns how many, None without. Raises DistrictUnavailable
    before anything is changed.
    """
    erased = None
    if erase and settings.database:
        with connected(settings) as connection:
            erased = erase_school(connection)
    mark_left(data)
    for spool in spools(data):
        spool.close()
    forget_elsewhere(database)
    return erased


def status(settings: DistrictSettings, data: Path) -> DistrictStatus:
    """How the school stands. Raises DistrictUnavailable."""
    with connected(settings) as connection:
        check_version(connection)
        (taking_part,) = connection.execute(
            "SELECT count(*) FROM schools WHERE may_write AND NOT is_district"
        ).fetchone() or (0,)
        (confirmed,) = connection.execute(
            "SELECT count(*) FROM learnt WHERE school <> current_school() AND kind = 'pin' AND body IS NOT NULL"
        ).fetchone() or (0,)
        return DistrictStatus(
            school=_school(connection),
            version=version(connection),
            waiting=_waiting(data),
            confirmed=int(confirmed),
            taking_part=int(taking_part),
            has_left=has_left(data),
            schools=standings(connection),
        )


def _school(connection: DistrictConnection) -> str:
    row = connection.execute("SELECT name FROM schools WHERE id = current_school()").fetchone()
    if row is None:
        raise DistrictUnavailable(
            "this login belongs to no school of the district; its admin runs `linkmend district invite`"
        )
    return str(row[0])


def standings(connection: DistrictConnection) -> tuple[SchoolStanding, ...]:
    """How all schools stand; nothing for a login that is no admin's."""
    (is_admin,) = connection.execute("SELECT pg_has_role('linkmend_admin', 'member')").fetchone() or (False,)
    if not is_admin:
        return ()
    rows = connection.execute(_STANDINGS)
    return tuple(
        SchoolStanding(
            name=name, may_write=may_write, held=held, waiting=waiting, linkmend=linkmend, seen_at=seen_at
        )
        for name, may_write, held, waiting, linkmend, seen_at in rows
    )


def _waiting(data: Path) -> int:
    return sum(spool.count() for spool in spools(data))
