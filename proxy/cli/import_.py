"""`linkmend import`: adds pages from files and folders to the collection and the cache, pinned."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
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
    from proxy.messages import StoredResponse
    from proxy.packs.arrival import PackArrival
    from proxy.store.responses import ResponseStore
    from repair.collection.collection import Collection

_SHOWN_PROBLEMS = 10
_TELL_EVERY = 100


@dataclass(slots=True, kw_only=True)
class ImportSummary:
    """The result of an import: pages that can be found, files kept for offline use, records skipped.

    `unchanged` pages were saved before, and of `older` ones a newer version is saved. `damage` says where a file is
    damaged or ends early; what came before was imported. A pack tells its `sender` and a note on its `licence`.
    """

    path: str
    pages: int = 0
    files: int = 0
    problems: int = 0
    unchanged: int = 0
    older: int = 0
    topics: int = 0
    damage: str = ""
    sender: str = ""
    licence: str = ""


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
            print_line(_describe(imported))
        damage += [imported.damage] if imported.damage else []
    if damage:
        raise ImportFailed(f"{damage[0]} (the rest was imported)")


def _describe(imported: ImportSummary) -> str:
    words = [f"{imported.pages} pages", f"{imported.files} files kept", f"{imported.problems} skipped"]
    for count, what in (
        (imported.unchanged, "unchanged"),
        (imported.older, "older than ours"),
        (imported.topics, "new topics"),
    ):
        words += [f"{count} {what}"] if count else []
    sender = f"\n  from {imported.sender}" if imported.sender else ""
    licence = f"; licence: {imported.licence}" if imported.licence else ""
    return f"{imported.path}: {', '.join(words)}{sender}{licence}"


async def _import(
    path: Path, data: Path, settings: Settings, base_url: str | None, tell: TellShare
) -> ImportSummary:
    from proxy.store.responses import ResponseStore
    from repair.collection.collection import Collection
    from repair.importer import CollectionImporter, Taken
    from repair.packs.packreader import load_pack
    from repair.parse import decode
    from repair.parse.load import load

    responses = ResponseStore.open(data / "cache", settings.cache)
    try:
        with (
            Collection.open(data / "collection", settings.collection) as collection,
            _pack(path, data, collection) as pack,
        ):
            intake = CollectionImporter(collection, settings.collection, keep_newer=pack is not None)
            imported = ImportSummary(path=str(path))
            # A few compressed bytes may expand to fill the memory: the unpacked size has the same limit as the
            # file.
            limit = min(settings.cache.max_body_bytes, decode.MAX_IMPORTED_BYTES)
            items = load(path, base_url=base_url) if pack is None else load_pack(path, pack.manifest)
            # Reading and indexing block, which is fine here: no user waits for a command.
            for number, item in enumerate(items, start=1):
                taken = intake.add(item)
                if isinstance(item, Page) and taken is not Taken.OLDER:
                    imported.files += await _pin(responses, item, limit)
                if pack is not None:
                    pack.note_page(urls.normal(item.url), is_ours=taken is Taken.OLDER)
                if number % _TELL_EVERY == 0:
                    tell(items.share, f"{intake.pages} pages, {imported.files} files")
            intake.flush()
            if pack is not None:
                pack.finish()
                imported.topics = pack.new_topics
                origin = pack.manifest.origins[0]
                imported.sender, imported.licence = origin.sender, origin.licence
            collection.commit()
            imported.pages, imported.problems = intake.count.pages, items.problem_count
            imported.unchanged, imported.older = intake.count.unchanged, intake.count.older
            imported.damage = items.damage
            for problem in items.problems[:_SHOWN_PROBLEMS]:
                sys.stderr.write(f"skipped: {problem}\n")
            return imported
    finally:
        await responses.close()


@contextmanager
def _pack(path: Path, data: Path, collection: "Collection") -> "Iterator[PackArrival | None]":
    """What the file says of itself if it is a pack; None if not, or if that is unreadable."""
    from proxy.packs.arrival import PackArrival
    from repair.crawling.topicdatabase import FOLDER, TopicDatabase
    from repair.crawling.topicstore import TopicStore
    from repair.packs.packreader import pack_manifest

    try:
        manifest = pack_manifest(path)
    except ValueError as error:
        sys.stderr.write(f"{path.name}: imported as an ordinary file: {error}\n")
        manifest = None
    if manifest is None:
        yield None
        return
    (data / FOLDER).mkdir(parents=True, exist_ok=True)
    with closing(TopicDatabase(data / FOLDER)) as database:
        arrival = PackArrival(manifest=manifest, collection=collection, topics=TopicStore(database))
        for problem in arrival.add_topics():
            sys.stderr.write(f"{path.name}: {problem}\n")
        yield arrival


async def _pin(responses: "ResponseStore", page: Page, limit: int) -> bool:
    from repair.parse import decode

    body = decode.identity_body(page, limit)
    response = pinned_response(page, body) if body is not None else None
    if response is None:
        return False
    key = urls.normal(page.url)
    if any(_is_same(response, stored) for stored in await responses.lookup(key)):
        return False
    await responses.put(key, response)
    return True


def _is_same(response: "StoredResponse", stored: "StoredResponse") -> bool:
    """Whether a pinned response is stored already."""
    return stored.pinned and (stored.status, stored.body) == (response.status, response.body)
