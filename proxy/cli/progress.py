"""Progress of long work: a bar on a terminal, otherwise a line now and then; always on stderr."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn

_EVERY_S = 10.0  # between two lines where there is no terminal

Tell = Callable[[int], None]
"""Takes the number of finished steps."""
TellShare = Callable[[float | None, str], None]
"""Takes how much is done, from 0 to 1 (None when unknown), and a few words about it."""


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


@contextmanager
def progress_in_percent(what: str, *, every_s: float = _EVERY_S) -> Iterator[TellShare]:
    """Report progress as a share of the whole, with words such as "120 pages"."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = _Lines(what, None, every_s)
        yield lambda share, words: lines.write(words if share is None else f"{share * 100:.0f} %, {words}")
        return
    with Progress(
        *Progress.get_default_columns(), TextColumn("{task.fields[words]}"), console=console
    ) as bar:
        task = bar.add_task(what, total=None, words="")
        yield lambda share, words: bar.update(
            task, total=None if share is None else 1.0, completed=share or 0.0, words=words
        )


class _Lines:
    """Progress as lines, where there is no terminal."""

    def __init__(self, what: str, total: int | None, every_s: float) -> None:
        self._what = what
        self._of_all = f" of {total}" if total is not None else ""
        self._every_s = every_s
        self._told_at = time.monotonic()

    def __call__(self, done: int) -> None:
        self.write(f"{done}{self._of_all}")

    def write(self, text: str) -> None:
        now = time.monotonic()
        if now - self._told_at >= self._every_s:
            self._told_at = now
            typer.echo(f"{self._what}: {text}", err=True)
