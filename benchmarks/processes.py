"""The programs a benchmark starts and stops, their processor time and memory, and their cores. Linux only."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_START_S = 60.0
_RESTING_S = 0.01
"""Seconds of processor time within a fifth of a second that are no work worth waiting for."""

_ON_LOOPBACK = {
    "LINKMEND_PROXY_REACH": '["127.0.0.0/8"]',
    "LINKMEND_PROXY_CONNECT_PORTS": '["1-65535"]',
    "LINKMEND_DESK_LISTEN": "127.0.0.1:0",
    "LINKMEND_METRICS_LISTEN": "127.0.0.1:0",
}
"""Where the origins are, and no port that two linkmends would quarrel about."""


class Program:
    """A process that listens on loopback; a context manager that ends it. Its output goes to a file."""

    def __init__(self, command: Sequence[str | Path], *, port: int, log: Path, cores: set[int]) -> None:
        self.port = port
        self._log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **_ON_LOOPBACK},
            )
        os.sched_setaffinity(self._process.pid, cores)

    def __enter__(self) -> Self:
        end = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self._stop()
                raise SystemExit(f"did not start:\n{self._log.read_text(errors='replace')}")
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def cpu_s(self) -> float:
        """Processor time of all its threads so far."""
        # The program's name, in brackets, may hold spaces: what we read stands behind it.
        fields = self._proc("stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND

    def come_to_rest(self, *, at_most_s: float = 30.0) -> None:
        """Wait for work that goes on behind the answers, which belongs to this measurement and not to the next."""
        end, before_s = time.monotonic() + at_most_s, -1.0
        while self.cpu_s() - before_s > _RESTING_S and time.monotonic() < end:
            before_s = self.cpu_s()
            time.sleep(0.2)

    def memory_mb(self) -> float:
        return self._status("VmRSS:")

    def peak_mb(self) -> float:
        """The most it held since `forget_peak`."""
        return self._status("VmHWM:")

    def forget_peak(self) -> None:
        self._proc("clear_refs").write_text("5")

    def complaints(self) -> int:
        """Lines of its output that tell of a failure."""
        lines = self._log.read_text(errors="replace").splitlines()
        return sum("Traceback" in line or "ERROR" in line.upper() for line in lines)

    def _proc(self, name: str) -> Path:
        return Path("/proc", str(self._process.pid), name)

    def _status(self, name: str) -> float:
        line = next(line for line in self._proc("status").read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) / 1024


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def split_cores() -> tuple[set[int], set[int]]:
    """Cores for the proxies, and for everything else: apart, so that asking does not slow down answering."""
    cores = sorted(os.sched_getaffinity(0))
    return ({cores[0]}, set(cores[1:])) if len(cores) > 1 else (set(cores), set(cores))


def origin(home: Path, cores: set[int], *, pem: Path | None = None) -> Program:
    port = free_port()
    command = [sys.executable, ROOT / "benchmarks" / "origin.py", str(port), *([pem] if pem else [])]
    log = home / f"origin-{port}.log"
    return Program(command, port=port, log=log, cores=cores)


def stock_mitmdump(home: Path, cores: set[int], *further: str) -> Program:
    """mitmproxy as it comes, under the Python that runs this; `further` options for what it is not to do."""
    port = free_port()
    start = "from mitmproxy.tools.main import mitmdump; mitmdump()"
    options = ("-q", "--listen-host", "127.0.0.1", "-p", str(port), "--set", f"confdir={home / 'stock'}")
    command = (sys.executable, "-c", start, *options, *further)
    return Program(command, port=port, log=home / "stock.log", cores=cores)


def squid(home: Path, cores: set[int]) -> Program:
    """Squid without a disk: its hits come from memory."""
    port, folder = free_port(), home / "squid"
    folder.mkdir()
    if os.getuid() == 0:
        folder.chmod(0o777)
        home.chmod(0o755)
    config = folder / "squid.conf"
    config.write_text(_SQUID.format(port=port, folder=folder), encoding="utf-8")
    command = ("squid", "-N", "-n", f"linkmend{port}", "-f", config)
    return Program(command, port=port, log=folder / "output.log", cores=cores)


_SQUID = """
http_port 127.0.0.1:{port}
http_access allow all
cache_mem 256 MB
maximum_object_size_in_memory 4 MB
pid_filename {folder}/squid.pid
access_log none
cache_log {folder}/cache.log
coredump_dir {folder}
shutdown_lifetime 0 seconds
visible_hostname squid.test
"""


def linkmend(home: Path, name: str, cores: set[int], *, settings: str = "") -> Program:
    """linkmend with its demo collection, so that there is something to offer on a repair page."""
    port, data, config = free_port(), home / name, home / f"{name}.toml"
    config.write_text(settings, encoding="utf-8")
    python = [sys.executable, "-m", "proxy.main"]
    where = ("--config", str(config), "--data", str(data))
    subprocess.run(
        [*python, "import", *where, ROOT / "deploy" / "demo"], cwd=ROOT, check=True, capture_output=True
    )
    command = (*python, "serve", *where, "--listen", f"127.0.0.1:{port}")
    return Program(command, port=port, log=home / f"{name}.log", cores=cores)
