"""`linkmend remove`: pages taken out of everything linkmend holds, for good."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from proxy import logs
from proxy.archives.client import client_from
from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.fetching.queue import FetchQueue
from proxy.misses.store import MissStore
from proxy.removal.orders import Order, RemovalOrders
from proxy.removal.removing import Removed, Remover
from proxy.settings import Settings
from proxy.store.responses import ResponseStore
from repair.collection import Collection
from repair.hints import Hints
from repair.pins import Pins


def remove(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses of pages.")],
    misses: Annotated[bool, typer.Option("--misses", help="Also forget that they were missed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Remove pages from the cache, the collection and all that was noted of them; backups keep them."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    folder = data_from(data)
    if not folder.is_dir():
        raise LinkmendError(f"{folder}: nothing is held there; name the proxy's data folder with --data")
    if not yes and not typer.confirm(f"Remove {len(urls)} page(s) for good?"):
        raise LinkmendError("nothing was removed")
    for removed in _removed([Order(url=url, from_log=misses) for url in urls], folder, settings):
        if as_json:
            print_json(asdict(removed))
            continue
        held = "removed" if removed.held or removed.responses else "was not held"
        print_line(f"{removed.url}: {held}; {removed.responses} responses, {removed.misses} misses")
        for remark in removed.left:
            print_line(f"  {remark}")


def _removed(orders: list[Order], data: Path, settings: Settings) -> list[Removed]:
    """By the running proxy if there is one, by ourselves otherwise."""
    placed = RemovalOrders(data / "removals")
    if placed.is_taken_care_of():
        return [placed.give(order) for order in orders]
    return asyncio.run(_by_ourselves(orders, data, settings))


async def _by_ourselves(orders: list[Order], data: Path, settings: Settings) -> list[Removed]:
    responses = ResponseStore.open(data / "cache", settings.cache)
    misses = MissStore(data / "misses", settings.misses)
    fetches = FetchQueue(data / "fetch" / "queue.sqlite", max_entries=settings.fetch.max_entries)
    try:
        with Collection.open(data / "collection", settings.collection) as collection:
            async with client_from(settings, data, on_move=lambda move: None) as mementos:
                remover = Remover(
                    data,
                    responses=responses,
                    collection=collection,
                    hints=Hints(collection, settings.repair),
                    pins=Pins(collection.database),
                    misses=misses,
                    fetches=fetches,
                    mementos=mementos,
                )
                removed = [await remover.remove(order.url, from_log=order.from_log) for order in orders]
                await remover.settled()
                return removed
    finally:
        fetches.close()
        misses.close()
        await responses.close()
