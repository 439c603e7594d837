"""Turns at hosts across processes: the fetch queue of the proxy and a crawl never ask one host at the same time.

A turn is a locked file, so it ends with its process however that ends. The file says when the host may be asked
again, written before the request too: a process that is killed and started again keeps the pause. Hosts share a fixed
number of files; two that share one wait for each other, which does no harm.
"""

import asyncio
import os
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from repair.locks import lock_alone

_FILES = 4096
_POLL_S = 0.05
_LONGEST_PAUSE_S = 60.0


class Turns(Protocol):
    """One request at a time to each host, among all who share these turns."""

    def at(self, host: str, *, pause_s: float) -> AbstractAsyncContextManager[None]:
        """Have the turn at a host, after the pause that the last one set; the next is `pause_s` after it."""

    async def rest(self, host: str, after_s: float) -> None:
        """Nobody has a turn at this host for a while: it asked for that."""


class HostTurns:
    """The turns kept in a folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        folder.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def at(self, host: str, *, pause_s: float) -> AsyncIterator[None]:
        """Have the turn at a host, after the pause that the last one set."""
        path = self._path(host)
        while (handle := lock_alone(path)) is None:
            await asyncio.sleep(_POLL_S)
        try:
            # Bounded: the clock may have been set back since.
            await asyncio.sleep(min(max(0.0, _read(handle) - self._clock()), _LONGEST_PAUSE_S))
            _write(handle, self._clock() + pause_s)
            try:
                yield
            finally:
                _write(handle, self._clock() + pause_s)
        finally:
            os.close(handle)

    async def rest(self, host: str, after_s: float) -> None:
        """Other processes leave the host alone for as long as it asked, a minute at most."""
        handle = lock_alone(self._path(host))
        if handle is not None:  # else somebody is at it, and will be told as well
            _write(handle, self._clock() + after_s)
            os.close(handle)

    def _path(self, host: str) -> Path:
        return self._folder / f"{zlib.crc32(host.encode()) % _FILES:03x}.lock"


def _read(handle: int) -> float:
    try:
        return float(os.pread(handle, 40, 0))
    except ValueError:
        return 0.0  # new, or cut off


def _write(handle: int, free_at: float) -> None:
    os.pwrite(handle, f"{free_at:020.3f}".encode(), 0)
