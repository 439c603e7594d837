"""`linkmend soft404`: detects soft 404 pages among saved files, and measures the detector on labelled pages."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from proxy.cli.options import Json, print_json
from proxy.errors import LinkmendError

if TYPE_CHECKING:
    from repair.soft404.evaluation import Soft404Figures
    from repair.soft404.judge import PageJudgement


def soft404(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Pages saved as HTML.", show_default=False)
    ] = None,
    url: Annotated[
        str, typer.Option(metavar="URL", help="Address of the pages; it helps the detection.")
    ] = "",
    measured: Annotated[
        Path | None,
        typer.Option(
            "--measure", metavar="FOLDER", help="Instead, measure accuracy on a folder with labels.jsonl."
        ),
    ] = None,
    split: Annotated[str, typer.Option(metavar="NAME", help="Which part of the folder.")] = "test",
    as_json: Json = False,
) -> None:
    """Detect error pages that were sent with status 200 (soft 404)."""
    if (measured is None) == (not files):
        raise typer.BadParameter("give either files or --measure FOLDER")
    from repair.soft404.evaluation import measure
    from repair.soft404.labelled import NO_ADDRESS, labelled_pages

    if measured is not None:
        found = measure(tuple(labelled_pages(measured, split)))
        if as_json:
            print_json(_as_json(found))
        else:
            _show(found)
        return
    for file in files or ():
        _print_judgement(file, _judge_file(file, url or NO_ADDRESS), as_json)


def _judge_file(file: Path, url: str) -> "PageJudgement":
    from repair.soft404.judge import judge
    from repair.soft404.labelled import file_page

    try:
        return judge(file_page(file, url))
    except OSError as error:
        raise LinkmendError(f"{file}: {error.strerror or error}") from error


def _print_judgement(file: Path, found: "PageJudgement", as_json: bool) -> None:
    from repair.soft404.judge import PageKind

    if as_json:
        print_json(
            {
                "file": str(file),
                "probability": round(found.probability, 4),
                "soft_404": found.kind is PageKind.NOT_FOUND,
                "kind": found.kind.value,
            }
        )
    else:
        Console(highlight=False).print(
            f"{found.probability:.3f} {found.kind.value:12} {file}", markup=False, soft_wrap=True
        )


def _as_json(found: "Soft404Figures") -> dict[str, object]:
    return {
        "detectors": [
            {
                "name": score.name,
                "precision": round(score.precision, 4),
                "recall": round(score.recall, 4),
                "F1": round(score.f1, 4),
                "errors": score.errors,
                "normal": score.normal,
                "false_alarms": score.false_alarms,
            }
            for score in found.scores
        ],
        "wrong": [{"file": file, "kind": kind, "probability": p} for file, kind, p in found.wrong],
        "others": [{"kind": kind, "called": called, "pages": count} for kind, called, count in found.others],
        "parse_us": round(found.parse_us, 1),
        "judge_us": round(found.judge_us, 1),
    }


def _show(found: "Soft404Figures") -> None:
    console = Console(highlight=False)
    table = Table(title="Detection of error pages", title_justify="left")
    for name in ("detector", "precision", "recall", "F1", "found", "false alarms"):
        table.add_column(name, justify="left" if name == "detector" else "right")
    for score in found.scores:
        rates = (f"{rate:.3f}" for rate in (score.precision, score.recall, score.f1))
        alarms = f"{score.false_alarms} of {score.normal}"
        table.add_row(score.name, *rates, f"{score.found} of {score.errors}", alarms)
    console.print(table)
    for file, kind, probability in found.wrong:
        console.print(f"wrong: {probability:.3f} {kind} {file}", markup=False, soft_wrap=True)
    for kind, called, count in found.others:
        console.print(f"labelled 'other': {count} {kind} called {called}", markup=False)
    console.print(f"{found.parse_us:.0f} us to parse a page, {found.judge_us:.0f} us to judge it (medians)")
