"""Starts real programs on loopback: finds a free port, waits until they answer, shows their output when they do
not.
"""

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "deploy" / "demo"
START_S = 150.0
"""How long a program may take to start: on a machine that is busy with other tests, a minute and more."""

_SURROUNDINGS = (
    # Real archives are not on loopback; a test with its own archives configures them.
    ("[archives]", {"LINKMEND_ARCHIVES_ENABLED": "false"}),
    # The origins of tests are on loopback; a test about reach has its own settings.
    (
        "reach = ",
        {
            "LINKMEND_PROXY_REACH": '["127.0.0.0/8", "::1/128"]',
            "LINKMEND_PROXY_CONNECT_PORTS": '["1-65535"]',
        },
    ),
    ("[desk]", {"LINKMEND_DESK_LISTEN": "127.0.0.1:0"}),
    ("[metrics]", {"LINKMEND_METRICS_LISTEN": "127.0.0.1:0"}),
)

_NAMED = """
import json, os, pathlib, socket, time
ask, names, turns = socket.getaddrinfo, pathlib.Path(os.environ["NAMES"]), {}
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    addresses = json.loads(names.read_text()).get(name, [name])
    if isinstance(addresses, list) and isinstance(addresses[0], list):
        turns[name] = turns.get(name, -1) + 1
        addresses = addresses[turns[name] % len(addresses)]
    if not isinstance(addresses, list):
        time.sleep(addresses)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return [found for address in addresses for found in ask(address, *rest, **more)]
socket.getaddrinfo = getaddrinfo
from proxy.main import run
run()
"""
"""linkmend with a name server of our own; a number in the place of addresses is after how many seconds it fails.

Lists in the place of addresses take turns, look-up by look-up.
"""

T = TypeVar("T")


def eventually(find: Callable[[], T], complaint: str, *, timeout_s: float = 60.0) -> T:
    """The first result that is true; fails with the last one when there is none in time."""
    end = time.monotonic() + timeout_s
    while not (found := find()):
        if time.monotonic() > end:
            raise AssertionError(f"{complaint} after {timeout_s} s; last: {found!r}")
        time.sleep(0.05)
    return found


def free_port() -> int:
    """A port that nobody listens on, and that nobody else gets before the program opens it.

    The system assigns ports from 32768 on to connections and listeners, and parallel tests ask all the time. So
    these are below, and each test process has a thousand of its own. Two that are not workers of one run share
    theirs, so each begins elsewhere.
    """
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw19").removeprefix("gw")) % 20
_FIRST = os.getpid() * 37 % 1000
_PORTS = itertools.cycle(12_000 + 1000 * _WORKER + (_FIRST + step) % 1000 for step in range(1000))


def surroundings(settings: str = "") -> dict[str, str]:
    """The environment of a linkmend under test, for what its settings leave open."""
    told: dict[str, str] = {}
    for word, variables in _SURROUNDINGS:
        if word not in settings:
            told |= variables
    return told


class Running:
    """A process whose output is collected, so that a failing test can show it."""

    def __init__(self, command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(surroundings() if env is None else env)},
            cwd=ROOT,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.append(line.decode(errors="replace"))

    @property
    def output(self) -> str:
        return "".join(self._lines)

    def wait_for_port(self, port: int, *, timeout_s: float = START_S) -> None:
        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self.wait_until(answers, f"nothing answers on port {port}", timeout_s=timeout_s)

    def wait_for_line(self, text: str, *, timeout_s: float = START_S) -> str:
        self.wait_until(lambda: text in self.output, f"no line with {text!r}", timeout_s=timeout_s)
        return next(line for line in self.output.splitlines() if text in line)

    def wait_until(self, is_true, complaint: str, *, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while not is_true():
            if self.process.poll() is not None:
                self._reader.join(1)
                raise AssertionError(f"ended with {self.process.returncode}:\n{self.output}")
            if time.monotonic() > end:
                self.kill()
                raise AssertionError(f"{complaint} after {timeout_s} s:\n{self.output}")
            time.sleep(0.02)

    def stop(self, signum: int = signal.SIGTERM, *, timeout_s: float = 20.0) -> int:
        """End the process and return its exit code; kill its whole group if it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(signum)
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join(2)
        return self.process.returncode

    def kill(self) -> None:
        """`kill -9`, like a power cut."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(2)


class Linkmend(Running):
    """The real proxy, as `linkmend serve` runs it."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        settings: str = "",
        port: int | None = None,
        names: Path | None = None,
        also: dict[str, str] | None = None,
        files: int | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """`names` is a JSON file of names and their addresses, read at every lookup; other names are not changed.

        `also` are more environment variables, `files` is the limit of open files. `within` is the command that runs
        it, if any.
        """
        self.data = data
        self.port = port or free_port()
        self.config = data.with_suffix(".toml")
        self.config.write_text(settings, encoding="utf-8")
        super().__init__(
            [
                *within,
                *(("prlimit", f"--nofile={files}:{files}") if files else ()),
                *(sys.executable, *(("-c", _NAMED) if names else ("-m", "proxy.main")), "serve"),
                *("--config", self.config, "--data", data, "--listen", f"127.0.0.1:{self.port}", *arguments),
            ],
            # One worker, unless a test or the caller of the tests sets more.
            env={
                "LINKMEND_PROXY_WORKERS": os.environ.get("TEST_WORKERS", "1"),
                # Hundreds of data folders would reserve the space.
                "LINKMEND_PROXY_BALLAST_BYTES": "0",
                # Avoids the restart under -O, a third of each start; tests that use `Running` cover it.
                "PYTHONOPTIMIZE": "1",
                **surroundings(settings),
                "NAMES": str(names or ""),
                **(also or {}),
            },
        )
        self.wait_for_line("linkmend ready on ")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ca(self) -> Path:
        return self.data / "ca" / "mitmproxy-ca-cert.pem"

    def pids(self) -> list[int]:
        """The supervisor, the backend and the workers."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                found += [int(process.name)] if os.getsid(int(process.name)) == self.process.pid else []
        return found

    def memory(self, which: str = "VmRSS") -> int:
        """The bytes of memory that all its processes have."""
        statuses = [Path(f"/proc/{pid}/status").read_text(encoding="ascii") for pid in self.pids()]
        return sum(
            int(kb) * 1024 for status in statuses for kb in re.findall(rf"{which}:\s+(\d+) kB", status)
        )

    def peak_memory(self) -> int:
        """The most bytes of memory that each of its processes ever had at once, together."""
        return self.memory("VmHWM")

    @contextlib.contextmanager
    def held_still(self) -> Iterator[None]:
        """None of its processes does anything meanwhile, as on a machine that is busy."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            # The signal takes effect a little later: a request sent at once might still be read.
            eventually(lambda: _all_stopped(self.process.pid), "linkmend did not hold still")
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)


def _all_stopped(group: int) -> bool:
    """Whether every thread of a process group is stopped (state T or t, or it has ended)."""
    for status in Path("/proc").glob("[0-9]*/task/[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = status.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state not in "TtZX":
                return False
    return True


@contextlib.contextmanager
def serving(data: Path, *arguments: str, **known: Any) -> Iterator[Linkmend]:
    """`linkmend serve` for the duration of a block, for tests that share one; a traceback fails it."""
    running = Linkmend(data, *arguments, **known)
    try:
        yield running
    finally:
        running.stop()
    assert "Traceback" not in running.output, running.output


def linkmend(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a `linkmend` command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "proxy.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
