"""`linkmend evaluate`: measures the ranking on a collection folder whose broken links have known answers."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from proxy.commands.options import Json, print_json
from proxy.errors import LinkmendError
from repair import rankmodel
from repair.evaluate import Outcome, counted, outcomes, report
from repair.simulate import Plan, Variant, cases

Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Where the collections made for measuring are kept."),
]


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A collection folder with test links.")],
    variant: Annotated[
        Literal["kept", "moved", "really-moved", "gone"], typer.Option(help="How the links are broken.")
    ] = "moved",
    rankings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was ranked, one JSON object a line.")
    ] = None,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help="A model of `linkmend train`.")] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first links.")] = None,
    split: Annotated[Literal["test", "train"], typer.Option(help="Which links.")] = "test",
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Measure how well broken links are repaired, on links whose targets are known."""
    plan = Plan(folder=folder, variant=Variant(variant), split=split, limit=limit)
    used = rankmodel.load(model) if model else rankmodel.default()
    with progress("measuring", len(cases(plan))) as tell:
        found = counted(outcomes(plan, cache_from(cache), used), tell)
    if rankings is not None:
        _write(rankings, found)
    told = report(plan, found)
    if as_json:
        print_json(told)
    else:
        _show(told)


def cache_from(cache: Path | None) -> Path:
    """Where collections made for measuring are kept: given, or the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return cache or Path(home) / "linkmend" / "evaluate"


@contextmanager
def progress(what: str, total: int) -> Iterator[Any]:
    """A progress bar on a terminal, nothing otherwise."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _write(path: Path, found: Sequence[Outcome]) -> None:
    try:
        with path.open("wb") as file:
            for outcome in found:
                file.write(msgspec.json.encode({"id": outcome.id, "ranked": outcome.ranked}) + b"\n")
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error


def _show(told: dict[str, Any]) -> None:
    names = list(told["models"]["combined"])
    table = Table("model", *names, title=f"{told['collection']} {told['variant']}, {told['n']} links")
    for name, measured in told["models"].items():
        table.add_row(name, *(f"{measured[key]:.3f}" if key in measured else "" for key in names))
    Console().print(table)
