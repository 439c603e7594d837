"""`linkmend remove`: removes pages for good from everything linkmend stores."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxy import logs
from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.settings import Settings

if TYPE_CHECKING:
    from proxy.removal.orders import RemovalOrder
    from proxy.removal.remover import RemovalReport


def remove(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses of pages.")],
    misses: Annotated[
        bool, typer.Option("--misses", help="Also delete their entries in the dead link log.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Remove pages from the cache, the collection and all records about them. Backups still contain them."""
    from proxy.removal.orders import RemovalOrder  # knows every store

    settings = settings_from(config)
    logs.set_up(settings.log)
    folder = data_from(data)
    if not folder.is_dir():
        raise LinkmendError(f"{folder}: no saved pages found; set the proxy's data folder with --data")
    if not yes and not typer.confirm(f"Remove {len(urls)} page(s) permanently?"):
        raise LinkmendError("nothing was removed")
    for removed in _remove_all([RemovalOrder(url=url, from_log=misses) for url in urls], folder, settings):
        if as_json:
            print_json(asdict(removed))
            continue
        held = "removed" if removed.held or removed.responses else "was not saved"
        print_line(f"{removed.url}: {held}; {removed.responses} responses, {removed.misses} log entries")
        for remark in removed.left:
            print_line(f"  {remark}")


def _remove_all(orders: "list[RemovalOrder]", data: Path, settings: Settings) -> "list[RemovalReport]":
    """The running proxy removes them if there is one; otherwise this process does."""
    from proxy.removal.orders import RemovalOrders

    placed = RemovalOrders(data / "removals")
    if placed.has_running_proxy():
        return [placed.submit(order) for order in orders]
    return asyncio.run(_remove_here(orders, data, settings))


async def _remove_here(orders: "list[RemovalOrder]", data: Path, settings: Settings) -> "list[RemovalReport]":
    from proxy.archives.client import client_from
    from proxy.fetching.queue import FetchQueue
    from proxy.misses.store import MissStore
    from proxy.removal.remover import PageRemover
    from proxy.store.responses import ResponseStore
    from repair.collection.collection import Collection
    from repair.collection.pins import Pins
    from repair.evidence.hints import Hints

    responses = ResponseStore.open(data / "cache", settings.cache)
    misses = MissStore(data / "misses", settings.misses)
    fetches = FetchQueue(data / "fetch" / "queue.sqlite", max_entries=settings.fetch.max_entries)
    try:
        with Collection.open(data / "collection", settings.collection) as collection:
            async with client_from(settings, data, on_move=lambda move: None) as mementos:
                remover = PageRemover(
                    data,
                    responses=responses,
                    collection=collection,
                    hints=Hints(collection, settings.repair),
                    pins=Pins(collection.database),
                    misses=misses,
                    fetches=fetches,
                    mementos=mementos,
                    district=settings.district,
                )
                removed = [await remover.remove(order.url, from_log=order.from_log) for order in orders]
                await remover.wait_until_done()
                return removed
    finally:
        fetches.close()
        misses.close()
        await responses.close()
