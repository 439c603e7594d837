"""`linkmend train`: learns the ranking model from links that are pretended broken."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from proxy import logs
from proxy.cli.evaluate import Cache, cache_from
from proxy.cli.options import Config, Data, data_from, settings_from
from proxy.errors import LinkmendError

_LIMIT = 1000
_OWN_LIMIT = 600
_LEAST_PRIORITY = 19


def train(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER...", help="Collection folders with training links.")
    ] = None,
    from_store: Annotated[
        bool,
        typer.Option("--from-store", help="Train on the saved pages; use the new model if it is better."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Output file; default: ranking.json in the current folder."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=10,
            help=f"Links per folder; default: {_LIMIT}, for saved pages {_OWN_LIMIT}.",
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
    cache: Cache = None,
) -> None:
    """Train the ranking model on pseudo-broken links. Takes minutes."""
    if from_store == bool(folders):
        raise typer.BadParameter("give either folders or --from-store")
    if from_store and (out or cache):
        raise typer.BadParameter(
            "--from-store can't be combined with --out or --cache: it uses the data folder"
        )
    _check_libraries()
    from proxy.cli import training
    from repair.learning.schoolfolder import LEAST_LINKS

    if from_store and limit is not None and limit < LEAST_LINKS:
        raise typer.BadParameter(f"--from-store needs a --limit of at least {LEAST_LINKS}")
    if from_store:
        logs.set_up(settings_from(config).log)
        with _low_priority():
            training.learn_from_held(data_from(data), limit or _OWN_LIMIT)
    else:
        training.learn_from_folders(folders or [], limit or _LIMIT, cache_from(cache), out)


def _check_libraries() -> None:
    """Fail now rather than after minutes of reading. Also sets the number of threads, which works only before the
    first import.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the proxy needs the other cores
    try:
        import repair.learning.train  # noqa: F401
    except ImportError as error:
        raise LinkmendError(f"learning needs the extra linkmend[learn]: {error}") from error


@contextmanager
def _low_priority() -> Iterator[None]:
    """Run at the lowest priority; on SIGTERM remove temporary files first."""
    os.nice(_LEAST_PRIORITY)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)
