"""The active rules, reloaded from their folder: a valid edit takes effect within two seconds, an invalid one never.

linkmend polls the folder twice a second instead of using inotify: that works on every file system, for lists behind
links and for folders that come and go, and costs a few stat calls. It reads a change once the folder has been
unchanged for a moment, so that it does not read a file while it is being written.
"""

import asyncio
import logging
import threading
from pathlib import Path

from proxy.rules.folder import all_files, load, text_of
from proxy.rules.lastgood import LastGoodRules
from proxy.rules.model import Rule, RuleFault, RulesError
from proxy.rules.pushed import MAX_PUSHED, parse_pushed, with_pushed
from proxy.rules.ruleset import RuleSet

log = logging.getLogger(__name__)

_SETTLE_LOOKS = 4

State = tuple[tuple[str, int, int, int, int], ...]
"""Names, identities, sizes and times of all files of a folder."""


class LiveRules:
    """The last valid rule set of a folder; no rules if there is no folder.

    With `kept`, the last valid rules are also saved there, and a start with invalid rules uses them. Rules in the
    file `below` apply after them.
    """

    def __init__(
        self,
        folder: Path,
        *,
        kept: Path | None = None,
        below: Path | None = None,
        look_every_s: float = 0.4,
    ) -> None:
        self.folder = folder
        self._below = below
        self._look_every_s = look_every_s
        self.ruleset = RuleSet()
        self.faults: tuple[RuleFault, ...] = ()
        """The current faults of the folder, in order; empty when its rules are active."""
        self._kept = LastGoodRules(kept) if kept else None
        self._lock = threading.Lock()
        self._state: State | None = None
        if not self.reload() and self._kept:
            self.ruleset = with_pushed(self._kept.ruleset(), self._pushed())

    @property
    def fault(self) -> str | None:
        """The first fault of the rules in the folder, with file, line and reason; None when they are active."""
        if not self.faults:
            return None
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return f"{self.faults[0]}{more}"

    async def watch(self) -> None:
        """Follow the folder until cancelled."""
        while True:
            await asyncio.sleep(self._look_every_s)
            state = await asyncio.to_thread(self._look)
            if state == self._state:
                continue
            for _ in range(_SETTLE_LOOKS):
                await asyncio.sleep(self._look_every_s / 2)
                before, state = state, await asyncio.to_thread(self._look)
                if state == before:
                    break
            await asyncio.to_thread(self.reload)

    def reload(self) -> bool:
        """Read the folder now; False when it has faults and the last valid rules stay. Call it off the event loop."""
        with self._lock:
            self._state = self._look()
            texts: dict[str, str] = {}
            try:
                ruleset = load(self.folder, read=texts)
            except RulesError as error:
                if error.faults != self.faults:
                    log.error("rules not reloaded, keeping the last valid ones: %s", error)
                self.faults = error.faults
                return False
            ruleset = with_pushed(ruleset, self._pushed())
            if ruleset.rules or self.ruleset.rules or self.faults:
                log.info("rules loaded: %d", len(ruleset.rules))
            self.ruleset, self.faults = ruleset, ()
            if self._kept:
                self._kept.keep(texts)
            return True

    def _look(self) -> State:
        below = (_status(self._below.parent, self._below.name),) if self._below else ()
        return (*_state(self.folder), *filter(None, below))

    def _pushed(self) -> tuple[Rule, ...]:
        """The rules below; none when there is no such file, or it cannot be used."""
        if self._below is None:
            return ()
        try:
            return parse_pushed(text_of(self._below, 4 * MAX_PUSHED))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, RulesError) as error:
            log.error("the district's rules are left out: %s", error)
            return ()


def _state(folder: Path) -> State:
    """The file status of all files in a folder; empty when there is no folder."""
    return tuple(filter(None, (_status(folder, name) for name in all_files(folder))))


def _status(folder: Path, name: str) -> tuple[str, int, int, int, int] | None:
    try:
        seen = (folder / name).stat()
    except OSError:
        return None
    return (name, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
