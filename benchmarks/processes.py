"""The programs a benchmark starts and stops, their processor time and memory, and their cores. Linux only."""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_START_S = 60.0
_RESTING_S = 0.01
"""Seconds of processor time within a fifth of a second that are no work worth waiting for."""


def program(checkout: Path) -> tuple[str, str, str]:
    """The command that runs linkmend from a checkout; older ones have no `proxy.start`."""
    entry = "proxy.start" if (checkout / "proxy" / "start.py").exists() else "proxy.main"
    return sys.executable, "-m", entry


ON_LOOPBACK = {
    "LINKMEND_ARCHIVES_LIST": '["here private wayback=http://127.0.0.1:9/"]',
    "LINKMEND_PROXY_REACH": '["127.0.0.0/8"]',
    "LINKMEND_PROXY_CONNECT_PORTS": '["1-65535"]',
    "LINKMEND_DESK_LISTEN": "127.0.0.1:0",
    "LINKMEND_METRICS_LISTEN": "127.0.0.1:0",
}
"""Where the origins are, no port that two linkmends would quarrel about, and no archive but one that is not there."""


class Program:
    """A process that listens on loopback; a context manager that ends it. Its output goes to a file."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        port: int,
        log: Path,
        cores: set[int],
        says: str = "",
        checkout: Path = ROOT,
    ) -> None:
        """`says` is the line it prints when it is ready; its port may be open before."""
        self.port = port
        self._log = log
        self._says = says
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=checkout,
                env={**os.environ, **ON_LOOPBACK},
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
            is_open = probe.connect_ex(("127.0.0.1", self.port)) == 0
        return is_open and self._says in self._log.read_text(errors="replace")

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def pids(self) -> list[int]:
        """Its process and all descendants, depth first, in the order of their start."""
        return _family(self._process.pid)

    def cpu_s(self) -> float:
        """Processor time of all its processes so far."""
        return sum(map(process_cpu_s, self.pids()))

    def come_to_rest(self, *, at_most_s: float = 30.0) -> None:
        """Wait until background work is done, which belongs to this measurement and not to the next."""
        end, before_s = time.monotonic() + at_most_s, -1.0
        while self.cpu_s() - before_s > _RESTING_S and time.monotonic() < end:
            before_s = self.cpu_s()
            time.sleep(0.2)

    def memory_mb(self) -> list[float]:
        """The resident memory of each of its processes."""
        return [_status_mb(pid, "VmRSS:") for pid in self.pids()]

    def peak_mb(self) -> list[float]:
        """The peak memory of each process since `forget_peak`."""
        return [_status_mb(pid, "VmHWM:") for pid in self.pids()]

    def forget_peak(self) -> None:
        for pid in self.pids():
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def complaints(self) -> int:
        """Lines of linkmend's output about failures: logged errors and uncaught exceptions."""
        lines = [line.split(maxsplit=2) for line in self._log.read_text(errors="replace").splitlines()]
        return sum("Traceback" in words or words[1:2] == ["error"] for words in lines)


def _family(pid: int) -> list[int]:
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [pid, *(each for child in sorted(children) for each in _family(child))]


def process_cpu_s(pid: int) -> float:
    # The program's name, in brackets, may contain spaces: the fields we read come after it.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def shared_memory_mb(pid: int) -> float:
    """The memory of a process; what it shares with others counts in parts (PSS), so that the sum counts it once."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _status_mb(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one run. SIGTERM ends the run, its programs, and removes the folder."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    with tempfile.TemporaryDirectory(prefix="linkmend-benchmark-") as folder:
        yield Path(folder)


def free_port() -> int:
    """A free port that the system does not hand out before its program opens it.

    The system uses ports from 32768 on for connections and unspecified ports; tests use theirs from 12000 on.
    """
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit("no port is free")


# Each benchmark starts at another port, so that two that run at once do not collide.
_PORTS = itertools.islice(itertools.cycle(range(10_000, 12_000)), os.getpid() * 100 % 2_000, None)


def first_in_line() -> None:
    """Run at a higher priority than the measured programs, where we may: in a school these are other machines."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)


