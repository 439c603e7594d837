"""Shares what a school learns with its district, and brings home what others learnt: one thread, beside everything.

No user ever waits for it. While the line is down, what is to be told waits in the spools, and what was brought home
stays.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from proxy.district.leftmark import has_left
from proxy.errors import DistrictUnavailable, SettingsError
from proxy.settings import Settings
from proxy.version import version
from repair.collection.database import Database
from repair.logs import RateLimitedLogger
from repair.soft404.sitestore import SiteStore

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection

log = logging.getLogger(__name__)

_PAUSE_S = 5.0
_READ_EVERY_S = 15.0
_TIDY_EVERY_S = 3_600.0
_REST_S = 20.0  # after a failure
_QUOTA_REST_S = 900.0


class DistrictSharing:
    """The thread that sends and reads; nothing where the settings name no database, or the school has left."""

    def __init__(
        self,
        data: Path,
        database: Database,
        sites: SiteStore,
        settings: Settings,
        *,
        is_hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        """`database` is the collection's. Raises SettingsError when the settings cannot be used; asks nobody yet."""
        self._settings = settings
        self._is_hurried = is_hurried
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._rest_until = 0.0
        self._read_at = self._tidied_at = 0.0
        self._unavailable = RateLimitedLogger(log)
        if not settings.district.database:
            return
        try:
            from proxy.district.connection import connection_text
            from proxy.district.reading import DistrictReader
            from proxy.district.spool import spools
        except ImportError as error:
            raise SettingsError(f"district.database: needs the extra linkmend[district]: {error}") from error
        if has_left(data):
            return
        connection_text(settings.district)
        self._spools = spools(data, few=settings.report.few)
        self._reader = DistrictReader(database, sites)
        if not settings.district.offers:
            self._reader.forget()
        self._thread = threading.Thread(target=self._work, name="district-sharing", daemon=True)

    def start(self) -> None:
        """Begin to note, send and read."""
        if self._thread is not None:
            self._thread.start()

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop; what waits is sent after the next start."""
        self._closing.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        from proxy.district.connection import connected

        while not self._closing.is_set():
            try:
                for spool in self._spools:
                    spool.open()
                    if dropped := spool.trim():
                        log.warning("district: %d changes were never told: too many wait", dropped)
                with connected(self._settings.district) as connection:
                    self._take_part(connection)
            except DistrictUnavailable as error:
                self._unavailable.warning("district: what is to be shared waits: %s", error)
                self._closing.wait(_REST_S)
            except Exception:  # the thread survives an odd row or a full disk
                log.exception("district: sharing failed")
                self._closing.wait(_REST_S)

    def _take_part(self, connection: "DistrictConnection") -> None:
        """Send and read over one connection until it breaks."""
        from proxy.district.schema import check_version

        check_version(connection)
        while not self._closing.is_set():
            if not self._is_hurried():
                self._round(connection)
            self._closing.wait(_PAUSE_S)

    def _round(self, connection: "DistrictConnection") -> None:
        now = time.monotonic()
        if now >= self._rest_until:
            self._send(connection)
        if now - self._read_at >= _READ_EVERY_S or not self._read_at:
            if self._settings.district.offers:
                self._reader.read(connection, goes_on=lambda: not self._closing.is_set())
            self._read_at = now
        if now - self._tidied_at >= _TIDY_EVERY_S or not self._tidied_at:
            from proxy.district.sending import forget_old

            forget_old(connection, retention_days=self._settings.misses.retention_days)
            self._tidied_at = now

    def _send(self, connection: "DistrictConnection") -> None:
        import psycopg

        from proxy.district.connection import OVER_QUOTA
        from proxy.district.sending import send_batch, show_presence

        try:
            for spool in self._spools:
                spool.open()  # a store may have begun another file
                while not (self._closing.is_set() or self._is_hurried()) and send_batch(connection, spool):
                    pass
        except psycopg.Error as error:
            if error.sqlstate != OVER_QUOTA:
                raise
            self._rest_until = time.monotonic() + _QUOTA_REST_S
            self._unavailable.warning("district: this school has written its share for today; the rest waits")
        show_presence(
            connection,
            version=version(),
            waiting=sum(spool.count() for spool in self._spools),
            retention_days=self._settings.misses.retention_days,
        )
