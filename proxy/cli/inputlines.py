"""The lines of an untrusted file or of standard input, bounded so that no line fills the memory."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from proxy.errors import LinkmendError

MAX_BYTES = 256 * 1024
"""Longer lines are refused."""
STDIN = Path("-")


def lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Every non-blank line with its number, from 1; None for one that is too long.

    Raises LinkmendError when the file cannot be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_BYTES + 1):
                number += 1
                if len(line) > MAX_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = file.readline(MAX_BYTES)
                    yield number, None
                elif line.strip():
                    yield number, line
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error
