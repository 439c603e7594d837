"""Whether two linkmend behind HAProxy do twice the work of one: processor time a request, in alternation.

    python -m benchmarks.sidebyside [--rounds N] [--requests N] [--json]

HAProxy runs with the file of deploy/district, and gives each linkmend its hosts. Both have the same collection. What
a request costs all processes together says what a second machine wastes; what it costs both linkmend says how much
more two machines carry than one where HAProxy has cores of its own and each gets half of the requests.
"""

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import markdown, spread
from benchmarks.load import Load, measure_load
from benchmarks.processes import ROOT, Program, demo, free_port, linkmend, origin, scratch
from benchmarks.processorshares import CASES, MANY

_KINDS = ("first visit", "passed on", "hit in memory", "repair page")
_SITES = 8
_BEHIND = '[proxy]\nbalancers = ["127.0.0.1/32"]\n'
_ALONE, _TOGETHER = "one alone", "two behind HAProxy"


def haproxy(home: Path, both: Sequence[Program], cores: set[int]) -> Program:
    """HAProxy as in deploy/district, before these two; it only checks whether their ports are open."""
    text = (ROOT / "deploy" / "district" / "haproxy.cfg").read_text(encoding="utf-8")
    port = free_port()
    text = text.replace("bind :8080", f"bind 127.0.0.1:{port}").replace("check port 9108 ", "check ")
    text = text.replace("req.hdr(Host),field(1,:),lower", "req.hdr(Host),lower")  # our sites are ports
    text = text.replace("option httpchk GET /readyz", "").replace("http-check expect status 200", "")
    for number, program in enumerate(both, 1):
        text = text.replace(f"linkmend{number}:8080", f"127.0.0.1:{program.port}")
    file = home / "haproxy.cfg"
    file.write_text(text, encoding="utf-8")
    return Program(("haproxy", "-f", file), port=port, log=home / "haproxy.log", cores=cores)


def one_turn(
    front: Program, programs: Sequence[Program], load: Load, sites: Sequence[Program]
) -> list[float]:
    """Milliseconds a request of each program, for the same number of requests to each site."""
    before, asked = [program.cpu_s() for program in programs], 0
    for site in sites:
        told = measure_load(
            replace(load, port=front.port, site=f"127.0.0.1:{site.port}", seconds=120.0, warm_up_s=0.0)
        )
        if told.errors:
            raise SystemExit(f"errors: {told.errors}")
        asked += told.asked
    for program in programs:
        program.come_to_rest()
    spent = [program.cpu_s() - early for program, early in zip(programs, before, strict=True)]
    return [1000 * each / asked for each in spent]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rounds: defaultdict[tuple[str, str], list[list[float]]] = defaultdict(list)
    with ExitStack() as running:
        home, cores = running.enter_context(scratch()), os.sched_getaffinity(0)
        sites = [running.enter_context(origin(home, cores)) for _ in range(_SITES)]
        alone = running.enter_context(linkmend(demo(home / "alone"), cores))
        both = [
            running.enter_context(linkmend(demo(home / f"two-{number}"), cores, settings=_BEHIND))
            for number in (1, 2)
        ]
        front = running.enter_context(haproxy(home, both, cores))
        ways = {_ALONE: (alone, [alone]), _TOGETHER: (front, [front, *both])}
        for turn in range(-1, asked.rounds):  # the first fills the caches and all that is made once
            for kind in _KINDS:
                for name in list(ways)[:: -1 if turn % 2 else 1]:
                    count = max(1, int(asked.requests * MANY.get(kind, 1)))
                    load = replace(CASES[kind], requests=count, salt=f"r{turn}-")
                    if turn < 0 and kind == "hit in memory":
                        load = replace(load, says="")
                    spent = one_turn(*ways[name], load, sites)
                    if turn >= 0:
                        rounds[kind, name].append(spent)
    if asked.json:
        print(json.dumps([{"case": case, "who": who, "ms": told} for (case, who), told in rounds.items()]))
        return
    print(_table(rounds))
    print(f"\n{asked.rounds} rounds of {asked.requests} requests; load average {os.getloadavg()[0]:.1f}")


def _table(rounds: dict[tuple[str, str], list[list[float]]]) -> str:
    rows = []
    for kind in _KINDS:
        alone, together = rounds[kind, _ALONE], rounds[kind, _TOGETHER]
        pairs = list(zip(alone, together, strict=True))
        rows.append(
            (
                kind,
                str(spread([each for (each,) in alone])),
                str(spread([sum(each) for each in together])),
                str(spread([each[0] for each in together])),
                str(spread([sum(two) / one for (one,), two in pairs])),
                str(spread([2 * one / sum(two[1:]) for (one,), two in pairs])),
            )
        )
    head = (
        "case",
        "one alone, ms",
        "two and HAProxy, ms",
        "HAProxy, ms",
        "together / alone",
        "two carry, times one",
    )
    return markdown(head, rows)


if __name__ == "__main__":
    main()
