"""The programs under trial: linkmend with two workers over a small disk, and maybe a Squid."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.judge import Judge
from tests.integration.clock import Clock
from tests.integration.processes import Linkmend
from tests.integration.squid import Squid

_SETTINGS = """
[log]
level = "debug"
[proxy]
trusted_ca = "{trusted}"
connect_timeout_s = {connect_s}
first_byte_timeout_s = {first_byte_s}
request_timeout_s = 5.0
stop_grace_s = 2.0
parent = "{parent}"
[cache]
max_bytes = 6_000_000
memory_bytes = 1_000_000
stream_over_bytes = 200_000
collapse_wait_s = {collapse_s}
[collection]
commit_every_s = 0.5
[repair]
deadline_s = {repair_s}
[archives]
list = ["ill wayback=http://127.0.0.1:{archive_port}/"]
archive_deadline_s = 2.0
deadline_s = 3.0
[fetch]
enabled = false
"""
_LIMITS = {"connect_s": 4.0, "first_byte_s": 5.0, "collapse_s": 4.0, "repair_s": 1.0}
_BUSY_S = 12.0  # more than one program runs on this machine
PATIENCE_S = 2 * sum(_LIMITS.values()) + _BUSY_S
"""The longest that linkmend may take by its settings, with all of them used up twice; and a busy machine."""
DISK_BYTES = 120 * 1024 * 1024
_START_S = 120.0


class Proxy(Linkmend):
    """linkmend, its output in a file rather than in memory; what it says of processes and faults is noted."""

    def __init__(self, data: Path, log: Path, **known: object) -> None:
        self._log = log.open("ab")
        self._tail: deque[str] = deque(maxlen=300)
        self.pids: dict[str, int] = {}
        self.tracebacks: list[str] = []
        try:
            super().__init__(data, "--workers", "2", **known)
        except AssertionError:
            self.stop(timeout_s=1.0)
            raise

    def _read(self) -> None:
        for raw in self.process.stdout:
            self._log.write(raw)
            line = raw.decode(errors="replace")
            self._tail.append(line)
            if found := re.search(r"\b(office|worker \d) is process (\d+)", line):
                self.pids[found[1]] = int(found[2])
            if "Traceback" in line:
                self.tracebacks.append("".join(list(self._tail)[-3:]))
        self._log.flush()

    @property
    def output(self) -> str:
        return "".join(tuple(self._tail))

    def wait_for_line(self, text: str, *, timeout_s: float = _START_S) -> str:
        return super().wait_for_line(text, timeout_s=timeout_s)


@dataclass(slots=True, kw_only=True)
class School:
    """What runs, and what can be done to it. All of it blocks: call it in a thread."""

    folder: Path
    judge: Judge
    trusted: Path
    archive_port: int
    squid_program: str
    clock: Clock | None
    port: int = 0
    proxy: Proxy | None = None
    squid: Squid | None = None
    tracebacks: list[str] = field(default_factory=list)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @property
    def data(self) -> Path:
        return self.folder / "disk" / "data"

    @property
    def rules(self) -> Path:
        return self.data / "rules.d"

    def start(self) -> None:
        if self.squid_program and self.squid is None:
            self.start_squid()
        settings = _SETTINGS.format(
            trusted=self.trusted,
            archive_port=self.archive_port,
            parent=self.squid.url if self.squid else "",
            **_LIMITS,
        )
        self.proxy = Proxy(
            self.data,
            self.folder / "linkmend.log",
            settings=settings,
            port=self.port or None,
            also=self.clock.environment if self.clock else None,
        )
        self.port = self.proxy.port

    def kill(self, role: str) -> None:
        """`kill -9` of one process, which linkmend replaces."""
        self._end(self.proxy.pids[role])

    def restart(self, *, gently: bool) -> None:
        with self._one_at_a_time:
            self.judge.disturb(2 * _START_S)
            if gently:
                code = self.proxy.stop()
                if code != 0:
                    self.judge.complain(f"stopping linkmend ended with {code}:\n{self.proxy.output[-2000:]}")
            else:
                self._cut_power()
            self._gather_tracebacks()
            self.start()
            self.judge.disturbed_until = time.monotonic() + 5

    def reload(self) -> None:
        self.proxy.process.send_signal(signal.SIGHUP)

    def start_squid(self) -> None:
        port = self.squid.port if self.squid else None
        self.squid = Squid(self.squid_program, self.folder / "squid", trusted=self.trusted, port=port)

    def kill_squid(self, away_s: float) -> None:
        with self._one_at_a_time:
            self.judge.disturb(away_s + 10)
            self.squid.kill()
            time.sleep(away_s)
            self.start_squid()

    def stop(self) -> None:
        for running in (self.proxy, self.squid):
            if running is not None:
                running.stop()
        self._gather_tracebacks()

    def processes(self) -> Iterator[tuple[str, int]]:
        yield "supervisor", self.proxy.process.pid
        yield from tuple(self.proxy.pids.items())

    def _gather_tracebacks(self) -> None:
        if self.proxy is not None:
            self.tracebacks += self.proxy.tracebacks
            self.proxy.tracebacks = []

    def _cut_power(self) -> None:
        self.proxy.kill()
        for pid in self.proxy.pids.values():
            self._end(pid)

    def _end(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(pid) == self.proxy.process.pid:  # else the number is another's by now
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A disk of its own at a folder, which can be filled up; False when we may not mount one."""
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    asked = [mount or "mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(folder)]
    mounted = mount is not None and subprocess.run(asked, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
