"""The cost of rules: linkmend with ten thousand rules and as many list entries, beside linkmend without any.

    python -m benchmarks.rules [--seconds N] [--rounds N] [--json]

Both alternate in every round, and results are ratios within a round. The cost of a single verdict comes first
(benchmarks/verdicts.py).
"""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict

from benchmarks.load import Load
from benchmarks.origin import CACHEABLE, PASSING
from benchmarks.processes import Program, demo, linkmend, origin, scratch, split_cores
from benchmarks.rounds import Case, Line, compare, speed_table
from benchmarks.verdicts import verdicts, write_rules

_RULES = 10_000
_ENTRIES = 10_000
_KINDS = {
    "hit in memory": (f"{CACHEABLE}a.html", "linkmend;hit"),
    "pass-through": (f"{PASSING}a.html", "fwd="),
}


def cases_of(none: Program, many: Program, web: Program, cores: set[int]) -> Iterator[Case]:
    """The same request without and with rules."""
    for kind, (path, says) in _KINDS.items():
        for which, program in ("no rules", none), (f"{_RULES} rules", many):
            yield Case(
                name=f"{kind}, {which}",
                against=f"{kind}, no rules",
                program=program,
                load=Load(port=program.port, site=f"127.0.0.1:{web.port}", paths=(path,), says=says),
                cores=cores,
            )


def measure_speed(*, rounds: int, seconds: float) -> tuple[list[Line], int]:
    proxy_cores, other_cores = split_cores()
    with ExitStack() as running:
        home = running.enter_context(scratch())
        write_rules(home / "many-rules", rules=_RULES, entries=_ENTRIES)
        web = running.enter_context(origin(home, other_cores))
        none = running.enter_context(linkmend(demo(home / "none"), proxy_cores))
        settings = '[rules]\nfolder = "many-rules"\n'
        many = running.enter_context(linkmend(demo(home / "many"), proxy_cores, settings=settings))
        told = compare(tuple(cases_of(none, many, web, other_cores)), rounds=rounds, seconds=seconds)
        return told, none.complaints() + many.complaints()


def main() -> None:
    parser = argparse.ArgumentParser(description="linkmend with ten thousand rules beside linkmend without")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one turn of a case")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    single = list(verdicts())
    speed, complaints = measure_speed(rounds=asked.rounds, seconds=asked.seconds)
    if asked.json:
        told = {"verdicts": single, "speed": [asdict(line) for line in speed], "complaints": complaints}
        print(json.dumps(told, indent=2))
        return
    for line in single:
        print(", ".join(f"{key} {value:.4g}" for key, value in line.items()))
    print(f"\n{speed_table(speed)}\n\n{complaints} complaints; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
