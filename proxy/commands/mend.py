"""`linkmend mend`: what the repair page would list for a link, on the terminal or for many at once."""

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from proxy import logs
from proxy.commands.options import Config, Data, Json, data_from, print_json, settings_from
from proxy.errors import LinkmendError
from proxy.repairpage import as_json as page_as_json
from repair.collection import Collection
from repair.hints import Hints
from repair.model import BrokenLink, MissKind, RankedAlternatives
from repair.pipeline import Repairer
from repair.urls import is_web_url


class _Asked(msgspec.Struct, kw_only=True, forbid_unknown_fields=False):
    """A line of a batch."""

    url: str
    source: str | None = None
    anchor: str = ""
    context: str = ""
    id: str | int | None = None


def mend(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The address that is dead.")] = None,
    source: Annotated[str | None, typer.Option(metavar="URL", help="The page the link stands on.")] = None,
    anchor: Annotated[str, typer.Option(metavar="TEXT", help="The words of the link.")] = "",
    context: Annotated[str, typer.Option(metavar="TEXT", help="The words around the link.")] = "",
    top: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many to list.")] = 8,
    batch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='JSON lines {"url","source","anchor","context"}; - for stdin.'),
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List what is held that could stand in for a dead link."""
    if (url is None) == (batch is None):
        raise typer.BadParameter("give either a URL or --batch FILE")
    settings = settings_from(config)
    logs.set_up(settings.log)
    wanted = replace(settings.repair, alternatives=top)
    with (
        Collection.open(data_from(data) / "collection", settings.collection) as collection,
        ThreadPoolExecutor(4) as threads,
    ):
        collection.commit()  # what was imported a moment ago can be found as well
        repairer = Repairer(collection, wanted, threads, hints=Hints(collection, wanted))
        if batch is not None:
            asyncio.run(_mend_all(repairer, batch))
            return
        link = _broken(_Asked(url=url or "", source=source, anchor=anchor, context=context), "URL")
        found = asyncio.run(repairer.repair(link))
    if as_json:
        print_json(page_as_json(found))
    else:
        _show(found)


async def _mend_all(repairer: Repairer, batch: Path) -> None:
    for number, line in enumerate(_lines(batch), start=1):
        if not line.strip():
            continue
        place = f"{batch.name}: line {number}"
        try:
            asked = msgspec.json.decode(line, type=_Asked)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise LinkmendError(f"{place}: {error}") from error
        answer = page_as_json(await repairer.repair(_broken(asked, place)))
        print_json({"id": asked.id, **answer} if asked.id is not None else answer)


def _lines(batch: Path) -> Iterator[bytes]:
    if str(batch) == "-":
        yield from sys.stdin.buffer
        return
    try:
        with batch.open("rb") as file:
            yield from file
    except OSError as error:
        raise LinkmendError(f"{batch}: {error.strerror}") from error


def _broken(asked: _Asked, place: str) -> BrokenLink:
    if not is_web_url(asked.url):
        raise LinkmendError(f"{place}: expected an http or https address, got {asked.url!r}")
    return BrokenLink(
        url=asked.url,
        kind=MissKind.NOT_FOUND,
        source_url=asked.source,
        anchor=asked.anchor,
        before=asked.context,
    )


def _show(found: RankedAlternatives) -> None:
    console = Console(highlight=False)
    if found.copy_at is not None:
        console.print(f"A copy saved on {found.copy_at:%-d %B %Y} is held.", markup=False)
    if not found.alternatives:
        console.print("Nothing held comes close.", markup=False)
    for number, item in enumerate(found.alternatives, start=1):
        console.print(f"{number:2}. {item.title or item.url}", markup=False, style="bold")
        console.print(f"    {item.url}", markup=False, soft_wrap=True)
        why = ", ".join(item.reasons)
        console.print(f"    confidence {item.confidence:.2f}{f'; by {why}' if why else ''}", markup=False)
