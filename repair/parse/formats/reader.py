"""Reads PDF, EPUB, DOCX and ODT files, and worksheets, by a helper process that starts with the first of them.

Every call blocks until the file is read or given up: threads call it, never an event loop. One file is read at a
time. A helper that dies or takes too long costs its file; the next file gets another helper. What is left of a
process that ended is a closed socket, so the helper ends too.
"""

import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

import repair
from repair.bounded import BoundedDict
from repair.errors import FileTooCostly
from repair.parse.formats.extraction import Extraction, Refusal
from repair.parse.formats.kinds import FileKind
from repair.parse.formats.wire import (
    KINDS,
    MAX_REPLY_BYTES,
    REPLY,
    REQUEST,
    WORKSHEET,
    Ended,
    Reply,
    decode_reply,
    receive,
)
from repair.parse.formats.worksheets.model import RewrittenWorksheet, WorksheetContent, WorksheetJob

_REMEMBERED = 1_000
_LEAVING_S = 1.0
# What the helper's Python needs of our environment. Nothing else: it may hold secrets.
_ENVIRONMENT = ("LD_LIBRARY_PATH", "PYTHONPYCACHEPREFIX", "PYTHONHOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """What one file may cost."""

    max_bytes: int = 64 * 1024**2
    """As large as an import allows."""
    memory_bytes: int = 640 * 1024**2
    """Of the helper, the file and its own code included."""
    cpu_s: int = 10
    wall_s: float = 120.0
    """Much longer, since the backend gives way to traffic, and the helper with it: processor time is the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReaderStats:
    """What happened so far; a helper is `lost` when it dies or is killed."""

    started: int = 0
    read: int = 0
    refused: int = 0
    lost: int = 0


class FileReader:
    """Reads files; threads may share it."""

    def __init__(self, limits: FileLimits | None = None) -> None:
        self._limits = limits or FileLimits()
        self._lock = threading.Lock()
        self._helper: _Helper | None = None
        self._unreadable = BoundedDict[bytes, str](_REMEMBERED)
        self._started = self._read = self._refused = self._lost = 0

    def read(self, kind: FileKind, body: bytes) -> Extraction | None:
        """The content of a file; None when it is not readable.

        Raises FileTooCostly when it took a helper with it, and OSError when none can be started.
        """
        reply = self._read_once(KINDS.index(kind), body)
        return reply if isinstance(reply, Extraction) else None

    def run(self, job: WorksheetJob) -> WorksheetContent | RewrittenWorksheet | Refusal:
        """The links of a worksheet, or the worksheet with other links; or why there is neither. Raises as `read`."""
        reply = self._read_once(WORKSHEET, msgspec.msgpack.encode(job))
        return Refusal(reason="not readable") if reply is None or isinstance(reply, Extraction) else reply

    def _read_once(self, number: int, body: bytes) -> Reply | None:
        """What the helper makes of a file; None for one that is too large, or was not readable before."""
        if len(body) > self._limits.max_bytes:
            return None
        digest = hashlib.blake2b(body, digest_size=16).digest()
        with self._lock:
            if digest in self._unreadable:
                return Refusal(reason=self._unreadable[digest])
            try:
                return self._request(number, body, digest)
            except Ended as error:
                self._lost += 1
                self._unreadable[digest] = "too costly"
                raise FileTooCostly(f"reading it took too much time or memory ({error})") from error

    def stats(self) -> FileReaderStats:
        return FileReaderStats(started=self._started, read=self._read, refused=self._refused, lost=self._lost)

    def close(self) -> None:
        """End the helper; the next file would start another."""
        with self._lock:
            self._drop_helper()

    def _request(self, number: int, body: bytes, digest: bytes) -> Reply:
        helper = self._running_helper()
        try:
            reply = helper.request(number, body)
        except Ended:
            has_left = helper.has_left()
            self._drop_helper()
            if not has_left:
                raise
            return self._request(number, body, digest)
        if not isinstance(reply, Refusal):
            self._read += 1
            return reply
        self._refused += 1
        self._unreadable[digest] = reply.reason
        if reply.is_last:
            self._drop_helper()
        return reply

    def _running_helper(self) -> "_Helper":
        if self._helper is None or not self._helper.is_usable():
            self._drop_helper()
            self._helper = _Helper(self._limits)
            self._started += 1
        return self._helper

    def _drop_helper(self) -> None:
        if self._helper is not None:
            self._helper.end()
            self._helper = None


class _Helper:
    """One helper process, and the socket to it."""

    def __init__(self, limits: FileLimits) -> None:
        self._limits = limits
        self._owner = os.getpid()
        self._connection, theirs = socket.socketpair()
        values = (limits.memory_bytes, limits.max_bytes, limits.cpu_s)
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            self._process = subprocess.Popen(  # noqa: S603  (our own module, and numbers)
                (sys.executable, "-P", "-m", "repair.parse.formats.helper", *map(str, values)),
                stdin=theirs.fileno(),  # number 0 there, however many are open here: `select` takes 1,023
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment | {"PYTHONPATH": str(Path(repair.__file__).parent.parent)},
                cwd="/",
                start_new_session=True,  # Ctrl-C on a terminal is for us
            )
        except OSError:
            self._connection.close()
            raise
        finally:
            theirs.close()

    def is_usable(self) -> bool:
        """Whether it runs, and belongs to this process rather than to the one that forked it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def request(self, number: int, body: bytes) -> Reply:
        """What the helper makes of a file. Raises Ended."""
        until = time.monotonic() + self._limits.wall_s
        try:
            self._connection.settimeout(self._limits.wall_s)
            self._connection.sendall(REQUEST.pack(number, len(body)))
            self._connection.sendall(body)
        except OSError as error:
            raise Ended(str(error)) from error
        (size,) = REPLY.unpack(receive(self._connection, REPLY.size, until=until))
        if size > MAX_REPLY_BYTES:
            raise Ended(f"a reply of {size} bytes")
        return decode_reply(receive(self._connection, size, until=until))

    def has_left(self) -> bool:
        """Whether it ended by itself, for lack of work, just when it was asked: not the file's fault."""
        try:
            return self._process.wait(_LEAVING_S) == 0
        except subprocess.TimeoutExpired:
            return False

    def end(self) -> None:
        self._connection.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
