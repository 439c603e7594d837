"""What a second worker gives, what readers notice of fifty repairs at once, and what the processes hold in memory.

    python benchmarks/workers.py [--seconds N] [--rounds N] [--requests N,N] [--json]

Everything runs on loopback and is started and stopped here. One and two workers take turns in every round, and what
is told are ratios within a round. All programs may use all cores, the clients and the origin too: on two cores a
second worker can therefore not give twice as much, and nothing at all where asking costs more than answering, as with
hits; there, processor time tells. It is that of all of linkmend's processes, and of the office alone.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from load import Load, measured
from origin import CACHEABLE, PASSING
from processes import ROOT, Program, free_port, origin

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_CONNECTIONS = 16
_CROWD = 50
_EVERY_S = 0.02
_BURST_EVERY_S = 2.0
_FIELDS = "Accept: text/html\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n\r\n"


class Crew(Program):
    """A linkmend of several processes, with the demo collection or another."""

    def __init__(self, home: Path, workers: int, *, collection: Path) -> None:
        name = f"workers{workers}"
        port, data, self._output = free_port(), home / name, home / f"{name}.log"
        config = home / f"{name}.toml"
        config.write_text('[log]\nlevel = "debug"\n[archives]\nenabled = false\n', encoding="utf-8")
        python = [sys.executable, "-m", "proxy.main"]
        where = ("--config", str(config), "--data", str(data))
        subprocess.run([*python, "import", *where, collection], cwd=ROOT, check=True, capture_output=True)
        command = (*python, "serve", *where, "--listen", f"127.0.0.1:{port}", "--workers", str(workers))
        super().__init__(command, port=port, log=self._output, cores=os.sched_getaffinity(0))

    def pids(self) -> dict[str, int]:
        """The processes by what they do."""
        found = re.findall(r"(office|worker \d+) is process (\d+)", self._output.read_text(errors="replace"))
        return {"supervisor": self._process.pid, **{name: int(pid) for name, pid in found}}

    def cpu_s(self) -> float:
        return sum(_cpu_s(pid) for pid in self.pids().values())

    def office_cpu_s(self) -> float:
        office = self.pids().get("office")
        return _cpu_s(office) if office else 0.0

    def memory(self) -> dict[str, tuple[float, float]]:
        """Resident and proportional (what is shared counted in parts) MB of each process."""
        return {name: _memory_mb(pid) for name, pid in self.pids().items()}


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def _memory_mb(pid: int) -> tuple[float, float]:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss, pss = (int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1]) / 1024 for name in ("Rss", "Pss"))
    return rss, pss


# What a second worker gives


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """One case with one and with two workers; `ratio` is that of the second, least and most over the rounds."""

    name: str
    one_per_second: float
    two_per_second: float
    ratio: float
    ratio_least: float
    ratio_most: float
    one_cpu_us: float
    two_cpu_us: float
    office_cpu_us: float
    errors: int


CASES = {
    "pass-through": (f"{PASSING}a.html", "fwd=", 200),
    "hit in memory": (f"{CACHEABLE}a.html", "linkmend;hit", 200),
    "first visit": (f"{CACHEABLE}SALT-{{n}}.html", ";stored", 200),
    "repair page": ("/water-cycle-SALT-{n}.html", "Linkmend-Miss", 404),
}


def gains(one: Crew, two: Crew, web: Program, *, rounds: int, seconds: float) -> list[Gain]:
    return [_gain(name, (one, two), web, rounds=rounds, seconds=seconds) for name in CASES]


def _gain(name: str, crews: tuple[Crew, Crew], web: Program, *, rounds: int, seconds: float) -> Gain:
    path, says, status = CASES[name]
    speeds: tuple[list[float], list[float]] = ([], [])
    costs: tuple[list[float], list[float]] = ([], [])
    office: list[float] = []
    errors = 0
    for turn in range(rounds + 1):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            crew, host = crews[which], f"127.0.0.1:{web.port}"
            target = f"http://{host}{path}".replace("SALT", f"{turn}{which}")
            before_s, office_s = crew.cpu_s(), crew.office_cpu_s()
            load = Load(
                port=crew.port, host=host, target=target, status=status, says=says if turn else "",
                connections=_CONNECTIONS, seconds=seconds if turn else 0.5,
            )  # fmt: skip
            done = measured(load)
            crew.come_to_rest()
            if turn:  # the first is to warm up
                speeds[which].append(done.per_second)
                costs[which].append((crew.cpu_s() - before_s) / max(done.asked, 1) * 1e6)
                errors += sum(done.errors.values())
                if which:
                    office.append((crew.office_cpu_s() - office_s) / max(done.asked, 1) * 1e6)
    ratios = [two / one for one, two in zip(*speeds, strict=True)]
    return Gain(
        name=name,
        one_per_second=statistics.median(speeds[0]),
        two_per_second=statistics.median(speeds[1]),
        ratio=statistics.median(ratios),
        ratio_least=min(ratios),
        ratio_most=max(ratios),
        one_cpu_us=statistics.median(costs[0]),
        two_cpu_us=statistics.median(costs[1]),
        office_cpu_us=statistics.median(office),
        errors=errors,
    )


# What readers notice of fifty repairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Calm:
    """Latencies of ordinary pages, paced, without and while fifty repairs are in flight; and of those repairs."""

    workers: int
    idle_p50_ms: float
    idle_p99_ms: float
    during_p50_ms: float
    during_p99_ms: float
    counted: int
    repair_p50_ms: float
    repair_p95_ms: float


async def _ask(port: int, host: str, targets: Sequence[str], *, every_s: float) -> list[tuple[float, float]]:
    """One connection, kept alive; when each answer was asked for, and when it was whole."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    times = []
    for target in targets:
        asked_at = time.monotonic()
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{_FIELDS}".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        times.append((asked_at, time.monotonic()))
        await asyncio.sleep(max(0.0, asked_at + every_s - time.monotonic()))
    writer.close()
    return times


