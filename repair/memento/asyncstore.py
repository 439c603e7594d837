"""The memory of archives off the event loop: one thread of its own, and no failure that stops a reader.

When the file cannot be read, nothing is remembered; when leave to ask cannot be had there, nothing is asked, since
other processes may be asking already.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from repair.errors import ArchiveMemoryError
from repair.memento.database import Notebook
from repair.memento.remembered import Remembered
from repair.memento.turns import Turns

T = TypeVar("T")
log = logging.getLogger(__name__)


class Memory:
    """`remembered` and `turns` over one file; ArchiveMemoryError when it cannot be opened."""

    def __init__(
        self, path: Path, *, max_bytes: int, clock: Callable[[], float], keep_s: float = float("inf")
    ) -> None:
        self._notebook = Notebook(path)
        self.remembered = Remembered(self._notebook, max_bytes=max_bytes, clock=clock, keep_s=keep_s)
        self.remembered.forget_old()
        self.turns = Turns(self._notebook, clock)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archives")

    async def ask(self, work: Callable[[], T], otherwise: T) -> T:
        """What `work` gives when it is done in our thread, `otherwise` when the file fails."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except ArchiveMemoryError as error:
            log.warning("%s", error)
            return otherwise

    async def close(self) -> None:
        """Finish what was begun and close the file."""
        await asyncio.to_thread(self._thread.shutdown)
        self._notebook.close()
