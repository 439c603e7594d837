"""`linkmend misses`: review what was missed."""

import sys
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.commands.options import Config, Data, Json, data_from, print_json, settings_from
from proxy.errors import LinkmendError
from proxy.misses import MissStore
from proxy.missrecord import event_of
from repair.model import MissKind

misses = typer.Typer(help="Review what was missed.", no_args_is_help=True)

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")]


@misses.command("list")
def list_(
    kind: Annotated[MissKind | None, typer.Option(help="Only misses of this kind.")] = None,
    site: Annotated[str | None, typer.Option(metavar="HOST", help="Only misses of this site.")] = None,
    limit: Limit = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """The latest misses, newest first."""
    records = _store(config, data).recent(limit, kind=kind, site=site)
    if as_json:
        for record in records:
            print_json(event_of(record))
        return
    table = Table("when (UTC)", "kind", "address", "offered", "opened", title="Missed pages")
    for record in records:
        table.add_row(
            f"{record.at:%Y-%m-%d %H:%M}",
            record.kind.value,
            Text(record.url, overflow="fold"),
            str(len(record.offered)),
            Text(record.chosen or "", overflow="fold"),
        )
    Console().print(table)


@misses.command()
def top(
    by: Annotated[Literal["url", "site", "kind", "source"], typer.Option(help="What to count.")] = "url",
    limit: Limit = 20,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """What was missed most often."""
    rows = _store(config, data).top(limit, by=by)
    if as_json:
        for what, times in rows:
            print_json({by: what, "times": times})
        return
    table = Table("times", by, title="Most missed")
    for what, times in rows:
        table.add_row(str(times), Text(what, overflow="fold"))
    Console().print(table)


@misses.command()
def export(
    form: Annotated[Literal["csv", "jsonl"], typer.Option("--format", help="The form to write.")] = "csv",
    config: Config = None,
    data: Data = None,
) -> None:
    """Every miss, oldest first, to standard output."""
    for line in _store(config, data).export(form):
        sys.stdout.write(line)


def _store(config: Config, data: Data) -> MissStore:
    folder = data_from(data) / "misses"
    if not folder.is_dir():
        raise LinkmendError(f"{folder.parent}: no miss log there; name the proxy's data folder with --data")
    return MissStore(folder, settings_from(config).misses)
