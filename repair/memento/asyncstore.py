"""The archive store off the event loop: one thread of its own, and no failure that stops a repair.

When the file cannot be read, nothing is remembered; when it cannot admit a query, no archive is queried, since
other processes may be querying it already.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from repair.errors import ArchiveMemoryError
from repair.logs import RateLimitedLogger
from repair.memento.admission import ArchiveAdmission
from repair.memento.database import ArchiveDatabase
from repair.memento.store import ArchiveStore

T = TypeVar("T")
log = logging.getLogger(__name__)


class AsyncArchiveStore:
    """`remembered` and `admission` over one file; ArchiveMemoryError when it cannot be opened."""

    def __init__(
        self, path: Path, *, max_bytes: int, clock: Callable[[], float], keep_s: float = float("inf")
    ) -> None:
        self._notebook = ArchiveDatabase(path)
        self.remembered = ArchiveStore(self._notebook, max_bytes=max_bytes, clock=clock, keep_s=keep_s)
        self.remembered.forget_old()
        self.admission = ArchiveAdmission(self._notebook, clock)
        self._limited_log = RateLimitedLogger(log)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archives")

    async def ask(self, work: Callable[[], T], otherwise: T) -> T:
        """What `work` gives when it is done in our thread, `otherwise` when the file fails."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except ArchiveMemoryError as error:
            self._limited_log.warning("what archives said cannot be remembered: %s", error)
            return otherwise

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        await asyncio.to_thread(self._thread.shutdown)
        self._notebook.close()
