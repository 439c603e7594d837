"""Small programs that fork and take signals, each in a process of its own, and what they say."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[4]


@contextmanager
def running(program: str) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts the program as often as asked, with these arguments and variables; what is left of it is killed."""
    started = []

    def start(*arguments, **variables):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def lines_until(process, words):
    """What was said until a line with these words."""
    said = []
    for line in process.stdout:
        said.append(line)
        if words in line:
            return "".join(said)
    raise AssertionError("".join(said))
