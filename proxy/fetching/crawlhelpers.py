"""Processes beside a crawl that read pages and keep the index up to date, so that it uses a second core.

They write nothing but the index, and end with the crawl however that ends. One that dies costs the pages it was
reading a second try.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import TypeVar

from proxy.fetching.entries import TemporaryFetchError
from repair.collection.collection import Collection, PageAddition
from repair.crawling.pagejudge import document_terms
from repair.errors import RepairError
from repair.evidence.hints import Hints
from repair.harvest import addition_of, copy_of
from repair.model import Page
from repair.settings import CollectionSettings, RepairSettings
from repair.soft404.judge import PageJudgement, judge
from repair.text.fingerprints import fingerprint

log = logging.getLogger(__name__)

_SLICE = 500
_PATIENCE_S = (
    120.0  # a crawl finds new links to the same pages all the time, and each would mean to index them anew
)
_LAST_S = 120.0  # the longest that the end of a crawl waits for the index

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledPage:
    """All that a crawl needs of a page, from one process in one go; `addition` is None for what is no document."""

    judgement: PageJudgement
    addition: PageAddition | None
    terms: tuple[str, ...] = ()
    fingerprint: int | None = None


def read_page(page: Page, settings: CollectionSettings) -> CrawledPage:
    """Read a fetched page. Raises FileTooCostly."""
    addition = addition_of(page, settings, pinned=True)
    if addition is None:
        return CrawledPage(judgement=judge(page), addition=None)
    terms = tuple(document_terms(addition.document))
    return CrawledPage(judgement=judge(page), addition=addition, terms=terms, fingerprint=fingerprint(terms))


def _read_without_copy(page: Page, settings: CollectionSettings) -> CrawledPage:
    """The same for another process: one that has the page need not be sent its bytes."""
    reading = read_page(page, settings)
    if reading.addition is None or page.header("content-encoding"):
        return reading
    return replace(reading, addition=replace(reading.addition, copy=None))


class CrawlHelpers:
    """One process that reads and one that indexes (there is one writer of an index), started with the first page.
    For one event loop."""

    def __init__(
        self, collection: Collection, folder: Path, settings: CollectionSettings, repair: RepairSettings
    ) -> None:
        """`collection` is the one in the `folder`; it leaves its index to the helpers."""
        self._held, self._folder, self._collection, self._repair = collection, folder, settings, repair
        self._pools: dict[str, ProcessPoolExecutor] = {}
        self._indexing: asyncio.Task[None] | None = None

    @property
    def keeps_index(self) -> bool:
        """Whether they keep the index up to date: from the first page on."""
        return self._indexing is not None

    async def read(self, page: Page) -> CrawledPage:
        """Read a fetched page. Raises FileTooCostly, and TemporaryFetchError when the process that read it died."""
        if self._indexing is None:
            self._indexing = asyncio.create_task(self._keep_indexing())
        try:
            reading = await self._run("reader", _read_without_copy, page, self._collection)
        except BrokenExecutor as error:
            self._pools.pop("reader", None)
            raise TemporaryFetchError("the process that read it died") from error
        if reading.addition is None or reading.addition.copy is not None:
            return reading
        return replace(reading, addition=replace(reading.addition, copy=copy_of(page, self._collection)))

    async def close(self) -> None:
        """Index what is left, then end the processes."""
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait((self._indexing,))
            until = time.monotonic() + _LAST_S
            while await self._index() == _SLICE and time.monotonic() < until:
                pass
        for pool in self._pools.values():
            await asyncio.to_thread(pool.shutdown)

    async def _keep_indexing(self) -> None:
        while True:
            if await self._index() < _SLICE:
                await asyncio.sleep(self._collection.commit_every_s)

    async def _index(self) -> int:
        try:
            await asyncio.to_thread(self._held.leave_index)
            return await self._run("indexer", _index_some, self._folder, self._collection, self._repair)
        except BrokenExecutor:
            self._pools.pop("indexer", None)
            return 0

    async def _run(self, process: str, work: Callable[..., T], *arguments: object) -> T:
        pool = self._pools.get(process)
        if pool is None:
            pool = self._pools[process] = ProcessPoolExecutor(
                1, mp_context=multiprocessing.get_context("spawn"), initializer=_set_up
            )
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)


def _index_some(folder: Path, settings: CollectionSettings, repair: RepairSettings) -> int:
    """Index some pages that are due; returns how many, 0 also when that fails: what is due stays due."""
    try:
        collection, hints = _open_collection(folder, settings, repair)
        indexed = collection.index_some(_SLICE, patience_s=_PATIENCE_S)
        if indexed < _SLICE:
            hints.catch_up()
    except (RepairError, OSError) as error:
        log.warning("crawl: indexing failed: %s", error)
        return 0
    return indexed


@cache
def _open_collection(
    folder: Path, settings: CollectionSettings, repair: RepairSettings
) -> tuple[Collection, Hints]:
    collection = Collection.open(folder, settings)
    return collection, Hints(collection, repair)


def _set_up() -> None:
    gc.freeze()  # what was imported stays
    _end_with_parent()


def _end_with_parent() -> None:
    """End this process when its parent does, even by `kill -9`: nobody else would."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait((parent.sentinel,))
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