async def _ask_many(asked: dict[str, object]) -> list[tuple[float, float]]:
    port, host, kind, seconds = int(asked["port"]), str(asked["host"]), asked["kind"], float(asked["seconds"])  # type: ignore[call-overload]
    if kind == "pages":
        targets = [f"http://{host}{PASSING}a.html"] * int(seconds / _EVERY_S)
        return await _ask(port, host, targets, every_s=_EVERY_S)
    bursts = int(seconds / _BURST_EVERY_S)
    crowd = (
        _ask(
            port,
            host,
            [f"http://{host}/water-cycle-{burst}-{n}.html" for burst in range(bursts)],
            every_s=_BURST_EVERY_S,
        )
        for n in range(_CROWD)
    )
    return [times for each in await asyncio.gather(*crowd) for times in each]


def _start(crew: Crew, web: Program, kind: str, seconds: float) -> subprocess.Popen[bytes]:
    asked = {"port": crew.port, "host": f"127.0.0.1:{web.port}", "kind": kind, "seconds": seconds}
    return subprocess.Popen([sys.executable, __file__, "--ask", json.dumps(asked)], stdout=subprocess.PIPE)


def _times(process: subprocess.Popen[bytes]) -> list[tuple[float, float]]:
    return [(begun, ended) for begun, ended in json.loads(process.communicate(timeout=300)[0])]


def calm(crew: Crew, web: Program, *, workers: int, seconds: float) -> Calm:
    _times(_start(crew, web, "misses", _BURST_EVERY_S))  # once, so that everything is loaded
    idle = [_ms(times) for times in _times(_start(crew, web, "pages", seconds))]
    pages, misses = _start(crew, web, "pages", seconds), _start(crew, web, "misses", seconds)
    repairs = sorted(_times(misses))
    flights = [repairs[n : n + _CROWD] for n in range(0, len(repairs), _CROWD)]
    spans = [(min(begun for begun, _ in flight), max(ended for _, ended in flight)) for flight in flights]
    during = [
        _ms((begun, ended))
        for begun, ended in _times(pages)
        if any(begun < end and ended > start for start, end in spans)
    ]
    took = [_ms(times) for times in repairs]
    return Calm(
        workers=workers,
        idle_p50_ms=_part(idle, 50),
        idle_p99_ms=_part(idle, 99),
        during_p50_ms=_part(during, 50),
        during_p99_ms=_part(during, 99),
        counted=len(during),
        repair_p50_ms=_part(took, 50),
        repair_p95_ms=_part(took, 95),
    )


