"""Writes a streamed body to disk without ever blocking the stream to the client.

Chunks go to a thread through a bounded backlog. If anything goes wrong (the disk is too slow, full or broken, the
body is too long to store), the spool gives up: the client's stream goes on, nothing is stored.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from proxy.messages import FileBody
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

IN_MEMORY_BYTES = 256 * 1024
"""Bodies up to this size stay in memory."""
BACKLOG_BYTES = 8 * 1024**2
"""Bytes of one body that may wait for the disk ..."""
ALL_BACKLOGS_BYTES = 64 * 1024**2
"""... and of all bodies together."""
_THREADS = 4


class SpoolPool:
    """The directory, the threads and the shared backlog of all spools of one store."""

    def __init__(self, directory: Path, *, max_body_bytes: int) -> None:
        self.directory = directory
        self.max_body_bytes = max_body_bytes
        self.pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="linkmend-spool")
        self.lock = threading.Lock()
        self.waiting_bytes = 0
        self.limited_log = RateLimitedLogger(log)

    def spool(self) -> "Spool":
        return Spool(self)

    def close(self) -> None:
        """Finishes queued writes; spools that are still open give up."""
        self.pool.shutdown(wait=False)


class Spool:
    """One body. Call `write` and `abandon` in the event loop's thread; `_drain` runs in the room's threads."""

    def __init__(self, room: SpoolPool) -> None:
        self.size = 0
        self.abandoned = False
        self._room = room
        self._chunks: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._draining = False
        self._ended = False
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        self._finished: Future[FileBody | None] = Future()

    def write(self, chunk: bytes) -> None:
        """Takes the next chunk; ignores it once the spool is abandoned."""
        if self.abandoned or self._ended or not chunk:
            return
        room = self._room
        self.size += len(chunk)
        with room.lock:
            self._chunks.append(chunk)
            self._waiting_bytes += len(chunk)
            room.waiting_bytes += len(chunk)
            behind = self._waiting_bytes > BACKLOG_BYTES or room.waiting_bytes > ALL_BACKLOGS_BYTES
        if behind:
            room.limited_log.warning("cache: disk too slow, body of more than %d bytes not stored", self.size)
        if behind or self.size > room.max_body_bytes:
            self.abandon()
        elif self.size > IN_MEMORY_BYTES:
            self._drain_soon()

    async def finish(self) -> bytes | FileBody | None:
        """The whole body, None when abandoned. The caller owns a FileBody: pass it to the store or abandon it."""
        if self.abandoned:
            return None
        self._ended = True
        if self.size <= IN_MEMORY_BYTES:
            with self._room.lock:
                body = b"".join(self._chunks)
                self._empty()
            return body
        self._drain_soon()
        try:
            written: FileBody | None = await asyncio.shield(asyncio.wrap_future(self._finished))
        except asyncio.CancelledError:
            self.abandon()
            raise
        return None if self.abandoned else written

    def abandon(self) -> None:
        """Gives up, or removes the file of `finish` unless the store has taken it. May be called again."""
        if self.abandoned:
            return
        self.abandoned = True
        with self._room.lock:
            self._empty()
        if self.size > IN_MEMORY_BYTES:
            self._drain_soon()

    def _empty(self) -> None:
        self._chunks.clear()
        self._room.waiting_bytes -= self._waiting_bytes
        self._waiting_bytes = 0

    def _drain_soon(self) -> None:
        with self._room.lock:
            if self._draining:
                return
            self._draining = True
        try:
            self._room.pool.submit(self._drain)
        except RuntimeError:  # the room is closed
            self.abandoned = True
            self._conclude(abandoned=True)

    def _drain(self) -> None:
        """Writes until nothing is left; only one thread at a time, so that chunks stay in order."""
        again = True
        while again:
            try:
                again = self._step()
            except OSError as error:
                self._room.limited_log.warning("cache: body not stored: %s", error)
                self.abandoned = True
                with self._room.lock:
                    self._empty()

    def _step(self) -> bool:
        """Writes waiting chunks, or concludes; False when this thread may stop."""
        abandoned = self.abandoned
        with self._room.lock:
            chunks = list(self._chunks)
            self._chunks.clear()
        if chunks and not abandoned:
            self._write_out(chunks)
            return True
        if self._ended or abandoned:
            self._conclude(abandoned=abandoned)
        with self._room.lock:
            # More chunks, the end or `abandon` may have come meanwhile.
            unfinished = self._ended and not self._finished.done()
            self._draining = bool(self._chunks) or unfinished or self.abandoned != abandoned
            return self._draining

    def _write_out(self, chunks: list[bytes]) -> None:
        if self._file is None:
            self._path = self._room.directory / token_hex(16)
            self._file = open(self._path, "xb")  # noqa: SIM115  closed in _conclude
        data = b"".join(chunks)
        self._file.write(data)
        with self._room.lock:
            if not self.abandoned:  # else `_empty` has counted these too
                self._waiting_bytes -= len(data)
                self._room.waiting_bytes -= len(data)

    def _conclude(self, *, abandoned: bool) -> None:
        if self._file is not None and not abandoned:
            self._file.flush()
            # Later only the length of a large body is checked: after a power cut it must be right.
            os.fsync(self._file.fileno())
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # a full disk refuses the buffered bytes once more
                file.close()
        if abandoned and self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        if not self._finished.done():
            path = None if abandoned else self._path
            self._finished.set_result(None if path is None else FileBody(path=path, size=self.size))
