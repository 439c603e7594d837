"""Progress of one question to all archives: what is known so far, and a way to wait for more.

The search for the last good copy starts when the first archive has answered, and again when others list more
mementos; a slow archive delays only its own answer.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from repair.memento.client import MementoClient
from repair.memento.model import ArchiveAnswer, MementoCopy, TimeMap, merge_answers


class ArchiveProgress:
    """What archives list for a URL. `version` grows with each change; `finished` means that no more will come."""

    def __init__(self, client: MementoClient, url: str) -> None:
        self.found = TimeMap(url=url)
        self.best: MementoCopy | None = None
        self.version = 0
        self.finished = False
        self._client = client
        self._answers: list[ArchiveAnswer] = []
        self._answered = False
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start asking the archives."""
        self._task = asyncio.ensure_future(self._follow())

    async def stop(self) -> None:
        """Cancel what is still under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, until: Callable[[], bool], *, wait_s: float) -> None:
        """Wait until `until()` is true, all is known, or `wait_s` have passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._changed:
                await self._changed.wait_for(lambda: self.finished or until())

    async def _follow(self) -> None:
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._look())
                async for answer in self._client.events(self.found.url):
                    self._answers.append(answer)
                    self.found = merge_answers(self.found.url, self._answers)
                    await self._notify()
                self._answered = True
                await self._notify()
        finally:
            self.finished = True
            await self._notify()

    async def _look(self) -> None:
        """Search for the last good copy, again each time more mementos are known."""
        looked = 0
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._answered or len(self.found.mementos) > looked)  # noqa: B023
            if len(self.found.mementos) == looked:
                return
            looked = len(self.found.mementos)
            best = await self._client.best_of(self.found)
            if best is not None:
                self.best = best
                await self._notify()

    async def _notify(self) -> None:
        self.version += 1
        async with self._changed:
            self._changed.notify_all()
