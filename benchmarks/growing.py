"""A simulated term with and without growing, as a table in Markdown.

    python -m benchmarks.growing FOLDER [--nights 20] [--readers 300] [--bytes 2000000] [--seed 0]

FOLDER is a collection folder with a subject index (the 2007 schools selection). The same clicks are answered by three
schools: one whose collection stays as it is, one that crawls all its topics every night, and one that grows from its
misses and spends the same bytes. See `repair/evaluation/schoolterm.py` for what is simulated.
"""

import argparse
import tempfile
from pathlib import Path

from repair.evaluation.schoolterm import Arm, TermDay, TermPlan, TermWeb, simulate_term
from repair.evaluation.simulatedweb import SimulatedWeb

ARMS: dict[Arm, str] = {
    "nothing": "stays as it is",
    "topics": "crawls its topics",
    "growing": "grows from misses",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--readers", type=int, default=300)
    parser.add_argument("--bytes", type=int, default=2_000_000, help="of text that a night may fetch")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    plan = TermPlan(
        nights=arguments.nights, readers=arguments.readers, night_bytes=arguments.bytes, seed=arguments.seed
    )
    world = TermWeb(SimulatedWeb.load(arguments.folder), plan)
    days: dict[Arm, list[TermDay]] = {}
    for arm in ARMS:
        with tempfile.TemporaryDirectory() as folder:
            days[arm] = simulate_term(world, arm, Path(folder), on_day=lambda day: print(end=".", flush=True))
    print(f"\n\n| nights | misses | {' | '.join(ARMS.values())} |\n{'|---' * (2 + len(ARMS))}|")
    for number in range(plan.nights + 1):
        cells = [
            f"{each.share:.2f} ({each.right / each.misses:.2f})"
            for each in (days[arm][number] for arm in ARMS)
        ]
        print(f"| {number} | {days['nothing'][number].misses} | {' | '.join(cells)} |")
    totals = [f"{days[arm][-1].received / 1e6:.1f} MB, {days[arm][-1].saved} pages" for arm in ARMS]
    print(f"| fetched | | {' | '.join(totals)} |")


if __name__ == "__main__":
    main()
