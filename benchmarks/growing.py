"""A simulated term with and without growing, as a table in Markdown.

    python -m benchmarks.growing FOLDER [--nights 20] [--readers 300] [--topics 20] [--bytes 250000] [--seed 0]

FOLDER is a collection folder with a subject index (the 2007 schools selection). The same clicks are answered by three
schools: one whose collection stays as it is, one that crawls all its topics every night, and one that grows from its
misses and spends the same bytes. See `repair/evaluation/schoolterm.py` for what is simulated.
"""

import argparse
import tempfile
from contextlib import ExitStack
from dataclasses import replace
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
    parser.add_argument("--bytes", type=int, default=250_000, help="of text that a night may fetch")
    parser.add_argument(
        "--topics", type=int, default=20, help="what the classes learn, the largest topics first"
    )
    parser.add_argument("--characters", type=int, default=4_000, help="of each page, to save time")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    plan = TermPlan(
        nights=arguments.nights,
        readers=arguments.readers,
        topics=arguments.topics,
        night_bytes=arguments.bytes,
        seed=arguments.seed,
    )
    loaded = SimulatedWeb.load(arguments.folder)
    shortened = {
        url: replace(document, text=document.text[: arguments.characters])
        for url, document in loaded.documents.items()
    }
    world = TermWeb(SimulatedWeb(shortened, loaded.topics), plan)
    print(f"| nights | misses | {' | '.join(ARMS.values())} |\n{'|---' * (2 + len(ARMS))}|", flush=True)
    days: tuple[TermDay, ...] = ()
    with ExitStack() as folders:
        terms = [
            simulate_term(world, arm, Path(folders.enter_context(tempfile.TemporaryDirectory())))
            for arm in ARMS
        ]
        for number, days in enumerate(zip(*terms, strict=True)):
            cells = [f"{day.share:.2f} ({day.right / max(1, day.misses):.2f})" for day in days]
            print(f"| {number} | {days[0].misses} | {' | '.join(cells)} |", flush=True)
    totals = [f"{day.received / 1e6:.1f} MB, {day.saved} pages" for day in days]
    print(f"| fetched | | {' | '.join(totals)} |")


if __name__ == "__main__":
    main()
