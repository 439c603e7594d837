"""The results of `linkmend evaluate` as tables on a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table

_WIDE = 160
_SERVED = ("R@1", "offered", "served@1", "false_offers", "calibration_error")


def show(report: dict[str, Any]) -> None:
    """Print every table of a report."""
    console = _console()
    known = ", older versions known" if report["copies"] else ""
    title = f"{report['collection']} {report['variant']}, {report['n']} links{known}"
    console.print(_table("model", report["models"], title=title))
    served = {name: report[name] for name in _SERVED if name in report}
    console.print(_table("", {"": served}, title="What readers get"))
    if "calibration" in report:
        console.print(_calibration(report["calibration"]))
    if "repairable" in report:
        console.print(_confusion(report["repairable"]))
    if "ablation" in report:
        console.print(_table("without", report["ablation"], title="Without each kind of evidence"))


def _console() -> Console:
    """The console for tables; in a file or pipe they are as wide as they need to be."""
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


def _calibration(report: dict[str, Any]) -> Table:
    title = f"Confidence of the first result, expected error {report['expected_error']:.3f}"
    table = Table("confidence", "links", "mean confidence", "right", title=title)
    for each in report["bins"]:
        span = f"{each['from']:.1f} to {each['to']:.1f}"
        table.add_row(span, str(each["n"]), f"{each['confidence']:.3f}", f"{each['right']:.3f}")
    return table


def _confusion(report: dict[str, Any]) -> Table:
    shares = ", ".join(f"{key} {report[key]:.3f}" for key in ("accuracy", "precision", "recall"))
    table = Table("", "offered", "not offered", title=f"Repairable or not: {shares}")
    for kind, row in report["table"].items():
        table.add_row(kind.replace("_", " "), str(row["offered"]), str(row["not_offered"]))
    return table


def show_moves(report: dict[str, Any]) -> None:
    """Print how well the moves of a site were learnt."""
    table = Table(
        "moved pages", "deleted pages", title=f"{report['older']} to {report['collection']}, site moves"
    )
    table.add_row(
        f"{report['asked']} asked, {report['answered']} answered, {report['right']} correctly",
        f"{report['deleted']} asked, {report['silent']} not answered",
    )
    table.add_row(
        f"precision {report['precision']:.3f}, recall {report['recall']:.3f}", f"{report['silence']:.3f}"
    )
    for cut, row in report["silence_by_cut"].items():
        table.add_row(
            "", f"none nearer than {cut}: {row['silent']} of {row['deleted']}, {row['silence']:.3f}"
        )
    _console().print(table)
