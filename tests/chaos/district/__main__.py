"""`python -m tests.chaos.district --seed N --minutes M`: one trial; exit 1 when an invariant was broken."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.district.trial import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.district", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--calm", action="store_true", help="no trouble: how fast are repair pages?")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="linkmend-district-"))
    folder.chmod(0o755)
    _say(f"seed {given.seed}, {given.minutes:g} minutes; {folder}")
    report = run(given.seed, 60 * given.minutes, folder, _say, calm=given.calm)
    _say(str(report))
    return 1 if report.complaints else 0


def _say(words: str) -> None:
    print(words, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
