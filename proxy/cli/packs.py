"""`linkmend packs`: the packs that were imported."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy.cli.options import Config, Data, Json, open_collection, print_json, settings_from


def packs(
    url: Annotated[
        str | None, typer.Option("--of", metavar="URL", help="Only the pack that a saved page came in.")
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the packs that were imported: who sent them, and under which terms."""
    from repair.packs.packstore import PackStore
    from repair.text import urls

    with open_collection(settings_from(config), data) as collection:
        store = PackStore(collection.database)
        listed = store.list()
        if url is not None:
            origin = store.of(urls.normal(url)) if urls.is_web_url(url) else None
            listed = tuple(pack for pack in listed if pack.origin == origin)
    if as_json:
        for pack in listed:
            print_json(pack)
        return
    table = Table("title", "sender", "licence", "made", "imported", "pages", title="Packs")
    for pack in listed:
        origin = pack.origin
        table.add_row(
            *(Text(text, overflow="fold") for text in (origin.title, origin.sender, origin.licence)),
            *(f"{moment:%Y-%m-%d}" for moment in (origin.created_at, pack.imported_at)),
            str(pack.pages),
        )
    Console().print(table)
