"""Progress of long work: a bar on a terminal, otherwise a line now and then; always on stderr."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import Progress

_EVERY_S = 10.0  # between two lines where there is no terminal

Tell = Callable[[int], None]
"""Takes the number of finished steps."""


@contextmanager
def progress(what: str, total: int | None, *, every_s: float = _EVERY_S) -> Iterator[Tell]:
    """Report progress of `total` steps; None when the number is unknown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(what, total, every_s)
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


class _Lines:
    """Progress as lines, where there is no terminal."""

    def __init__(self, what: str, total: int | None, every_s: float) -> None:
        self._what = what
        self._of_all = f" of {total}" if total is not None else ""
        self._every_s = every_s
        self._told_at = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= self._every_s:
            self._told_at = now
            typer.echo(f"{self._what}: {done}{self._of_all}", err=True)
