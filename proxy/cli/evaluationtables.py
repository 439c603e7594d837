"""What `linkmend evaluate` found, as tables on a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

_WIDE = 160


def show(told: dict[str, Any]) -> None:
    """Every table that a report has."""
    console = _console()
    known = ", older versions known" if told["copies"] else ""
    title = f"{told['collection']} {told['variant']}, {told['n']} links{known}"
    console.print(_table("model", told["models"], title=title))
    if "calibration" in told:
        console.print(_calibration(told["calibration"]))
    if "repairable" in told:
        console.print(_confusion(told["repairable"]))
    if "ablation" in told:
        console.print(_table("without", told["ablation"], title="Each evidence taken away"))


def _console() -> Console:
    """Where tables go; in a file or pipe they are as wide as they need to be."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def _table(kind: str, rows: dict[str, dict[str, float]], title: str) -> Table:
    names = list(next(iter(rows.values())))
    table = Table(kind, *names, title=title)
    for name, row in rows.items():
        table.add_row(name, *(_figure(key, row) for key in names))
    return table


def _figure(name: str, row: dict[str, float]) -> str:
    if name not in row:
        return ""
    return f"{row[name]:.1f}" if name.endswith("_ms") else f"{row[name]:.3f}"


def _calibration(told: dict[str, Any]) -> Table:
    title = f"Confidence of first alternatives, expected error {told['expected_error']:.3f}"
    table = Table("confidence", "links", "mean confidence", "right", title=title)
    for each in told["bins"]:
        span = f"{each['from']:.1f} to {each['to']:.1f}"
        table.add_row(span, str(each["n"]), f"{each['confidence']:.3f}", f"{each['right']:.3f}")
    return table


def _confusion(told: dict[str, Any]) -> Table:
    shares = ", ".join(f"{key} {told[key]:.3f}" for key in ("accuracy", "precision", "recall"))
    table = Table("", "offered", "not offered", title=f"Repairable or not: {shares}")
    for kind, row in told["table"].items():
        table.add_row(kind.replace("_", " "), str(row["offered"]), str(row["not_offered"]))
    return table


def show_moves(told: dict[str, Any]) -> None:
    """How well moves of a site were learnt."""
    table = Table(
        "moved pages", "deleted pages", title=f"{told['older']} to {told['collection']}, site moves"
    )
    table.add_row(
        f"{told['asked']} asked, {told['answered']} answered, {told['right']} rightly",
        f"{told['deleted']} asked, {told['silent']} not answered",
    )
    table.add_row(f"precision {told['precision']:.3f}, recall {told['recall']:.3f}", f"{told['silence']:.3f}")
    for cut, row in told["silence_by_cut"].items():
        table.add_row(
            "", f"none nearer than {cut}: {row['silent']} of {row['deleted']}, {row['silence']:.3f}"
        )
    _console().print(table)
