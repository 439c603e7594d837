"""Processor time a request, by process, in alternation with another checkout of linkmend.

    python -m benchmarks.processorshares [--before CHECKOUT] [--rounds N] [--requests N] [--only WORD] [--json]

Counts processor time alone, so it says something on a busy machine too. Each case sends a fixed number of requests,
then waits until the background work is done, which counts as well. With `--before` both checkouts take turns under
the same Python and packages, in reverse order every second round.
"""

import argparse
import json
import os
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import markdown, spread
from benchmarks.load import Load, measure_load
from benchmarks.origin import CACHEABLE, PASSING
from benchmarks.processes import ROOT, Program, demo, linkmend, origin, process_cpu_s, scratch

CASES = {
    "first visit": Load(port=0, site="", paths=(f"{CACHEABLE}{{n}}.html",), says=";stored"),
    "passed on, new address": Load(port=0, site="", paths=(f"{PASSING}{{n}}.html",), says="fwd="),
    "passed on": Load(port=0, site="", paths=(f"{PASSING}a.html",), says="fwd="),
    "hit in memory": Load(port=0, site="", paths=(f"{CACHEABLE}a.html",), says="linkmend;hit"),
    "hit on disk": Load(port=0, site="", paths=(f"{CACHEABLE}a.html",), says="linkmend;hit"),
    "repair page": Load(port=0, site="", paths=("/water-cycle-{n}.html",), says="Linkmend-Miss", status=404),
}
MANY = {"hit in memory": 20, "hit on disk": 5, "passed on": 5, "repair page": 0.25}
"""Cheap requests are counted in larger numbers, dear ones in smaller."""
_ON_DISK = "[cache]\nmemory_bytes = 0\n"
_ROLES = ("supervisor", "backend", "worker")

Shares = dict[tuple[str, str], list[dict[str, float]]]
"""Milliseconds a request by process, of each round, by case and checkout."""


def measure(programs: dict[tuple[str, str], Program], site: str, *, rounds: int, requests: int) -> Shares:
    shares: Shares = defaultdict(list)
    for (_, case), program in programs.items():  # fills the cache and everything that is made once
        load = replace(CASES[case], port=program.port, site=site, requests=50, salt="warm", says="")
        measure_load(load)
        program.come_to_rest()
    for turn in range(rounds):
        for (who, case), program in list(programs.items())[:: -1 if turn % 2 else 1]:
            count = max(1, int(requests * MANY.get(case, 1)))
            load = replace(CASES[case], port=program.port, site=site, requests=count, salt=f"r{turn}-")
            shares[case, who].append(_one_turn(program, load))
    return shares


def _one_turn(program: Program, load: Load) -> dict[str, float]:
    before = [process_cpu_s(pid) for pid in program.pids()]
    told = measure_load(replace(load, seconds=120.0, warm_up_s=0.0))
    program.come_to_rest()
    if told.errors:
        raise SystemExit(f"errors: {told.errors}")
    after = [process_cpu_s(pid) for pid in program.pids()]
    spent = [1000 * (late - early) / told.asked for early, late in zip(before, after, strict=True)]
    return {**dict(zip(_ROLES, spent, strict=False)), "all": sum(spent)}


def shares_table(shares: Shares) -> str:
    rows = [
        (case, who, *(str(spread([each[part] for each in told])) for part in ("worker", "backend", "all")))
        for (case, who), told in shares.items()
    ]
    return markdown(("case", "commit", "worker", "backend", "all, ms (least - most)"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="processor time a request, by process")
    parser.add_argument("--before", type=Path, help="an earlier checkout of linkmend to compare with")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    checkouts = {"now": ROOT, **({"before": asked.before} if asked.before else {})}
    with ExitStack() as running:
        home = running.enter_context(scratch())
        cores = os.sched_getaffinity(0)
        web = running.enter_context(origin(home, cores))
        programs = {}
        for who, checkout in checkouts.items():
            for kind, settings in ("usual", ""), ("disk", _ON_DISK):
                wanted = [
                    case
                    for case in CASES
                    if asked.only in case and (case == "hit on disk") == (kind == "disk")
                ]
                if wanted:
                    data = demo(home / f"{who}-{kind}", checkout=checkout)
                    program = running.enter_context(
                        linkmend(data, cores, settings=settings, checkout=checkout)
                    )
                    programs.update({(who, case): program for case in wanted})
        order = sorted(programs, key=lambda each: list(CASES).index(each[1]))
        shares = measure(
            {each: programs[each] for each in order},
            f"127.0.0.1:{web.port}",
            rounds=asked.rounds,
            requests=asked.requests,
        )
    if asked.json:
        print(
            json.dumps(
                [{"case": case, "commit": who, "rounds": told} for (case, who), told in shares.items()]
            )
        )
        return
    print(shares_table(shares))
    print(f"\n{asked.rounds} rounds of {asked.requests} requests; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
