"""`linkmend import`: pages from files and folders into the collection and the cache, pinned."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from proxy import logs
from proxy.cache.pinning import pinned_response
from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.settings import Settings
from proxy.store.responses import ResponseStore
from repair import decode, urls
from repair.collection import Collection
from repair.intake import Intake
from repair.load import load
from repair.model import Page

_SHOWN_PROBLEMS = 10
_TELL_EVERY = 100


@dataclass(slots=True, kw_only=True)
class Imported:
    """What an import brought: pages that can be found, files kept for offline use, records passed over."""

    path: str
    pages: int = 0
    files: int = 0
    problems: int = 0


def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", help="A collection folder, a folder of HTML, .warc, .warc.gz, .wacz or .zim."
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the files of a folder of HTML belong.")
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Take pages into the local collection and pin them; safe while the proxy runs."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    for path in paths:
        with _progress(path) as tell:
            imported = asyncio.run(_import(path, data_from(data), settings, base_url, tell))
        if as_json:
            print_json(asdict(imported))
        else:
            print_line(
                f"{path}: {imported.pages} pages, {imported.files} files kept, {imported.problems} passed over"
            )


async def _import(
    path: Path, data: Path, settings: Settings, base_url: str | None, tell: Callable[[Imported], None]
) -> Imported:
    responses = ResponseStore.open(data / "cache", settings.cache)
    try:
        with Collection.open(data / "collection", settings.collection) as collection:
            intake = Intake(collection, settings.collection)
            imported = Imported(path=str(path))
            # A few bytes may stand for all memory there is: what is unpacked is no larger than what is read.
            limit = min(settings.cache.max_body_bytes, decode.MAX_IMPORTED_BYTES)
            items = load(path, base_url=base_url)
            # Reading and indexing block, which is right here: a command has no readers waiting.
            for number, item in enumerate(items, start=1):
                intake.add(item)
                if isinstance(item, Page):
                    imported.files += await _pin(responses, item, limit)
                if number % _TELL_EVERY == 0:
                    imported.pages = intake.count.pages
                    tell(imported)
            intake.flush()
            collection.commit()
            imported.pages, imported.problems = intake.count.pages, items.problem_count
            for problem in items.problems[:_SHOWN_PROBLEMS]:
                sys.stderr.write(f"passed over: {problem}\n")
            return imported
    finally:
        await responses.close()


async def _pin(responses: ResponseStore, page: Page, limit: int) -> bool:
    body = decode.identity_body(page, limit)
    response = pinned_response(page, body) if body is not None else None
    if response is None:
        return False
    await responses.put(urls.normal(page.url), response)
    return True


class _progress:
    """A line that grows on a terminal, plain lines elsewhere."""

    def __init__(self, path: Path) -> None:
        self._console = Console(stderr=True)
        self._name = path.name
        self._bar = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=self._console
        )

    def __enter__(self) -> Callable[[Imported], None]:
        if self._console.is_terminal:
            self._bar.start()
            self._task = self._bar.add_task(f"importing {self._name}", total=None)
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def _tell(self, imported: Imported) -> None:
        text = f"importing {self._name}: {imported.pages} pages, {imported.files} files"
        if self._console.is_terminal:
            self._bar.update(self._task, description=text)
        else:
            sys.stderr.write(text + "\n")
