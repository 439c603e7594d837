"""Processor time until linkmend is ready, and the memory of its processes, in alternation with another checkout.

    python -m benchmarks.start [--before CHECKOUT] [--rounds N] [--json]

Starts `linkmend serve` with the demo collection, with one worker and with two, and `linkmend --help`. Processor time
is that of all processes together, up to the line that says it is ready. Memory is what the processes have when they
rest, without a request; what they share counts once (PSS). Bytecode is compiled beforehand, as an installation does.
"""

import argparse
import json
import os
import resource
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import markdown, spread
from benchmarks.processes import ROOT, demo, linkmend, program, scratch, shared_memory_mb

_WORKERS = (2, 1)

Found = dict[tuple[str, str], list[float]]
"""The values of all rounds, by figure and checkout."""


def measure(checkouts: dict[str, Path], home: Path, *, rounds: int) -> Found:
    found: Found = defaultdict(list)
    cores = os.sched_getaffinity(0)
    data = {who: demo(home / who, checkout=checkout) for who, checkout in checkouts.items()}
    for turn in range(rounds):
        for who, checkout in list(checkouts.items())[:: -1 if turn % 2 else 1]:
            with _spending(found["linkmend --help: s of CPU", who]):
                command = (*program(checkout), "--help")
                subprocess.run(command, cwd=checkout, check=True, capture_output=True)
            for workers in _WORKERS:
                name = f"serve, {workers} worker{'s' * (workers > 1)}"
                with linkmend(data[who], cores, workers=workers, checkout=checkout) as started:
                    found[f"{name}: ready, s of CPU", who].append(started.cpu_s())
                    started.come_to_rest()
                    memory = [shared_memory_mb(pid) for pid in started.pids()]
                    found[f"{name}: MB (PSS)", who].append(sum(memory))
                    for role, each in zip(
                        ("supervisor", "backend", "worker 1", "worker 2"), memory, strict=False
                    ):
                        found[f"- {name}: {role}", who].append(each)
    return found


@contextmanager
def _spending(seconds: list[float]) -> Iterator[None]:
    """Append the processor time of the processes that are started and waited for meanwhile."""
    before = _children_s()
    yield
    seconds.append(_children_s() - before)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="start and memory at rest")
    parser.add_argument("--before", type=Path, help="an earlier checkout of linkmend to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    checkouts = {"now": ROOT, **({"before": asked.before} if asked.before else {})}
    with scratch() as home:
        found = measure(checkouts, home, rounds=asked.rounds)
    if asked.json:
        print(
            json.dumps(
                [{"figure": name, "commit": who, "rounds": told} for (name, who), told in found.items()]
            )
        )
        return
    figures = dict.fromkeys(name for name, _ in found)
    rows = [(name, *(str(spread(found[name, who])) for who in checkouts)) for name in figures]
    print(markdown(("figure", *checkouts), rows))
    print(f"\nmedian (least - most) of {asked.rounds} rounds; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
