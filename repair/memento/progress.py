"""One question to all archives, followed while the answers come: what is known so far, and a way to wait for more.

The last good copy is looked for as soon as one archive has answered, and again when others know more; a slow archive
holds up nobody but itself.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from repair.memento.client import MementoClient
from repair.memento.model import Answer, Copy, TimeMap, merged


class Following:
    """What archives say of a URL. `version` grows with everything new; `finished` when nothing more will come."""

    def __init__(self, client: MementoClient, url: str) -> None:
        self.found = TimeMap(url=url)
        self.best: Copy | None = None
        self.version = 0
        self.finished = False
        self._client = client
        self._answers: list[Answer] = []
        self._answered = False
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to ask."""
        self._task = asyncio.ensure_future(self._follow())

    async def stop(self) -> None:
        """Wait for nobody any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, until: Callable[[], bool], *, wait_s: float) -> None:
        """Return when something is so, when all is known, or after a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s), self._news:
                await self._news.wait_for(lambda: self.finished or until())

    async def _follow(self) -> None:
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._look())
                async for answer in self._client.events(self.found.url):
                    self._answers.append(answer)
                    self.found = merged(self.found.url, self._answers)
                    await self._tell()
                self._answered = True
                await self._tell()
        finally:
            self.finished = True
            await self._tell()

    async def _look(self) -> None:
        """Find the last good copy among what is known, as often as more is known."""
        looked = 0
        while True:
            async with self._news:
                await self._news.wait_for(lambda: self._answered or len(self.found.mementos) > looked)  # noqa: B023
            if len(self.found.mementos) == looked:
                return
            looked = len(self.found.mementos)
            best = await self._client.best_of(self.found)
            if best is not None:
                self.best = best
                await self._tell()

    async def _tell(self) -> None:
        self.version += 1
        async with self._news:
            self._news.notify_all()
