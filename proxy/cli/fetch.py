"""`linkmend fetch`: pages to fetch now, when the line is up, or at night; the running proxy fetches them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.fetching.entries import FetchEntry, NotQueued, State, When
from proxy.fetching.queue import FetchQueue, wanted

fetch = typer.Typer(help="Pages to be fetched by the running proxy.", no_args_is_help=True)

Urls = Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses of pages.")]


@fetch.command()
def add(
    urls: Urls,
    when: Annotated[
        When, typer.Option(help="now, as soon as the line is up, or at night (settings: fetch.night).")
    ] = When.LINE,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Queue pages. One that cannot be queued is told, and the others are queued all the same."""
    refused = []
    with _queue(config, data) as queue:
        for url in urls:
            try:
                entry = queue.add(url, when=when, why="linkmend fetch")
            except NotQueued as error:
                refused.append(error)
                continue
            if as_json:
                print_json(as_told(entry))
            else:
                print_line(f"{entry.url}: {entry.state}, {entry.when}")
    if refused:
        raise NotQueued("; ".join(map(str, refused)))


@fetch.command("list")
def list_(
    state: Annotated[State | None, typer.Option(help="Only pages in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """What is under way, what waits, and what became of the others."""
    with _queue(config, data) as queue:
        entries = queue.list(limit, state=state)
    if as_json:
        for entry in entries:
            print_json(as_told(entry))
        return
    table = Table("state", "wanted", "address", "tries", "bytes", "said", title="Pages to fetch")
    for entry in entries:
        percent = "" if entry.percent is None or entry.state is State.DONE else f" ({entry.percent} %)"
        table.add_row(
            entry.state,
            entry.when,
            Text(entry.url, overflow="fold"),
            str(entry.tries),
            f"{entry.received_bytes}{percent}",
            Text(entry.error, overflow="fold"),
        )
    Console().print(table)


@fetch.command()
def remove(urls: Urls, config: Config = None, data: Data = None) -> None:
    """Take pages out of the queue; what was fetched stays (`linkmend remove` takes it away)."""
    with _queue(config, data) as queue:
        missing = [url for url in urls if not queue.forget(wanted(url))]
    if missing:
        raise LinkmendError(f"not in the fetch queue: {', '.join(missing)}")


def as_told(entry: FetchEntry) -> dict[str, Any]:
    """An entry as JSON."""
    return {**asdict(entry), "percent": entry.percent}


@contextmanager
def _queue(config: Path | None, data: Path | None) -> Iterator[FetchQueue]:
    settings = settings_from(config)
    queue = FetchQueue(data_from(data) / "fetch" / "queue.sqlite", max_entries=settings.fetch.max_entries)
    try:
        yield queue
    finally:
        queue.close()
