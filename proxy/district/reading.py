"""Reads what the other schools of the district learnt, from where it last stopped, into the school's own stores.

The database's clock is the cursor. Rows become visible when their transaction ends, a little after their time, so
each reading begins two minutes before the last one: what was read before changes nothing. A school that was away for
longer than tombstones are kept reads everything anew.

A row is read as text and parsed here, each by itself: what one school writes keeps nobody from reading the others.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import msgspec

from proxy.district.connection import DistrictConnection
from proxy.district.sending import TOMBSTONE_DAYS
from proxy.district.told import digest
from repair.collection.database import Database
from repair.collection.elsewhere import Confirmation, ConfirmedElsewhere, OtherSchool
from repair.collection.pins import same_page_key
from repair.evidence.choices import Choice, ChoiceStore
from repair.secrets.publicaddresses import is_shareable
from repair.soft404.sitestore import SiteStore, unpack

log = logging.getLogger(__name__)

_BATCH = 500
_MOST_TIMES = 100  # that one school's report counts for, however often it says a page was chosen
_CURSOR = "district_cursor"
_SCHOOLS = "SELECT id, name, is_district FROM schools WHERE may_write AND id <> current_school()"
_LEARNT = (
    "SELECT school, kind, key, body::text, changed_at FROM learnt WHERE school <> current_school()"
    " AND kind IN ('pin', 'choice', 'move', 'error_page')"
    " AND (changed_at, school, kind, key) > (%s, %s, %s, %s) ORDER BY changed_at, school, kind, key LIMIT %s"
)
_OVERLAP = timedelta(minutes=2)
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)

_Url = Annotated[str, msgspec.Meta(max_length=2_000)]
_Times = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Pair(msgspec.Struct):
    """A pin or a move."""

    url: _Url
    target: _Url


class _Chosen(msgspec.Struct):
    url: _Url
    times: _Times
    refused: _Times
    day: date


class _Choices(msgspec.Struct):
    """What readers of a school chose instead of a page."""

    url: _Url
    chosen: Annotated[list[_Chosen], msgspec.Meta(max_length=10)]


class _ErrorPage(msgspec.Struct):
    host: Annotated[str, msgspec.Meta(max_length=255)]
    sketch: Annotated[str, msgspec.Meta(max_length=2_048, pattern="^([0-9A-Fa-f]{8})+$")]


_FORMS: dict[str, type[msgspec.Struct]] = {
    "pin": _Pair,
    "move": _Pair,
    "choice": _Choices,
    "error_page": _ErrorPage,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _LearntRow:
    school: int
    kind: str
    key: bytes
    body: str | None
    changed_at: datetime


class DistrictReader:
    """Brings what other schools learnt to the collection's database, and the error pages they know to `sites`."""

    def __init__(self, database: Database, sites: SiteStore) -> None:
        self._database = database
        self._elsewhere = ConfirmedElsewhere(database)
        self._choices = ChoiceStore(database)
        self._sites = sites

    def read(self, connection: DistrictConnection, *, goes_on: Callable[[], bool] = lambda: True) -> int:
        """Take over all that changed since the last time; returns how many rows were read. Raises psycopg.Error."""
        (district, now) = connection.execute("SELECT district::text, now() FROM about").fetchone() or (
            "",
            _BEGINNING,
        )
        since = self._cursor(str(district), now)
        schools = {
            school: OtherSchool(school=school, name=name, is_district=is_district)
            for school, name, is_district in connection.execute(_SCHOOLS)
        }
        for name in self._elsewhere.names() - {school.name for school in schools.values()}:
            self._choices.forget_school(name)
        self._elsewhere.keep_schools(list(schools.values()))
        count = 0
        place: tuple[Any, ...] = (since - _OVERLAP, 0, "", b"")
        while goes_on():
            rows = [
                _LearntRow(school=school, kind=kind, key=bytes(key), body=body, changed_at=changed_at)
                for school, kind, key, body, changed_at in connection.execute(_LEARNT, (*place, _BATCH))
            ]
            self._take(rows, schools)
            count += len(rows)
            if len(rows) < _BATCH:
                self._keep_cursor(str(district), now)
                break
            last = rows[-1]
            place = (last.changed_at, last.school, last.kind, last.key)
        return count

    def forget(self) -> None:
        """Forget all that other schools said, and where reading had stopped."""
        forget_elsewhere(self._database)
        self._sites.forget_reported()

    def _cursor(self, district: str, now: datetime) -> datetime:
        """Until when all was read; the beginning for another district, or after too long."""
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_CURSOR,)).fetchone()
        known, _, at = str(row[0]).partition(" ") if row else ("", "", "")
        since = datetime.fromisoformat(at) if at else _BEGINNING
        if known == district and timedelta() <= now - since < timedelta(days=TOMBSTONE_DAYS - 1):
            return since
        if row is not None:
            log.info("district: reading everything anew")
            self.forget()
        return _BEGINNING

    def _keep_cursor(self, district: str, at: datetime) -> None:
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", (_CURSOR, f"{district} {at.isoformat()}")
            )

    def _take(self, rows: Sequence[_LearntRow], schools: dict[int, OtherSchool]) -> None:
        heard = [(row, _said(row)) for row in rows if row.school in schools]
        with self._database.write():
            pairs = [(row, said) for row, said in heard if row.kind in ("pin", "move")]
            self._elsewhere.note(
                Confirmation(school=row.school, kind=row.kind, key=row.key, url=said.url, target=said.target)
                for row, said in pairs
                if isinstance(said, _Pair)
            )
            for row, said in pairs:
                if said is None:
                    self._elsewhere.withdraw(row.school, row.kind, row.key)
            self._take_choices(
                [(row, schools[row.school].name, said) for row, said in heard if row.kind == "choice"]
            )
        for row, said in heard:
            if row.kind == "error_page":
                self._take_error_page(row, said)

    def _take_choices(self, rows: Sequence[tuple[_LearntRow, str, msgspec.Struct | None]]) -> None:
        """Choices replace what a school said before of the same page; they only order equals (`preference`)."""
        gone = {(name, row.key) for row, name, said in rows if said is None}
        with self._database.write() as connection:
            for name in {name for name, _ in gone}:
                known = connection.execute(
                    "SELECT DISTINCT url FROM choices WHERE school = ?", (name,)
                ).fetchall()
                connection.executemany(
                    "DELETE FROM choices WHERE school = ? AND url = ?",
                    [(name, url) for (url,) in known if (name, digest("choice", url)) in gone],
                )
            for _, name, said in rows:
                if isinstance(said, _Choices) and is_shareable(said.url):
                    connection.execute("DELETE FROM choices WHERE school = ? AND url = ?", (name, said.url))
                    self._choices.replace_reported(_choices(said, name))

    def _take_error_page(self, row: _LearntRow, said: msgspec.Struct | None) -> None:
        fit = isinstance(said, _ErrorPage) and is_shareable(f"http://{said.host}/")
        packed = bytes.fromhex(said.sketch) if isinstance(said, _ErrorPage) and fit else b""
        host = said.host if isinstance(said, _ErrorPage) else ""
        self._sites.note_reported(row.school, row.key, host, unpack(packed))


