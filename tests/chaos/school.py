"""The programs under test: linkmend with two workers on a small disk, and maybe a Squid."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proxy.settings import ProxySettings
from tests.chaos.excuses import Excuses
from tests.chaos.judge import Judge
from tests.chaos.log import Log
from tests.chaos.squidlog import FORMAT
from tests.integration.clock import Clock
from tests.integration.processes import Linkmend, free_port
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
max_pages = {max_pages}
[misses]
log_bytes = 300_000
[repair]
deadline_s = {repair_s}
[archives]
list = ["ill wayback=http://127.0.0.1:{archive_port}/"]
archive_deadline_s = 2.0
deadline_s = 3.0
[fetch]
enabled = false
[desk]
listen = "127.0.0.1:{desk_port}"
[metrics]
listen = "127.0.0.1:{metrics_port}"
"""
_LIMITS = {"connect_s": 4.0, "first_byte_s": 5.0, "collapse_s": 4.0, "repair_s": 1.0}
_BUSY_S = 12.0  # more than one program runs on this machine
PATIENCE_S = 2 * sum(_LIMITS.values()) + _BUSY_S
"""The longest that linkmend may take by its settings, with all of them used up twice; and a busy machine."""
# As shipped: without it, a process killed while the disk is full cannot start again.
_WITH_BALLAST = {"LINKMEND_PROXY_BALLAST_BYTES": str(ProxySettings().ballast_bytes)}
DISK_BYTES = 120 * 1024 * 1024
NAME = "lessons.chaos.test"
"""The name of the site, where there is no Squid to look it up."""
_START_S = 120.0


class Proxy(Linkmend):
    """linkmend, its output in a file rather than in memory."""

    def __init__(self, data: Path, log: Path, **known: object) -> None:
        self.log = Log(log)
        try:
            super().__init__(data, "--workers", "2", **known)
        except AssertionError:
            self.stop(timeout_s=1.0)
            raise

    def _read(self) -> None:
        for raw in self.process.stdout:
            self.log.hear(raw)
        self.log.close()

    @property
    def output(self) -> str:
        return self.log.end()

    def wait_for_line(self, text: str, *, timeout_s: float = _START_S) -> str:
        return super().wait_for_line(text, timeout_s=timeout_s)


@dataclass(slots=True, kw_only=True)
class School:
    """The running programs, and ways to disturb them. Every method blocks: call it in a thread."""

    folder: Path
    judge: Judge
    excuses: Excuses
    trusted: Path
    archive_port: int
    squid_program: str
    clock: Clock | None
    max_pages: int = 200_000
    port: int = 0
    proxy: Proxy | None = None
    squid: Squid | None = None
    desk_port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    begun: int = 0
    is_away: bool = False
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @property
    def data(self) -> Path:
        return self.folder / "disk" / "data"

    @property
    def rules(self) -> Path:
        return self.data / "rules.d"

    @property
    def names(self) -> Path:
        return self.folder / "names.json"

    def resolve(self, addresses: list[str] | float) -> None:
        """The site's name resolves to this from now on; a number means failure after so many seconds."""
        fresh = self.names.with_suffix(".new")
        fresh.write_text(json.dumps({NAME: addresses}), encoding="ascii")
        fresh.replace(self.names)

    def start(self) -> None:
        self.resolve(["127.0.0.1"])
        if self.squid_program and self.squid is None:
            self.start_squid()
        settings = _SETTINGS.format(
            trusted=self.trusted,
            archive_port=self.archive_port,
            parent=self.squid.url if self.squid else "",
            desk_port=self.desk_port,
            metrics_port=self.metrics_port,
            max_pages=self.max_pages,
            **_LIMITS,
        )
        self.proxy = Proxy(
            self.data,
            self.folder / "linkmend.log",
            settings=settings,
            port=self.port or None,
            names=self.names,
            also={**_WITH_BALLAST, **(self.clock.environment if self.clock else {})},
        )
        self.port = self.proxy.port

    def kill(self, role: str) -> None:
        """Kill one process (`kill -9`), which linkmend replaces."""
        self._send(self.proxy.log.pids[role], signal.SIGKILL)

    def kill_backend(self) -> None:
        """Kill the backend and wait for the next one; a worker killed meanwhile is waited for by its own caller."""
        log = self.proxy.log
        before, until = log.backends, time.monotonic() + _START_S
        with self.excuses.absence_of_backend():
            self.kill("backend")
            while log.backends == before and log is self.proxy.log and not self.is_away:
                if time.monotonic() > until:
                    self.judge.complain(f"there is no new backend after {_START_S:.0f} s")
                    return
                time.sleep(0.1)

    def pause(self, role: str, seconds: float) -> None:
        """Stop one process for a while, as when the machine swaps."""
        pid = self.proxy.log.pids[role]
        self._send(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self._send(pid, signal.SIGCONT)

    def restart(self, *, gently: bool) -> None:
        with self._one_at_a_time, self.excuses.absence():
            self.is_away = True
            if gently:
                code = self.proxy.stop()
                if code != 0:
                    self.judge.complain(f"stopping linkmend ended with {code}:\n{self.proxy.output[-2000:]}")
            else:
                self._cut_power()
            self.gather_faults()
            begun = self.proxy.log.begun
            self.start()
            self.begun += begun
            self.is_away = False

    def reload(self) -> None:
        self.proxy.process.send_signal(signal.SIGHUP)

    def start_squid(self) -> None:
        port = self.squid.port if self.squid else None
        self.squid = Squid(
            self.squid_program, self.folder / "squid", trusted=self.trusted, port=port, log_format=FORMAT
        )

    def kill_squid(self, away_s: float) -> None:
        with self._one_at_a_time, self.excuses.absence():
            self.squid.kill()
            time.sleep(away_s)
            self.start_squid()

    def stop(self) -> None:
        for running in (self.proxy, self.squid):
            if running is not None:
                running.stop()
        self.gather_faults()

    def processes(self) -> Iterator[tuple[str, int]]:
        yield "supervisor", self.proxy.process.pid
        yield from tuple(self.proxy.log.pids.items())

    def gather_faults(self) -> None:
        if self.proxy is not None:
            for fault in self.proxy.log.faults():
                self.judge.complain(f"in the log: {fault}")

    def _cut_power(self) -> None:
        self.proxy.kill()
        for pid in self.proxy.log.pids.values():
            self._send(pid, signal.SIGKILL)

    def _send(self, pid: int, signum: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if (
                os.getsid(pid) == self.proxy.process.pid
            ):  # else the number may belong to another process by now
                if signum == signal.SIGKILL:
                    self.proxy.log.killed.add(pid)
                os.kill(pid, signum)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small disk at a folder, which can be filled up; False without the right to mount."""
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    asked = [mount or "mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=755", "tmpfs", str(folder)]
    mounted = mount is not None and subprocess.run(asked, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
