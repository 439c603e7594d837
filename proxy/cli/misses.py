"""`linkmend misses`: lists missed pages, and erases them."""

import sys
import time as clocks
from contextlib import closing
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.localtime import zone_name
from proxy.misses.export import export as export_lines
from proxy.misses.filters import IgnoredFilter, MissFilter, MissOutcome
from proxy.misses.record import event_of
from proxy.misses.store import MissStore
from proxy.settings import Settings
from repair.model import MissKind

misses = typer.Typer(help="Review the log of dead links.", no_args_is_help=True)

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")]
Kind = Annotated[MissKind | None, typer.Option(help="Only dead links of this kind.")]
Site = Annotated[str | None, typer.Option(metavar="HOST", help="Only dead links of this site.")]
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD")]


@misses.command("list")
def list_(
    kind: Kind = None,
    site: Site = None,
    limit: Limit = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the latest dead links, newest first."""
    records = _store(config, data).recent(limit, kind=kind, site=site)
    if as_json:
        for record in records:
            print_json(event_of(record))
        return
    table = Table(f"when ({zone_name()})", "reason", "address", "offered", "opened", title="Dead links")
    for record in records:
        table.add_row(
            f"{record.at.astimezone():%Y-%m-%d %H:%M}",
            record.kind.value.replace("_", " "),
            Text(record.url, overflow="fold"),
            str(len(record.offered)),
            Text(record.chosen or "", overflow="fold"),
        )
    Console().print(table)


@misses.command()
def top(
    by: Annotated[Literal["url", "site", "kind", "source"], typer.Option(help="What to count.")] = "url",
    since: Day = None,
    limit: Limit = 20,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the most frequent dead links, of all time or since a local day."""
    rows = _store(config, data).top(limit, by=by, since=_day(since))
    if as_json:
        for what, times in rows:
            print_json({by: what, "times": times})
        return
    table = Table("times", by, title="Most frequent dead links")
    for what, times in rows:
        table.add_row(str(times), Text(what, overflow="fold"))
    Console().print(table)


@misses.command()
def export(
    form: Annotated[Literal["csv", "jsonl"], typer.Option("--format", help="Output format.")] = "csv",
    kind: Kind = None,
    site: Site = None,
    outcome: Annotated[MissOutcome | None, typer.Option(help="Only dead links with this outcome.")] = None,
    text: Annotated[str, typer.Option(metavar="TEXT", help="Only addresses that contain this text.")] = "",
    since: Day = None,
    until: Day = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Write all log entries to standard output, oldest first. `--since` and `--until` are local days, inclusive."""
    wanted = MissFilter(
        kind=kind,
        outcome=outcome,
        site=(site or "").lower().removeprefix("www."),
        text=text,
        since=_day(since),
        until=_day(until, days=1),
        shown=IgnoredFilter.ALL,
    )
    for lines in export_lines(_store(config, data), wanted, form):
        sys.stdout.write(lines)


@misses.command()
def erase(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Delete everything about this address.")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Delete all log entries of this client (the code in the log)."),
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Delete everything logged about an address or a client; safe while the proxy runs.

    Deletes an address in every spelling: from the log, choices, pins, marks, the fetch queue and saved answers of web
    archives. A saved page with this address stays; delete it with `linkmend remove`.
    """
    if (url is None) == (client is None):
        raise typer.BadParameter("give either --url or --client")
    with closing(_store(config, data)) as store:
        if url is not None:
            erased = _forget(url, store, settings_from(config), data_from(data))
        else:
            erased = store.erase(client=client)
    if as_json:
        print_json({"misses": erased})
    else:
        print_line(f"deleted; log entries removed: {erased}")


def _forget(url: str, store: MissStore, settings: Settings, data: Path) -> int:
    from proxy.fetching.queue import FetchQueue
    from proxy.misses.addresseraser import AddressEraser
    from proxy.misses.erasure import spellings
    from repair.collection.collection import Collection
    from repair.collection.pins import Pins
    from repair.evidence.hints import Hints
    from repair.memento.client import FILE as ARCHIVES_FILE
    from repair.memento.database import ArchiveDatabase
    from repair.memento.store import ArchiveStore

    with (
        Collection.open(data / "collection", settings.collection) as collection,
        closing(FetchQueue(data / "fetch" / "queue.sqlite")) as fetches,
    ):
        eraser = AddressEraser(
            misses=store,
            hints=Hints(collection, settings.repair),
            pins=Pins(collection.database),
            database=collection.database,
            fetches=fetches,
        )
        erased = eraser.erase(url)
    path = data / ARCHIVES_FILE
    if path.exists():
        with closing(ArchiveDatabase(path)) as notebook:
            remembered = ArchiveStore(notebook, max_bytes=settings.archives.max_bytes, clock=clocks.time)
            for address in spellings(url):
                remembered.forget(address)
    return erased


def _day(day: datetime | None, *, days: int = 0) -> datetime | None:
    """The beginning of a day in local time, or of the day `days` later."""
    return datetime.combine(day.date() + timedelta(days=days), time()).astimezone() if day else None


def _store(config: Config, data: Data) -> MissStore:
    folder = data_from(data) / "misses"
    if not folder.is_dir():
        raise LinkmendError(
            f"{folder.parent}: no dead link log found; set the proxy's data folder with --data"
        )
    return MissStore(folder, settings_from(config).misses)