def split_cores() -> tuple[set[int], set[int]]:
    """Cores for the proxies, and for everything else, so that the load does not slow down the proxies."""
    cores = sorted(os.sched_getaffinity(0))
    return ({cores[0]}, set(cores[1:])) if len(cores) > 1 else (set(cores), set(cores))


def origin(home: Path, cores: set[int], *, pem: Path | None = None) -> Program:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.origin", str(port), *([str(pem)] if pem else [])]
    log = home / f"origin-{port}.log"
    return Program(command, port=port, log=log, cores=cores)


def mitmdump(home: Path, cores: set[int], *further: str) -> Program:
    """mitmproxy with its defaults, under the same Python; `further` options switch things off."""
    port = free_port()
    start = "from mitmproxy.tools.main import mitmdump; mitmdump()"
    folder = home / f"stock-{port}"
    options = ("-q", "--listen-host", "127.0.0.1", "-p", str(port), "--set", f"confdir={folder}")
    command = (sys.executable, "-c", start, *options, *further)
    return Program(command, port=port, log=folder.with_suffix(".log"), cores=cores)


def squid(home: Path, cores: set[int], *, pem: Path) -> Program:
    """Squid without a disk: hits come from memory. It intercepts https as we do, with that key, if built for it."""
    port, folder = free_port(), home / "squid"
    folder.mkdir()
    if os.getuid() == 0:  # it then runs as another user
        folder.chmod(0o777)
        home.chmod(0o755)
        pem.chmod(0o644)
    listening, more = f"127.0.0.1:{port}", ""
    if squid_opens_https():
        listening += f" ssl-bump tls-cert={pem} generate-host-certificates=on"
        more = _OPENED.format(certgen=_CERTGEN, folder=folder)
        subprocess.run([_CERTGEN, "-c", "-s", folder / "made", "-M", "4MB"], check=True, capture_output=True)
        subprocess.run(["chmod", "-R", "a+rwX", folder / "made"], check=True)
    config = folder / "squid.conf"
    config.write_text(_SQUID.format(listening=listening, folder=folder) + more, encoding="utf-8")
    command = ("squid", "-N", "-n", f"linkmend{port}", "-f", config)
    return Program(command, port=port, log=folder / "output.log", cores=cores)


def squid_opens_https() -> bool:
    """Debian's squid-openssl does, its plain squid does not."""
    told = subprocess.run(["squid", "-v"], capture_output=True, text=True, check=True).stdout
    return "--enable-ssl-crtd" in told and "--with-openssl" in told and _CERTGEN.exists()


_CERTGEN = Path("/usr/lib/squid/security_file_certgen")
_SQUID = """
http_port {listening}
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
_OPENED = """
sslcrtd_program {certgen} -s {folder}/made -M 4MB
ssl_bump bump all
tls_outgoing_options flags=DONT_VERIFY_PEER
sslproxy_cert_error allow all
"""


def linkmend(
    data: Path, cores: set[int], *, workers: int = 1, settings: str = "", checkout: Path = ROOT
) -> Program:
    """linkmend over a data folder, with its backend and `workers` workers; `checkout` holds its code."""
    port, config = free_port(), data.with_suffix(".toml")
    config.write_text(settings, encoding="utf-8")
    where = ("--config", config, "--data", data)
    command = (
        *program(checkout),
        "serve",
        *where,
        "--listen",
        f"127.0.0.1:{port}",
        "--workers",
        str(workers),
    )
    log = data.with_suffix(".log")
    return Program(command, port=port, log=log, cores=cores, says="linkmend ready on", checkout=checkout)


def demo(data: Path, *, checkout: Path = ROOT) -> Path:
    """A data folder with the demo collection, so that repair pages have something to offer."""
    command = [*program(checkout), "import", "--data", str(data), str(ROOT / "deploy" / "demo")]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    return data
