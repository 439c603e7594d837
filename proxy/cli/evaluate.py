"""`linkmend evaluate`: measures the ranking on a collection folder whose broken links have known answers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from proxy.cli.evaluationtables import show, show_moves
from proxy.cli.options import Json, print_json
from proxy.cli.progress import progress
from proxy.errors import LinkmendError

if TYPE_CHECKING:
    from repair.evaluation.outcomes import LinkOutcome
    from repair.simulation.testbed import RankingTestbed

Cache = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="Where to cache the collections built for the evaluation."),
]


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Collection folder with test links.")],
    variant: Annotated[
        Literal["kept", "moved", "really-moved", "gone"], typer.Option(help="How the links are broken.")
    ] = "moved",
    rankings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the rankings, one JSON object per line.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file from `linkmend train`.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Use only the first N links.")] = None,
    split: Annotated[
        Literal["test", "test_cross", "train"],
        typer.Option(help="Which set of links; test_cross has links between hosts."),
    ] = "test",
    models: Annotated[
        Literal["combined", "all"],
        typer.Option(
            help="Compare the combined model with each single source, or with all the papers' models."
        ),
    ] = "combined",
    copies: Annotated[
        bool,
        typer.Option(
            "--copies", help="Assume an older version of every lost page is known, as from an archive."
        ),
    ] = False,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also leave out each kind of evidence in turn.")
    ] = False,
    confusion: Annotated[
        bool,
        typer.Option(
            "--confusion",
            help="Also measure how well it recognises links that can't be repaired, and false offers on all links:"
            " without it, on 250.",
        ),
    ] = False,
    with_moves: Annotated[
        bool,
        typer.Option(
            "--with-moves",
            help="For really-moved: learn the site's moves from the other links' source pages, found elsewhere.",
        ),
    ] = False,
    moves: Annotated[
        Path | None,
        typer.Option(
            metavar="OLDER",
            help="Instead, measure how well site moves are learned; OLDER is the site before the move.",
        ),
    ] = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Measure repair quality on links whose targets are known."""
    from repair.evaluation.sitemoves import measure_folder
    from repair.ranking import rankmodel
    from repair.simulation.pseudobroken import BreakagePlan, Variant
    from repair.simulation.testbed import build_testbed

    if moves is not None:
        results = measure_folder(folder, moves, split=split, tell=_print_progress)
        print_json(results) if as_json else show_moves(results)
        return
    plan = BreakagePlan(folder=folder, variant=Variant(variant), split=split, limit=limit)
    if plan.variant is Variant.GONE and (ablation or confusion):
        raise typer.BadParameter("--ablation and --confusion need links with answers, not --variant gone")
    used = rankmodel.load(model) if model else rankmodel.default()
    with build_testbed(plan, cache_from(cache), used, copied=copies, with_moves=with_moves) as made:
        results, found = _measure(made, every=models == "all", confusion=confusion, ablation=ablation)
    if rankings is not None:
        _write(rankings, found)
    print_json(results) if as_json else show(results)


def _measure(
    made: "RankingTestbed", *, every: bool, confusion: bool, ablation: bool
) -> "tuple[dict[str, Any], Sequence[LinkOutcome]]":
    from repair.evaluation.ablation import ablation as measure_ablation
    from repair.evaluation.measures import report
    from repair.evaluation.outcomes import outcomes
    from repair.evaluation.repairable import confusion as confusion_table
    from repair.evaluation.repairable import false_offers, verdicts
    from repair.simulation.pseudobroken import Variant, cases

    total = len(cases(made.plan))
    with progress("measuring", 2 * total) as tell:  # our model, then the others
        found = outcomes(made, every=every, tell=tell)
    results = report(made.plan, found, copies=made.copied)
    if confusion:
        with progress("repairable or not", total) as tell:
            results["repairable"] = confusion_table(verdicts(made, tell=tell))
        results["false_offers"] = results["repairable"]["false_offers"]
    elif made.plan.variant is not Variant.GONE:
        results["false_offers"] = false_offers(made)
    if ablation:
        with progress("ablation", total) as tell:
            results["ablation"] = measure_ablation(made, tell=tell)
    return results, found


def cache_from(cache: Path | None) -> Path:
    """Where collections built for evaluation are cached: the given folder, or the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return cache or Path(home) / "linkmend" / "evaluate"


def _print_progress(line: str) -> None:
    typer.echo(line, err=True)


def _write(path: Path, found: "Sequence[LinkOutcome]") -> None:
    try:
        with path.open("wb") as file:
            for outcome in found:
                file.write(msgspec.json.encode({"id": outcome.id, "ranked": outcome.ranked}) + b"\n")
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error
