"""Which origins have a service worker: a script that may read the answers to a user's own navigations.

A worker's own fetch() is told apart by Sec-Fetch-Dest, navigation preload by a field of its own. But Chromium lets a
worker race with the network (`addRoutes`, source `race-network-and-fetch-handler`): the browser then sends the
navigation itself, with nothing to tell it apart, and the worker reads the answer. So what nobody but the user may
read is not answered under the address of a site that has a worker. A worker's script is asked for through us when it
is registered, and again after each visit; the origins are remembered, since workers outlive us.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

_SCHEMA = "CREATE TABLE IF NOT EXISTS workers (origin TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID"
_MOST = 50_000  # origins, the latest seen
_REMEMBERED = 5_000  # of them, in memory


class WorkerOrigins:
    """Origins seen to have a worker, shared by all processes through a file; from any thread.

    Without a `path`, or where the file cannot be used, they are known to this process only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._known: dict[str, None] = {}
        self._lock = threading.Lock()
        self._database = _opened(path) if path is not None else None

    def note(self, url: str) -> None:
        """The origin of a URL has a worker. The disk is touched once for each origin."""
        origin = _origin(url)
        if not origin or origin in self._known:
            return
        with self._lock:
            self._remember(origin)
            if self._database is not None:
                with contextlib.suppress(sqlite3.Error), self._database:
                    self._database.execute(
                        "INSERT OR REPLACE INTO workers VALUES (?, ?)", (origin, time.time())
                    )
                    self._database.execute(
                        "DELETE FROM workers WHERE origin IN (SELECT origin FROM workers ORDER BY at"
                        " LIMIT max(0, (SELECT count(*) FROM workers) - ?))",
                        (_MOST,),
                    )

    def has(self, url: str) -> bool:
        """Whether the origin of a URL was seen to have a worker."""
        origin = _origin(url)
        if origin in self._known:
            return True
        if not origin or self._database is None:
            return False
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._database.execute("SELECT 1 FROM workers WHERE origin = ?", (origin,)).fetchone():
                self._remember(origin)
                return True
        return False

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _remember(self, origin: str) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.pop(next(iter(self._known)))
        self._known[origin] = None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _opened(path: Path) -> sqlite3.Connection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=1, check_same_thread=False)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=OFF")
        database.execute(_SCHEMA)
    except (OSError, sqlite3.Error) as error:
        log.warning("%s: which sites have service workers is known to this process only: %s", path, error)
        return None
    return database
