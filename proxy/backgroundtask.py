"""A task that goes on beside everything else until it is closed."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


class BackgroundTask:
    """At most one task; for one event loop."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(work)

    async def wait(self) -> None:
        """Until it has ended by itself; at once if it never began."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def close(self) -> None:
        """Cancel it, and wait until it has cleared up. What it failed with is raised here."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
