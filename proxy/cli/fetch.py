"""`linkmend fetch`: pages to fetch now, when there is connectivity, or at night; the running proxy fetches them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.fetching.entries import FetchEntry, FetchState, FetchTime, NotQueuedError
from proxy.fetching.queue import FetchQueue, queueable_url

fetch = typer.Typer(help="Manage the fetch queue of the proxy.", no_args_is_help=True)

Urls = Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses of pages.")]


@fetch.command()
def add(
    urls: Urls,
    when: Annotated[
        FetchTime, typer.Option(help="now, line (when online), or night (hours: fetch.night).")
    ] = FetchTime.LINE,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Add pages to the fetch queue. Pages that can't be queued are reported; the others are still queued."""
    refused = []
    with _queue(config, data) as queue:
        for url in urls:
            try:
                entry = queue.add(url, when=when, why="linkmend fetch")
            except NotQueuedError as error:
                refused.append(error)
                continue
            if as_json:
                print_json(entry_as_json(entry))
            else:
                print_line(f"{entry.url}: {entry.state}, {entry.when}")
    if refused:
        raise NotQueuedError("; ".join(map(str, refused)))


@fetch.command("list")
def list_(
    state: Annotated[FetchState | None, typer.Option(help="Only pages in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the fetch queue: pages being fetched, waiting, done and failed."""
    with _queue(config, data) as queue:
        entries = queue.list(limit, state=state)
    if as_json:
        for entry in entries:
            print_json(entry_as_json(entry))
        return
    table = Table("state", "wanted", "address", "tries", "bytes", "said", title="Fetch queue")
    for entry in entries:
        percent = "" if entry.percent is None or entry.state is FetchState.DONE else f" ({entry.percent} %)"
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
    """Remove pages from the queue. Pages already fetched stay saved; `linkmend remove` deletes them."""
    with _queue(config, data) as queue:
        missing = [url for url in urls if not queue.forget(queueable_url(url))]
    if missing:
        raise LinkmendError(f"not in the fetch queue: {', '.join(missing)}")


def entry_as_json(entry: FetchEntry) -> dict[str, Any]:
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