def forget_elsewhere(database: Database) -> None:
    """Forget all that other schools said, as far as it is in the collection's database."""
    elsewhere, choices = ConfirmedElsewhere(database), ChoiceStore(database)
    for name in elsewhere.names():
        choices.forget_school(name)
    elsewhere.clear()
    with database.write() as connection:
        connection.execute("DELETE FROM meta WHERE key = ?", (_CURSOR,))


def _said(row: _LearntRow) -> msgspec.Struct | None:
    """What a row says; None for a tombstone, and for what cannot be read: a newer linkmend, or a hostile school.

    Its key has to be that of what it says, so that a school says one thing of a page, and not a hundred.
    """
    if row.body is None:
        return None
    try:
        said = msgspec.json.decode(row.body, type=_FORMS[row.kind])
        return said if digest(row.kind, _subject(row.kind, said)) == row.key else None
    except (ValueError, RecursionError):  # also what msgspec raises
        return None


def _subject(kind: str, said: msgspec.Struct) -> str:
    """What something is said of, as in `told`. Raises ValueError for no web address."""
    match said:
        case _ErrorPage(host=host, sketch=sketch):
            return f"{host} {sketch}"
        case _Pair(url=url) if kind == "pin":
            return same_page_key(url)
        case _Pair(url=url) | _Choices(url=url):
            return url
    raise ValueError(kind)


def _choices(said: _Choices, school: str) -> Iterator[Choice]:
    today = datetime.now(UTC)
    for each in said.chosen:
        if is_shareable(each.url):
            at = datetime(each.day.year, each.day.month, each.day.day, tzinfo=UTC)
            yield Choice(
                url=said.url,
                chosen=each.url,
                school=school,
                times=min(each.times, _MOST_TIMES),
                refused=min(each.refused, _MOST_TIMES),
                at=min(at, today),  # choices from tomorrow would never fade
            )
