"""The rules in force, kept in step with their folder: an edit takes effect within two seconds, a bad one does not.

The folder is looked at twice a second rather than watched by inotify: that works on every file system, for lists
behind links and for folders that come and go, and costs a few calls of stat. A change is read once the folder has
stood still for a moment, so that a file is not read while it is being written.
"""

import asyncio
import logging
import threading
from pathlib import Path

from proxy.rules.book import RuleBook
from proxy.rules.folder import all_files, load
from proxy.rules.lastgood import LastGood
from proxy.rules.model import Fault, RulesError

log = logging.getLogger(__name__)

_SETTLE_LOOKS = 4

State = tuple[tuple[str, int, int, int, int], ...]
"""Names, identities, sizes and times of all files of a folder."""


class LiveRules:
    """The last good book of a folder; without a folder, no rules.

    With `kept`, the last good rules are also kept there, and a start with bad ones goes on with them.
    """

    def __init__(self, folder: Path, *, kept: Path | None = None, look_every_s: float = 0.4) -> None:
        self.folder = folder
        self._look_every_s = look_every_s
        self.book = RuleBook()
        self.faults: tuple[Fault, ...] = ()
        """What is wrong with the folder now, in order; empty when the book is what the folder says."""
        self._kept = LastGood(kept) if kept else None
        self._lock = threading.Lock()
        self._state: State | None = None
        if not self.reload() and self._kept:
            self.book = self._kept.book()

    @property
    def fault(self) -> str | None:
        """What is wrong with the rules in the folder, with file, line and reason; None when they are in force."""
        if not self.faults:
            return None
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return f"{self.faults[0]}{more}"

    async def watch(self) -> None:
        """Follow the folder until cancelled."""
        while True:
            await asyncio.sleep(self._look_every_s)
            state = await asyncio.to_thread(_state, self.folder)
            if state == self._state:
                continue
            for _ in range(_SETTLE_LOOKS):
                await asyncio.sleep(self._look_every_s / 2)
                before, state = state, await asyncio.to_thread(_state, self.folder)
                if state == before:
                    break
            await asyncio.to_thread(self.reload)

    def reload(self) -> bool:
        """Read the folder now; False when it has a fault and the last good book stays. Call it off the event loop."""
        with self._lock:
            self._state = _state(self.folder)
            texts: dict[str, str] = {}
            try:
                book = load(self.folder, read=texts)
            except RulesError as error:
                if error.faults != self.faults:
                    log.error("rules not taken over, the last good ones stay: %s", error)
                self.faults = error.faults
                return False
            if book.rules or self.book.rules or self.faults:
                log.info("rules in force: %d", len(book.rules))
            self.book, self.faults = book, ()
            if self._kept:
                self._kept.keep(texts)
            return True


def _state(folder: Path) -> State:
    """What all files of a folder look like from outside; empty when there is none."""
    found = []
    for name in all_files(folder):
        try:
            seen = (folder / name).stat()
        except OSError:
            continue
        found.append((name, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
    return tuple(found)
