"""Watches the parent proxy: probes it at the start and all the time, and says in the log when that changes.

Without it, a dead parent looks like a dead internet: every site seems to be down.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from proxy.backgroundtask import BackgroundTask
from proxy.http.parentprobe import ParentProbe, ParentState, probe_parent

log = logging.getLogger(__name__)

_EVERY_S = 10.0
_WHILE_DOWN_S = 5.0

Probe = Callable[[str], Awaitable[ParentProbe]]


class ParentWatch:
    """`fault` says why no page can come through the parent; it is empty when all is well, or none is set."""

    def __init__(self, parent: Callable[[], str], probe: Probe = probe_parent) -> None:
        """`parent` gives the setting, which may change."""
        self._parent = parent
        self._probe = probe
        self._known: tuple[str, ParentState] | None = None
        self._task = BackgroundTask()
        self.fault = ""

    async def start(self) -> None:
        self._task.start(self._watch())

    async def close(self) -> None:
        await self._task.close()

    async def _watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_WHILE_DOWN_S if self.fault else _EVERY_S)

    async def look(self) -> None:
        """Probe the parent once."""
        parent = self._parent()
        if not parent:
            self._known, self.fault = None, ""
            return
        self._note(parent, await self._probe(parent))

    def _note(self, parent: str, probe: ParentProbe) -> None:
        before, self._known = self._known, (parent, probe.state)
        words = "is no proxy" if probe.state is ParentState.WRONG else "does not answer"
        self.fault = "" if probe.is_usable else f"the parent proxy {parent} {words} ({probe.detail})"
        if self._known == before:
            return
        if self.fault:
            log.error("%s: users get only what is saved", self.fault)
        elif probe.detail:
            log.warning("the parent proxy %s: %s", parent, probe.detail)
        elif before is not None:
            log.info("the parent proxy %s answers", parent)