def _ms(times: tuple[float, float]) -> float:
    return (times[1] - times[0]) * 1000


def _part(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else float("nan")


# What they hold


def memory(crew: Crew, web: Program, requests: Sequence[int]) -> dict[str, dict[str, tuple[float, float]]]:
    """Of each process at the start and after so many requests: half hits, half pages that are passed on."""
    found = {"at the start": crew.memory()}
    host, done = f"127.0.0.1:{web.port}", 0
    for count in requests:
        for path in (f"{CACHEABLE}a.html", f"{PASSING}{{n}}.html"):
            target = f"http://{host}{path}"
            load = Load(port=crew.port, host=host, target=target, seconds=600, requests=(count - done) // 2)
            measured(load)
        done = count
        found[f"after {count} requests"] = crew.memory()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="one worker and two")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", default="10000,100000", help="when to look at the memory")
    parser.add_argument("--collection", type=Path, default=ROOT / "deploy" / "demo")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ask:
        print(json.dumps(asyncio.run(_ask_many(json.loads(asked.ask)))))
        return
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="linkmend-benchmark-")))
        web = running.enter_context(origin(home, os.sched_getaffinity(0)))
        one = running.enter_context(Crew(home, 1, collection=asked.collection))
        two = running.enter_context(Crew(home, 2, collection=asked.collection))
        two.come_to_rest()
        held = memory(two, web, [int(count) for count in asked.requests.split(",") if count])
        gained = gains(one, two, web, rounds=asked.rounds, seconds=asked.seconds)
        noticed = [calm(crew, web, workers=n, seconds=4 * asked.seconds) for n, crew in ((1, one), (2, two))]
    if asked.json:
        told = {"gains": list(map(asdict, gained)), "calm": list(map(asdict, noticed)), "memory": held}
        print(json.dumps(told, indent=2))
        return
    _print(gained, noticed, held)


def _print(
    gained: Sequence[Gain], noticed: Sequence[Calm], held: dict[str, dict[str, tuple[float, float]]]
) -> None:
    _row("case", "one worker /s", "two /s", "ratio (least-most)", "CPU us one", "two", "its office", "errors")
    _row(*["---"] * 8)
    for each in gained:
        ratio = f"{each.ratio:.2f} ({each.ratio_least:.2f}-{each.ratio_most:.2f})"
        cpu = (each.one_cpu_us, each.two_cpu_us, each.office_cpu_us)
        speeds = (each.one_per_second, each.two_per_second)
        _row(each.name, *(f"{n:.0f}" for n in speeds), ratio, *(f"{n:.0f}" for n in cpu), str(each.errors))
    print()
    _row("workers", "page p50 / p99 ms", "with fifty repairs", "p99 ratio", "repair p50 / p95 ms")
    _row(*["---"] * 5)
    for one in noticed:
        during = f"{one.during_p50_ms:.1f} / {one.during_p99_ms:.1f} ({one.counted} pages)"
        ratio, repairs = (
            one.during_p99_ms / one.idle_p99_ms,
            f"{one.repair_p50_ms:.0f} / {one.repair_p95_ms:.0f}",
        )
        _row(
            str(one.workers),
            f"{one.idle_p50_ms:.1f} / {one.idle_p99_ms:.1f}",
            during,
            f"{ratio:.2f}",
            repairs,
        )
    print()
    _row("process", *held)
    _row(*["---"] * (len(held) + 1))
    for name in next(iter(held.values())):
        _row(name, *(f"{rss:.0f} ({pss:.0f})" for rss, pss in (then[name] for then in held.values())))
    print("\nMB resident (proportional); load average", *(f"{load:.1f}" for load in os.getloadavg()))


def _row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
