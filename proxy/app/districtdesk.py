"""Takes what the district's desk gives this school, and tells it how the school fares: a task of the backend.

No user waits for it. While the line is down, the rules and topics that were taken last stay in force.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.admin.auditlog import AUDIT_FILE, AuditLog
from proxy.backgroundtask import BackgroundTask
from proxy.doctor.model import Finding
from proxy.errors import DistrictUnavailable, SettingsError
from proxy.misses.store import MissStore
from proxy.rules.pushed import SOURCE
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings
from repair.collection.collection import Collection
from repair.crawling.topicdatabase import TopicDatabase
from repair.errors import RepairError
from repair.logs import RateLimitedLogger

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection
    from proxy.district.desk.pushing import PushKind
    from proxy.district.desk.schoolside import SchoolDay

log = logging.getLogger(__name__)

_PAUSE_S = 15.0
_TELL_EVERY = 8  # of these pauses
_DAYS = 7 * 13  # the first time; then the last two
_TIMEOUT_S = 30.0
_BY_DAY = """
SELECT date(at, 'unixepoch', 'localtime') AS day, count(*) AS misses, sum(chosen IS NOT NULL) AS opened
FROM misses WHERE at >= ? GROUP BY day
"""


class DistrictDeskLink:
    """A school's link to its district's desk; nothing where the settings name no database, or are the district's."""

    def __init__(
        self,
        data: Path,
        settings: Settings,
        *,
        misses: MissStore,
        collection: Collection,
        rules: Callable[[], RuleSet],
        topics: TopicDatabase | None,
        warnings: Callable[[], Awaitable[Sequence[Finding]]],
    ) -> None:
        """Raises SettingsError when the settings cannot be used; asks nobody yet."""
        self._settings = settings
        self._misses, self._collection, self._warnings = misses, collection, warnings
        self._audit = AuditLog(data / AUDIT_FILE)
        self._unavailable = RateLimitedLogger(log)
        self._task = BackgroundTask()
        self._rounds = 0
        self._is_part = bool(settings.district.database) and not settings.district.desk
        if not self._is_part:
            return
        try:
            from proxy.district.connection import connection_text
            from proxy.district.desk.schoolside import SchoolSide
        except ImportError as error:
            raise SettingsError(f"district.database: needs the extra linkmend[district]: {error}") from error
        connection_text(settings.district)
        self._school = SchoolSide(data, own_rules=rules, topics=topics, on_change=self._note_change)

    async def start(self) -> None:
        """Begin to take and tell."""
        if self._is_part:
            self._task.start(self._run())

    async def close(self) -> None:
        """Stop."""
        await self._task.close()

    async def _run(self) -> None:
        while True:
            try:
                await self._round()
            except (DistrictUnavailable, RepairError) as error:
                self._unavailable.warning("district's desk: %s", error)
            except Exception:  # the task survives an odd answer or a full disk
                log.exception("district's desk: nothing was taken or told")
            await asyncio.sleep(_PAUSE_S)

    async def _round(self) -> None:
        warnings = None
        if self._rounds % _TELL_EVERY == 0:
            warnings = [(each.check, str(each.found)) for each in await self._warnings()]
        await asyncio.to_thread(self._take_and_tell, warnings)
        self._rounds += 1

    def _take_and_tell(self, warnings: Sequence[tuple[str, str]] | None) -> None:
        from proxy.district.connection import connected

        with connected(self._settings.district) as connection:
            self._school.take(connection)
            if warnings is not None:
                self._tell(connection, warnings)

    def _tell(self, connection: "DistrictConnection", warnings: Sequence[tuple[str, str]]) -> None:
        self._school.tell(connection, self._days(_DAYS if self._rounds == 0 else 2), warnings)

    def _days(self, count: int) -> list["SchoolDay"]:
        from proxy.district.desk.schoolside import SchoolDay

        today = date.today()  # noqa: DTZ011  (days as the school's users know them)
        first = datetime.combine(today - timedelta(days=count - 1), time.min).timestamp()  # whole days only
        rows = self._misses.read(_BY_DAY, (first,), within_s=_TIMEOUT_S)
        found = {row["day"]: (row["misses"], row["opened"] or 0) for row in rows}
        days = [today - timedelta(days=back) for back in range(count)]
        pages = self._collection.size()
        return [
            SchoolDay(
                day=day,
                misses=found.get(day.isoformat(), (0, 0))[0],
                opened=found.get(day.isoformat(), (0, 0))[1],
                pages=pages if day == today else None,
            )
            for day in days
            if day == today or day.isoformat() in found
        ]

    def _note_change(self, kind: "PushKind", version: int) -> None:
        self._audit.note(f"{kind} taken from the district", who=SOURCE, about=f"version {version}")
