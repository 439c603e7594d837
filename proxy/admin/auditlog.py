"""The audit log: who changed what at the desk and when, a JSON object a line. It names accounts, never addresses of
clients, and of a page only its site: what an admin erases elsewhere must not live on here.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

log = logging.getLogger(__name__)

AUDIT_FILE = "audit.jsonl"
"""Its name in the data folder."""
MAX_AUDIT_BYTES = 4 * 1024**2
_MAX_FIELD = 120
_MAX_LINE = 4_000


class AuditEntry(Struct, kw_only=True, frozen=True):
    """One change, or one login that failed."""

    at: datetime
    who: str
    """The name of an account, `admin`, `token NAME`, or `terminal`; "" for somebody unknown."""
    role: str = ""
    action: str
    about: str = ""
    status: int = 0
    """The status of the response; 0 for what was no request."""


class AuditLog:
    """Appends to the file; a full one is renamed, and the one before it dropped. Safe in threads."""

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = MAX_AUDIT_BYTES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()

    def note(self, action: str, *, who: str, role: str = "", about: str = "", status: int = 0) -> None:
        """Write an entry; a disk that fails costs the entry and a line in the log."""
        entry = AuditEntry(
            at=self._clock(),
            who=_short(who),
            role=role,
            action=_short(action),
            about=_short(about),
            status=status,
        )
        line = msgspec.json.encode(entry) + b"\n"
        try:
            with self._lock:
                self._make_room(len(line))
                self._path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                with os.fdopen(descriptor, "ab") as file:
                    file.write(line)
        except OSError as error:
            log.warning("audit log: %s: %s", self._path, error.strerror or error)

    def recent(self, limit: int) -> tuple[AuditEntry, ...]:
        """The latest entries, the newest first; lines that are damaged are left out."""
        lines = deque[bytes](maxlen=limit)
        for path in (self._older, self._path):
            try:
                with path.open("rb") as file:
                    lines.extend(line for line in file if len(line) <= _MAX_LINE)
            except FileNotFoundError:
                continue
        found = []
        for line in reversed(lines):
            try:
                found.append(msgspec.json.decode(line, type=AuditEntry))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
        return tuple(found)

    @property
    def _older(self) -> Path:
        return self._path.with_name(f"{self._path.name}.1")

    def _make_room(self, more: int) -> None:
        try:
            if self._path.stat().st_size + more > self._max_bytes:
                self._path.replace(self._older)
        except FileNotFoundError:
            return


def _short(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:_MAX_FIELD]
