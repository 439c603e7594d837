"""The collection for an event loop: every call runs in a thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import datetime
from typing import TypeVar

from repair.collection.collection import Collection
from repair.collection.versions import HeldVersions
from repair.model import HeldCopy, HeldPage

T = TypeVar("T")


class AsyncCollection:
    """What user-facing pages need from the collection, besides ranking and search."""

    def __init__(self, collection: Collection, executor: Executor) -> None:
        self._collection = collection
        self._executor = executor

    async def copy(self, url: str) -> HeldCopy | None:
        """The saved copy of a page."""
        return await self._run(lambda: self._collection.copy(url))

    async def versions(self, url: str) -> HeldVersions | None:
        """When the saved versions of a page were fetched."""
        return await self._run(lambda: self._collection.versions(url))

    async def version(self, url: str, moment: datetime) -> HeldCopy | None:
        """The version of a page fetched in a given second."""
        return await self._run(lambda: self._collection.version(url, moment))

    async def page(self, url: str) -> HeldPage | None:
        """The saved page, with or without a copy."""
        return await self._run(lambda: self._collection.get(url))

    async def count(self) -> int:
        """How many pages are saved."""
        return await self._run(lambda: self._collection.page_count())

    async def _run(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, question)
