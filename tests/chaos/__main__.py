"""`python -m tests.chaos --seed N --seconds S`: one trial, as long as wanted; exit 1 when an invariant was broken."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.run import Trial, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--squid", action=argparse.BooleanOptionalAction, help="else the seed decides")
    parser.add_argument("--clock", action=argparse.BooleanOptionalAction, help="else the seed decides")
    given = parser.parse_args()
    trial = Trial(seed=given.seed, seconds=given.seconds, squid=given.squid, clock=given.clock)
    folder = Path(tempfile.mkdtemp(prefix="linkmend-chaos-"))
    print(f"seed {trial.seed}, {trial.seconds:.0f} s; linkmend's log: {folder / 'linkmend.log'}", flush=True)  # noqa: T201
    report = asyncio.run(run(trial, folder))
    print(report)  # noqa: T201
    return 1 if report.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
