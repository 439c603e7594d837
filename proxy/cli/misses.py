"""`linkmend misses`: review what was missed, and erase it."""

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

from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.fetching.queue import FetchQueue
from proxy.misses.erasure import spellings
from proxy.misses.record import event_of
from proxy.misses.store import MissStore
from proxy.review.erase import Remembering
from proxy.review.export import export as export_lines
from proxy.review.wanted import Outcome, Shown, Wanted
from proxy.settings import Settings
from repair.collection import Collection
from repair.hints import Hints
from repair.memento.client import FILE as ARCHIVES_FILE
from repair.memento.database import Notebook
from repair.memento.remembered import Remembered
from repair.model import MissKind
from repair.pins import Pins

misses = typer.Typer(help="Review what was missed.", no_args_is_help=True)

Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")]
Kind = Annotated[MissKind | None, typer.Option(help="Only misses of this kind.")]
Site = Annotated[str | None, typer.Option(metavar="HOST", help="Only misses of this site.")]
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
    kind: Kind = None,
    site: Site = None,
    outcome: Annotated[Outcome | None, typer.Option(help="Only misses that ended like this.")] = None,
    text: Annotated[str, typer.Option(metavar="TEXT", help="Only addresses with this in them.")] = "",
    since: Day = None,
    until: Day = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Every miss, oldest first, to standard output; `--since` and `--until` are days in local time, both included."""
    wanted = Wanted(
        kind=kind,
        outcome=outcome,
        site=(site or "").lower().removeprefix("www."),
        text=text,
        since=_day(since),
        until=_day(until, days=1),
        shown=Shown.ALL,
    )
    for lines in export_lines(_store(config, data), wanted, form):
        sys.stdout.write(lines)


@misses.command()
def erase(
    url: Annotated[str | None, typer.Option(metavar="URL", help="Forget this address everywhere.")] = None,
    client: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Forget all misses of this reader (the code in the log)."),
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Erase for good what was noted about an address or a reader; also while the proxy runs.

    An address goes however it is written: from the log, from what readers chose, from pins and marks, from the fetch
    queue, and from what web archives said of it. A page that is held under it stays held: see `linkmend remove`.
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
        print_line(f"erased, with {erased} misses")


def _forget(url: str, store: MissStore, settings: Settings, data: Path) -> int:
    with (
        Collection.open(data / "collection", settings.collection) as collection,
        closing(FetchQueue(data / "fetch" / "queue.sqlite")) as fetches,
    ):
        remembering = Remembering(
            misses=store,
            hints=Hints(collection, settings.repair),
            pins=Pins(collection.database),
            database=collection.database,
            fetches=fetches,
        )
        erased = remembering.forget(url)
    path = data / ARCHIVES_FILE
    if path.exists():
        with closing(Notebook(path)) as notebook:
            remembered = Remembered(notebook, max_bytes=settings.archives.max_bytes, clock=clocks.time)
            for address in spellings(url):
                remembered.forget(address)
    return erased


def _day(day: datetime | None, *, days: int = 0) -> datetime | None:
    """The beginning of a day in local time, or of a day after it."""
    return datetime.combine(day.date() + timedelta(days=days), time()).astimezone() if day else None


def _store(config: Config, data: Data) -> MissStore:
    folder = data_from(data) / "misses"
    if not folder.is_dir():
        raise LinkmendError(f"{folder.parent}: no miss log there; name the proxy's data folder with --data")
    return MissStore(folder, settings_from(config).misses)
