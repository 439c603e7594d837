"""Runs the fuzzer for a while and prints what it finds: `python -m tests.attacks.fuzz --minutes 30 [--seed N]`."""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure

from tests.attacks.fuzz.judge import Complaint, Judge
from tests.attacks.fuzz.origin import CarelessOrigin
from tests.attacks.fuzz.requests import HostileRequest, hostile_requests, single_requests
from tests.integration.processes import Linkmend

_BATCH = 1500


def main() -> int:
    """The number of different findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--found", type=Path, help="append what is found to this file, one JSON object a line"
    )
    chosen = parser.parse_args()
    end, batch, findings = time.monotonic() + 60 * chosen.minutes, chosen.seed, 0
    also = {"LINKMEND_PROXY_WORKERS": str(chosen.workers)}
    with tempfile.TemporaryDirectory() as folder, CarelessOrigin() as origin:
        running = Linkmend(Path(folder) / "data", also=also)
        try:
            judge = Judge(running, origin)
            while time.monotonic() < end:
                for strategy, check in (
                    (hostile_requests(), judge.judge_poisoning),
                    (single_requests(), judge.judge_agreement),
                ):
                    findings += _run_batch(batch, strategy, check, chosen.found, end)
                findings += _complains(judge.judge_log)
                batch += 1
                print(f"seeds {chosen.seed} to {batch - 1}, {findings} findings, {judge.counts}", flush=True)
        finally:
            running.stop()
    return findings


def _run_batch(number, strategy, check, found: Path | None, end: float) -> int:
    @seed(number)
    @settings(
        max_examples=_BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
    )
    @given(strategy)
    def run(request: HostileRequest) -> None:
        if time.monotonic() < end:
            last[:] = [request]
            check(request)

    last: list[HostileRequest] = []
    found_one = _complains(run)
    if found_one and found is not None:
        with found.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"seed": number, "check": check.__name__, **asdict(last[0])}) + "\n")
    return found_one


def _complains(check: Callable[[], None]) -> int:
    try:
        check()
    except (Complaint, FlakyFailure) as complaint:
        print(f"found: {complaint}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
