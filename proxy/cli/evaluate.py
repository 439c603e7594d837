"""`linkmend evaluate`: measures the ranking on a collection folder whose broken links have known answers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from proxy.commands.figures import show, show_moves
from proxy.commands.options import Json, print_json
from proxy.commands.progress import progress
from proxy.errors import LinkmendError
from repair import rankmodel
from repair.evaluate.ablation import ablation as ablated
from repair.evaluate.bench import Bench, bench
from repair.evaluate.measures import report
from repair.evaluate.outcomes import Outcome, outcomes
from repair.evaluate.repairable import confusion as confused
from repair.evaluate.repairable import verdicts
from repair.evaluate.sitemoves import measured
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
    models: Annotated[
        Literal["combined", "all"],
        typer.Option(help="The combined model beside each single source, or beside all the papers' models."),
    ] = "combined",
    copies: Annotated[
        bool,
        typer.Option("--copies", help="An older version of every lost page is known, as from an archive."),
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also without each kind of evidence in turn.")
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Also whether it knows what cannot be repaired.")
    ] = False,
    moves: Annotated[
        Path | None,
        typer.Option(
            metavar="OLDER", help="Instead, whether site moves are learnt; OLDER is the site as it was."
        ),
    ] = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Measure how well broken links are repaired, on links whose targets are known."""
    if moves is not None:
        told = measured(folder, moves, split=split, tell=_say)
        print_json(told) if as_json else show_moves(told)
        return
    plan = Plan(folder=folder, variant=Variant(variant), split=split, limit=limit)
    if plan.variant is Variant.GONE and (ablation or confusion):
        raise typer.BadParameter("--ablation and --confusion need links with answers, not --variant gone")
    used = rankmodel.load(model) if model else rankmodel.default()
    with bench(plan, cache_from(cache), used, copied=copies) as made:
        told, found = _told(made, every=models == "all", confusion=confusion, ablation=ablation)
    if rankings is not None:
        _write(rankings, found)
    print_json(told) if as_json else show(told)


def _told(
    made: Bench, *, every: bool, confusion: bool, ablation: bool
) -> tuple[dict[str, Any], Sequence[Outcome]]:
    total = len(cases(made.plan))
    with progress("measuring", 2 * total) as tell:  # our model, then the others
        found = outcomes(made, every=every, tell=tell)
    told = report(made.plan, found, copies=made.copied)
    if confusion:
        with progress("repairable or not", total) as tell:
            told["repairable"] = confused(verdicts(made, tell=tell))
    if ablation:
        with progress("ablation", total) as tell:
            told["ablation"] = ablated(made, tell=tell)
    return told, found


def cache_from(cache: Path | None) -> Path:
    """Where collections made for measuring are kept: given, or the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return cache or Path(home) / "linkmend" / "evaluate"


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _write(path: Path, found: Sequence[Outcome]) -> None:
    try:
        with path.open("wb") as file:
            for outcome in found:
                file.write(msgspec.json.encode({"id": outcome.id, "ranked": outcome.ranked}) + b"\n")
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error
