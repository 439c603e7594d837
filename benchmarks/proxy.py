"""How fast linkmend is beside bare mitmdump, what it adds to a request, and how much memory a large body costs.

    python benchmarks/proxy.py [--seconds N] [--rounds N] [--json]

Everything runs on loopback and is started and stopped here. The cases take turns in every round, in turned order each
second time, and what is told are ratios within a round: a slow moment of the machine then hits all of them.
docs/performance.md says what each case is.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from figures import Figures, Memory, Tally, figures, memory_table, speed_table
from load import Load, measured
from origin import CACHEABLE, LARGE_CACHEABLE, LARGE_PASSING, PASSING
from processes import Program, linkmend, origin, split_cores, stock_mitmdump

_BUSY_CONNECTIONS = 16
_LARGE_AT_MOST_S = 120.0
_SYNCED_WITHIN_S = 3.0
"""The reader has all of a large body before the disk has, and only then is it stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way to be answered: by which program, for which path of the origin, and how to know that it was so."""

    name: str
    program: Program
    path: str
    status: int = 200
    says: str = ""


def cases_of(stock: Program, usual: Program, disk: Program) -> tuple[Case, ...]:
    """The first is what the others are compared with."""
    passing, cacheable, numbered = f"{PASSING}a.html", f"{CACHEABLE}a.html", f"{CACHEABLE}{{n}}.html"
    return (
        Case(name="mitmdump -q", program=stock, path=passing),
        Case(name="pass-through", program=usual, path=passing, says="fwd="),
        Case(name="pass-through, new URLs", program=usual, path=f"{PASSING}{{n}}.html", says="fwd="),
        Case(name="hit in memory", program=usual, path=cacheable, says="linkmend;hit"),
        Case(name="hit on disk", program=disk, path=cacheable, says="linkmend;hit"),
        Case(name="first visit", program=usual, path=numbered, says=";stored"),
        Case(name="repair page", program=usual, path="/water-cycle-{n}.html", status=404, says="text/html"),
    )


def load_on(case: Case, web: Program, *, seconds: float, connections: int, salt: str) -> Load:
    # What one run stored under its numbers would be the next run's hits.
    path = case.path.replace("{n}", f"{salt}-{{n}}")
    host = f"127.0.0.1:{web.port}"
    return Load(
        port=case.program.port,
        host=host,
        target=f"http://{host}{path}",
        status=case.status,
        says=case.says,
        connections=connections,
        seconds=seconds,
    )


def warm(cases: Sequence[Case], web: Program) -> None:
    """Ask once, so that what is to be a hit is stored."""
    for case in cases:
        load = load_on(replace(case, says=""), web, seconds=10, connections=1, salt="warm")
        measured(replace(load, requests=1, warm_up_s=0))


def add_turn(tally: Tally, case: Case, web: Program, *, turn: int, seconds: float) -> None:
    """One case's turn in a round: many at once for speed, then one by one for latency."""
    before_s = case.program.cpu_s()
    load = load_on(case, web, seconds=seconds, connections=_BUSY_CONNECTIONS, salt=f"busy{turn}")
    busy = measured(load)
    case.program.come_to_rest()
    tally.per_second.append(busy.per_second)
    tally.cpu_us.append((case.program.cpu_s() - before_s) / max(busy.asked, 1) * 1e6)
    calm = measured(load_on(case, web, seconds=seconds / 2, connections=1, salt=f"calm{turn}"))
    case.program.come_to_rest()
    tally.latencies_ms += calm.latencies_ms
    tally.errors.update(busy.errors)
    tally.errors.update(calm.errors)


def compare(cases: Sequence[Case], web: Program, *, rounds: int, seconds: float) -> list[Figures]:
    tallies = {case.name: Tally() for case in cases}
    direct = Load(port=web.port, host="origin", target=f"{PASSING}a.html", connections=1, seconds=seconds / 2)
    direct_ms: list[float] = []
    warm(cases, web)
    for turn in range(rounds):
        direct_ms += measured(direct).latencies_ms
        for case in cases if turn % 2 == 0 else reversed(cases):
            add_turn(tallies[case.name], case, web, turn=turn, seconds=seconds)
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr)
    stock = tallies[cases[0].name]
    return [figures(case.name, tallies[case.name], stock, direct_ms) for case in cases]


def large_bodies(proxy: Program, web: Program) -> list[Memory]:
    """300 MB three times through a proxy that has done nothing yet."""
    return [
        _large_body(Case(name=name, program=proxy, path=f"{path}a", says=says), web)
        for name, path, says in (
            ("passed on", LARGE_PASSING, "fwd="),
            ("passed on and stored", LARGE_CACHEABLE, ";stored"),
            ("from the store", LARGE_CACHEABLE, "linkmend;hit"),
        )
    ]


def _large_body(case: Case, web: Program) -> Memory:
    case.program.forget_peak()
    before_mb = case.program.memory_mb()
    load = load_on(case, web, seconds=_LARGE_AT_MOST_S, connections=1, salt="")
    done = measured(replace(load, requests=1, warm_up_s=0))
    time.sleep(_SYNCED_WITHIN_S)
    peak_mb = case.program.peak_mb()
    return Memory(
        name=case.name, seconds=done.seconds, before_mb=before_mb, peak_mb=peak_mb, errors=done.errors
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="linkmend beside bare mitmdump")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one turn of a case")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    proxy_cores, other_cores = split_cores()
    os.sched_setaffinity(0, other_cores)  # and with us the loads, which we start
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="linkmend-benchmark-")))

        def start(name: str, settings: str = "") -> Program:
            # One process, whose processor time and memory are then all of linkmend's.
            program = linkmend(home, name, proxy_cores, settings=f"[proxy]\nworkers = 1\n{settings}")
            return running.enter_context(program)

        web = running.enter_context(origin(home, other_cores))
        stock = running.enter_context(stock_mitmdump(home, proxy_cores))
        ours = [start("usual"), start("disk", "[cache]\nmemory_bytes = 0\n"), start("large")]
        speed = compare(cases_of(stock, ours[0], ours[1]), web, rounds=asked.rounds, seconds=asked.seconds)
        memory = large_bodies(ours[2], web)
        complaints = sum(program.complaints() for program in ours)
    if asked.json:
        told = {"speed": [asdict(line) for line in speed], "memory": [asdict(line) for line in memory]}
        print(json.dumps({**told, "complaints": complaints}, indent=2))
        return
    print(speed_table(speed), memory_table(memory), sep="\n\n")
    print(f"\n{complaints} complaints in linkmend's log; proxies on cores {sorted(proxy_cores)}, the rest on")
    print(f"{sorted(other_cores)}; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
