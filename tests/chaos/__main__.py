"""`python -m tests.chaos --seed N --minutes M`: one trial or several; exit 1 when an invariant was broken."""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos.report import Report, Trial, table
from tests.chaos.run import run


def main() -> int:
    given = _arguments()
    reports = []
    for seed in range(given.seed, given.seed + given.trials):
        seconds = given.seconds or 60 * given.minutes
        trial = Trial(seed=seed, seconds=seconds, squid=given.squid, clock=given.clock)
        reports.append(_tried(trial))
    if len(reports) > 1:
        _say(table(reports))
    return 1 if any(report.complaints for report in reports) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the first trial")
    parser.add_argument("--trials", type=int, default=1, help="one after the other, each with the next seed")
    parser.add_argument("--minutes", type=float, default=1.0, help="of each trial")
    parser.add_argument("--seconds", type=float, help="rather than minutes")
    parser.add_argument("--squid", action=argparse.BooleanOptionalAction, help="else the seed decides")
    parser.add_argument("--clock", action=argparse.BooleanOptionalAction, help="else the seed decides")
    return parser.parse_args()


def _tried(trial: Trial) -> Report:
    """Run one trial in its own folder, which is kept when the trial found a fault."""
    folder = Path(tempfile.mkdtemp(prefix="linkmend-chaos-"))
    _say(f"seed {trial.seed}, {trial.seconds:.0f} s; linkmend's log: {folder / 'linkmend.log'}")
    report = asyncio.run(run(trial, folder, say=_say))
    _say(str(report))
    if report.complaints:
        (folder / "report.txt").write_text(str(report), encoding="utf-8")
        _say(f"left: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return report


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
