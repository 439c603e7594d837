"""What rules cost: linkmend with ten thousand rules and as many entries in a list, beside linkmend without any.

    python benchmarks/rules.py [--seconds N] [--rounds N] [--json]

Both take turns in every round, and what is told are ratios within a round, as in benchmarks/proxy.py. What a single
verdict costs is told first (benchmarks/verdicts.py).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from figures import Figures, speed_table
from origin import CACHEABLE, PASSING
from processes import ROOT, Program, linkmend, origin, split_cores

from proxy import Case, compare

_RULES = 10_000
_ENTRIES = 10_000
_WRITE = "from pathlib import Path; from benchmarks.verdicts import write_rules; import sys; "


def verdicts() -> list[dict[str, float]]:
    """From a process of its own: here `proxy` is a benchmark, there it is the package."""
    command = [sys.executable, "-m", "benchmarks.verdicts"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_rules(folder: Path) -> None:
    call = f"write_rules(Path(sys.argv[1]), rules={_RULES}, entries={_ENTRIES})"
    subprocess.run([sys.executable, "-c", _WRITE + call, str(folder)], cwd=ROOT, check=True)


def pairs(none: Program, many: Program) -> tuple[tuple[Case, Case], ...]:
    """The same request without rules and with; the first of a pair is what the second is compared with."""
    kinds = (
        ("hit in memory", f"{CACHEABLE}a.html", "linkmend;hit"),
        ("pass-through", f"{PASSING}a.html", "fwd="),
    )
    return tuple(
        (
            Case(name=f"{name}, no rules", program=none, path=path, says=says),
            Case(name=f"{name}, {_RULES} rules", program=many, path=path, says=says),
        )
        for name, path, says in kinds
    )


def measured(*, rounds: int, seconds: float) -> tuple[list[Figures], int]:
    proxy_cores, other_cores = split_cores()
    os.sched_setaffinity(0, other_cores)
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="linkmend-benchmark-")))
        write_rules(home / "many-rules")
        web = running.enter_context(origin(home, other_cores))
        none = running.enter_context(linkmend(home, "none", proxy_cores))
        settings = '[rules]\nfolder = "many-rules"\n'
        many = running.enter_context(linkmend(home, "many", proxy_cores, settings=settings))
        found = [
            figures
            for pair in pairs(none, many)
            for figures in compare(pair, web, rounds=rounds, seconds=seconds)
        ]
        return found, none.complaints() + many.complaints()


def main() -> None:
    parser = argparse.ArgumentParser(description="linkmend with ten thousand rules beside linkmend without")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one turn of a case")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    single = verdicts()
    speed, complaints = measured(rounds=asked.rounds, seconds=asked.seconds)
    if asked.json:
        told = {"verdicts": single, "speed": [asdict(line) for line in speed], "complaints": complaints}
        print(json.dumps(told, indent=2))
        return
    for line in single:
        print(", ".join(f"{key} {value:.4g}" for key, value in line.items()))
    print(f"\n{speed_table(speed)}\n\n{complaints} complaints; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
