"""Which origins have a service worker: a script that may read the answers to a user's own navigations.

Sec-Fetch-Dest shows a worker's own fetch(), another field shows navigation preload. But Chromium lets a worker race
with the network (`addRoutes`, source `race-network-and-fetch-handler`): the browser then sends a normal navigation,
and the worker reads the response. So content for the user only is never sent under the address of a site with a
worker. The browser fetches a worker's script through us when it is registered, and again after each visit. linkmend
stores the origins, since workers outlive a restart.

A client can claim any number of workers. So that it cannot push out real ones, each network may add a limited number
a day; after that, every site counts for this network as one with a worker.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from proxy.privacy.fairness import DailyShare
from repair.bounded import BoundedDict
from repair.sqlite import SqliteFile, transaction

log = logging.getLogger(__name__)

_SCHEMA = "CREATE TABLE IF NOT EXISTS workers (origin TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID"
_MOST = 50_000  # origins, the latest ones
_REMEMBERED = 5_000  # origins in memory
_DAILY = 1_000  # per network; a class that opens a new site every minute stays far below


class ServiceWorkerOrigins:
    """Origins with a worker, shared by all processes through a file; may be used from any thread.

    Without a `path`, or if the file cannot be used, only this process knows them.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._known = BoundedDict[str, None](_REMEMBERED)
        self._lock = threading.Lock()
        self._shares = DailyShare(_DAILY)
        self._database = _open_database(path) if path is not None else None

    def note(self, url: str, client: str = "") -> None:
        """Note that the origin of a URL has a worker, as seen by a client (its code). Writes each origin once."""
        origin = _origin(url)
        if not origin or self._is_known(origin) or not self._shares.take(client):
            return
        with self._lock:
            self._known[origin] = None
            if self._database is not None:
                with contextlib.suppress(sqlite3.Error), transaction(self._database):
                    self._database.execute(
                        "INSERT OR REPLACE INTO workers VALUES (?, ?)", (origin, time.time())
                    )
                    self._database.execute(
                        "DELETE FROM workers WHERE origin IN (SELECT origin FROM workers ORDER BY at"
                        " LIMIT max(0, (SELECT count(*) FROM workers) - ?))",
                        (_MOST,),
                    )

    def has(self, url: str, client: str = "") -> bool:
        """Whether the origin of a URL has a known worker, or may have one since the network's share is used up."""
        origin = _origin(url)
        return bool(origin) and (self._is_known(origin) or self._shares.is_spent(client))

    def _is_known(self, origin: str) -> bool:
        if origin in self._known:
            return True
        if self._database is None:
            return False
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._database.execute("SELECT 1 FROM workers WHERE origin = ?", (origin,)).fetchone():
                self._known[origin] = None
                return True
        return False

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _open_database(path: Path) -> sqlite3.Connection | None:
    try:
        return SqliteFile(path=path, schema=_SCHEMA, busy_s=1.0, synchronous="OFF").open_or_replace()
    except (OSError, sqlite3.Error) as error:
        log.warning(
            "%s: cannot store the list of sites with service workers, keeping it in memory: %s", path, error
        )
        return None
