"""Sources of evidence: each looks at a broken link its own way and says in words what the lost page was about.

Every source can be absent, late or wrong; `repair.gather` sees that this costs its own evidence and nothing else.
"""

import asyncio
from concurrent.futures import Executor
from typing import Protocol

from repair.model import BrokenLink, Evidence


class Source(Protocol):
    """What `repair.gather` asks."""

    name: str

    async def evidence(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""


class LocalSource(Protocol):
    """A source that needs no network: plain blocking code over the collection."""

    name: str

    def find(self, link: BrokenLink) -> Evidence | None:
        """What this source knows of the lost page; None when nothing."""


class InExecutor:
    """A local source as one that can be awaited; it runs in threads that the caller provides."""

    def __init__(self, source: LocalSource, executor: Executor) -> None:
        self.name = source.name
        self._source = source
        self._executor = executor

    async def evidence(self, link: BrokenLink) -> Evidence | None:
        """What the source finds."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._source.find, link)
