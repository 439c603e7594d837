"""Starting real programs on loopback: a free port, waiting until they answer, their output when they do not."""

import contextlib
import itertools
import os
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
    # Real archives are not on loopback; a test that has some of its own says so.
    ("[archives]", {"LINKMEND_ARCHIVES_ENABLED": "false"}),
    # The origins of tests are; one about what may be reached says it in its own settings.
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
ask, names = socket.getaddrinfo, pathlib.Path(os.environ["NAMES"])
def getaddrinfo(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    addresses = json.loads(names.read_text()).get(name, [name])
    if not isinstance(addresses, list):
        time.sleep(addresses)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return [found for address in addresses for found in ask(address, *rest, **more)]
socket.getaddrinfo = getaddrinfo
from proxy.main import run
run()
"""
"""linkmend with a name server of our own; a number in the place of addresses is after how many seconds it fails."""

T = TypeVar("T")


def eventually(find: Callable[[], T], complaint: str, *, timeout_s: float = 20.0) -> T:
    """The first result that is true; fails with the last one when there is none in time."""
    end = time.monotonic() + timeout_s
    while not (found := find()):
        if time.monotonic() > end:
            raise AssertionError(f"{complaint} after {timeout_s} s; last: {found!r}")
        time.sleep(0.05)
    return found


def free_port() -> int:
    """A port that nobody listens on, and that nobody is given before the program it is for opens it.

    The system gives ports from 32768 on to whoever asks for any, also for connections, and tests that run beside
    each other ask all the time. So these are below, and each process of tests has a thousand of its own. Two that are
    not workers of one run share theirs, so each begins elsewhere.
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
    """What a linkmend under test is told by its environment, as far as its settings are silent about it."""
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
        """End the process and return its exit code; its whole group is killed if it does not obey."""
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
        """`kill -9`, as a power cut would."""
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
    ) -> None:
        """`names` is a JSON file of names and their addresses, read at every look-up; other names are not changed.

        `also` is what it is told by its environment besides.
        """
        self.data = data
        self.port = port or free_port()
        self.config = data.with_suffix(".toml")
        self.config.write_text(settings, encoding="utf-8")
        super().__init__(
            [
                *(sys.executable, *(("-c", _NAMED) if names else ("-m", "proxy.main")), "serve"),
                *("--config", self.config, "--data", data, "--listen", f"127.0.0.1:{self.port}", *arguments),
            ],
            # One process, unless a test asks for more.
            env={
                "LINKMEND_PROXY_WORKERS": "1",
                # Hundreds of data folders would set it aside.
                "LINKMEND_PROXY_BALLAST_BYTES": "0",
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

    def peak_memory(self) -> int:
        """The most bytes of memory it ever had at once."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@contextlib.contextmanager
def serving(data: Path, *arguments: str, **known: Any) -> Iterator[Linkmend]:
    """`linkmend serve` for as long as a block lasts, for tests that share one; a traceback fails it."""
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
