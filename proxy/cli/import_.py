"""`linkmend import`: adds pages from files and folders to the collection and the cache, pinned."""

import asyncio
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxy import logs
from proxy.cache.pinning import pinned_response
from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.cli.progress import TellShare, progress_in_percent
from proxy.settings import Settings
from repair.errors import ImportFailed
from repair.model import Page
from repair.text import urls

if TYPE_CHECKING:
    from proxy.store.responses import ResponseStore

_SHOWN_PROBLEMS = 10
_TELL_EVERY = 100


@dataclass(slots=True, kw_only=True)
class ImportSummary:
    """The result of an import: pages that can be found, files kept for offline use, records skipped.

    `damage` says where a file is damaged or ends early; what came before was imported.
    """

    path: str
    pages: int = 0
    files: int = 0
    problems: int = 0
    damage: str = ""


def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="Collection folder, folder of HTML files, .warc, .warc.gz, .wacz or .zim."
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of the files in a folder of HTML.")
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Import pages into the collection and keep them permanently; safe while the proxy runs."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    damage: list[str] = []
    for path in paths:
        with progress_in_percent(f"importing {path.name}") as tell:
            imported = asyncio.run(_import(path, data_from(data), settings, base_url, tell))
        if as_json:
            print_json(asdict(imported))
        else:
            print_line(
                f"{path}: {imported.pages} pages, {imported.files} files kept, {imported.problems} skipped"
            )
        damage += [imported.damage] if imported.damage else []
    if damage:
        raise ImportFailed(f"{damage[0]} (the rest was imported)")


async def _import(
    path: Path, data: Path, settings: Settings, base_url: str | None, tell: TellShare
) -> ImportSummary:
    from proxy.store.responses import ResponseStore
    from repair.collection.collection import Collection
    from repair.importer import CollectionImporter
    from repair.parse import decode
    from repair.parse.load import load

    responses = ResponseStore.open(data / "cache", settings.cache)
    try:
        with Collection.open(data / "collection", settings.collection) as collection:
            intake = CollectionImporter(collection, settings.collection)
            imported = ImportSummary(path=str(path))
            # A few compressed bytes may expand to fill the memory: the unpacked size has the same limit as the
            # file.
            limit = min(settings.cache.max_body_bytes, decode.MAX_IMPORTED_BYTES)
            items = load(path, base_url=base_url)
            # Reading and indexing block, which is fine here: no user waits for a command.
            for number, item in enumerate(items, start=1):
                intake.add(item)
                if isinstance(item, Page):
                    imported.files += await _pin(responses, item, limit)
                if number % _TELL_EVERY == 0:
                    tell(items.share, f"{intake.pages} pages, {imported.files} files")
            intake.flush()
            collection.commit()
            imported.pages, imported.problems = intake.count.pages, items.problem_count
            imported.damage = items.damage
            for problem in items.problems[:_SHOWN_PROBLEMS]:
                sys.stderr.write(f"skipped: {problem}\n")
            return imported
    finally:
        await responses.close()


async def _pin(responses: "ResponseStore", page: Page, limit: int) -> bool:
    from repair.parse import decode

    body = decode.identity_body(page, limit)
    response = pinned_response(page, body) if body is not None else None
    if response is None:
        return False
    await responses.put(urls.normal(page.url), response)
    return True
