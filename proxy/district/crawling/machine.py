"""This machine among those of the district that crawl: its name, its sign of life, and its connection.

A machine that gives no sign of life for the length of a lease counts as dead: others take over its links and hosts.
All moments are by the clock of PostgreSQL, so that no machine's own clock matters.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psycopg

from proxy.district.connection import OVER_QUOTA, DistrictConnection, connect, unavailable
from proxy.errors import DistrictUnavailable
from proxy.settings import DistrictSettings

log = logging.getLogger(__name__)

_NAME = "machine"
_PAUSE_S = 0.5
_SIGNS = 3  # in the time of a lease

_COME = """
INSERT INTO crawl_machines (machine, lease) VALUES (%(machine)s, %(lease)s * interval '1 second')
ON CONFLICT (machine) DO UPDATE SET seen_at = now(), lease = excluded.lease
"""
_KEEP_TURNS = """
UPDATE crawl_hosts SET turn_until = now() + %(lease)s * interval '1 second' WHERE turn_of = %(machine)s
"""
_LEAVE_TURNS = """
UPDATE crawl_hosts SET turn_of = '', turn_until = '-infinity' WHERE turn_of = %(machine)s
"""
_LEAVE_HOSTS = """
UPDATE crawl_hosts SET machine = '', leased_until = '-infinity' WHERE machine = %(machine)s
"""
_FORGET = "SELECT forget_expired()"

T = TypeVar("T")


class CrawlMachine:
    """One process that crawls. Methods block, and may be called from any thread."""

    def __init__(self, settings: DistrictSettings, folder: Path, *, patience_s: float | None = None) -> None:
        """`folder` keeps the machine's name. Work is tried again for `patience_s`, as long as a lease by default."""
        self.name = _name_in(folder)
        self.lease_s = settings.crawl_lease_s
        self._patience_s = self.lease_s if patience_s is None else patience_s
        self._settings = settings
        self._connection: DistrictConnection | None = None
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._signs = threading.Thread(target=self._give_signs, name="crawl machine", daemon=True)

    @property
    def names(self) -> dict[str, object]:
        """What statements call this machine and its lease."""
        return {"machine": self.name, "lease": self.lease_s}

    def start(self) -> None:
        """Say that this machine is there. What a killed process of it was at is free again; its pauses stay."""

        def come(connection: DistrictConnection) -> None:
            for statement in (_COME, _LEAVE_TURNS, _FORGET):
                connection.execute(statement, self.names)

        self.run(come)
        self._signs.start()

    def close(self) -> None:
        """Leave the hosts to others."""
        self._stopping.set()
        if self._signs.is_alive():
            self._signs.join()
        try:
            with self._lock:
                if self._connection is not None:
                    for statement in (_LEAVE_TURNS, _LEAVE_HOSTS):
                        self._connection.execute(statement, self.names)
        except psycopg.Error as error:
            log.warning("hosts stay leased until their time is over: %s", unavailable(error))
        finally:
            self._disconnect()

    def run(self, work: Callable[[DistrictConnection], T]) -> T:
        """Do work in one transaction, again while the database is away: it must bear being done twice.

        Raises DistrictUnavailable.
        """
        end = time.monotonic() + self._patience_s
        while True:
            try:
                with self._lock:
                    return self._try(work)
            except psycopg.DataError as error:
                raise unavailable(error) from error
            except (psycopg.Error, DistrictUnavailable) as error:
                self._disconnect()
                if isinstance(error, psycopg.Error) and error.sqlstate == OVER_QUOTA:
                    raise unavailable(error) from error
                if time.monotonic() > end or self._stopping.is_set():
                    raise unavailable(error) if isinstance(error, psycopg.Error) else error from error
                log.debug("the district's database: %s; trying again", error)
            time.sleep(_PAUSE_S)

    def _try(self, work: Callable[[DistrictConnection], T]) -> T:
        if self._connection is None:
            self._connection = connect(self._settings)
        with self._connection.transaction():
            return work(self._connection)

    def _disconnect(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _give_signs(self) -> None:
        """On a connection of its own: the other may be waiting for something."""
        connection: DistrictConnection | None = None
        while not self._stopping.wait(self.lease_s / _SIGNS):
            try:
                connection = connection or connect(self._settings)
                for statement in (_COME, _KEEP_TURNS):
                    connection.execute(statement, self.names)
            except (psycopg.Error, DistrictUnavailable) as error:
                log.warning("no sign of life to the district: %s", error)
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()


def _name_in(folder: Path) -> str:
    """The machine's name, made once: a crawl that was killed and started again takes up its own links at once."""
    path = folder / _NAME
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(secrets.token_hex(8), encoding="ascii")
    return path.read_text(encoding="ascii").strip()[:80]
