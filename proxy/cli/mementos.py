"""`linkmend mementos`: the versions of a URL in web archives."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.cli.options import Config, Data, Json, data_from, print_json, settings_from
from proxy.errors import LinkmendError
from proxy.settings import Settings
from repair.memento.datetimes import any_date
from repair.memento.model import MementoCopy, TimeMap
from repair.secrets.addresses import has_secret
from repair.text.urls import is_web_url


def mementos(
    url: Annotated[str, typer.Argument(metavar="URL", help="The address to look for.")],
    best: Annotated[
        bool, typer.Option("--best", help="Also find the best copy; sends more requests.")
    ] = False,
    near: Annotated[
        str, typer.Option(metavar="DATE", help="Prefer the copy closest to this day, such as 2015-06-30.")
    ] = "",
    offline: Annotated[
        bool, typer.Option("--offline", help="Use only earlier answers; contact no archive.")
    ] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many to list, latest first.")] = 20,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the archived versions (mementos) of an address in all archives."""
    if not is_web_url(url):
        raise LinkmendError(f"URL: expected an http or https address, got {url!r}")
    if has_secret(url):
        raise LinkmendError(
            "URL: contains a session, a token or a name; linkmend does not send it to archives"
        )
    at = any_date(near) if near else None
    if near and at is None:
        raise typer.BadParameter(f"--near: expected a date such as 2015-06-30, got {near!r}")
    settings = settings_from(config, {"proxy.offline": offline or None})
    logs.set_up(settings.log)
    found, copy = asyncio.run(_look_up(settings, data_from(data), url, at, best or at is not None))
    if as_json:
        print_json(_as_json(found, copy))
    else:
        _show(found, copy, limit)


async def _look_up(
    settings: Settings, data: Path, url: str, near: datetime | None, best: bool
) -> tuple[TimeMap, MementoCopy | None]:
    from proxy.archives.client import client_from  # imports aiohttp and the page parsers

    async with client_from(settings, data) as client:
        found = await client.timemap(url)
        return found, await client.best(url, near=near) if best else None


def _as_json(found: TimeMap, copy: MementoCopy | None) -> dict[str, Any]:
    return {
        "url": found.url,
        "archives": [
            {
                "archive": answer.archive,
                "outcome": answer.outcome.value,
                "mementos": len(answer.mementos),
                "said_at": answer.said_at,
                "note": answer.note,
            }
            for answer in found.answers
        ],
        "mementos": [
            {"url": each.url, "datetime": each.at, "archive": each.archive, "status": each.status}
            for each in found.mementos
        ],
        "best": {
            "url": copy.memento.url,
            "datetime": copy.memento.at,
            "archive": copy.memento.archive,
            "original": copy.page.url,
            "title": copy.document.title if copy.document else "",
        }
        if copy
        else None,
    }


def _show(found: TimeMap, copy: MementoCopy | None, limit: int) -> None:
    console = Console(highlight=False)
    table = Table("when (UTC)", "archive", "status", "address")
    for each in found.mementos[: -limit - 1 : -1]:
        status = str(each.status or "")
        table.add_row(f"{each.at:%Y-%m-%d %H:%M}", each.archive, status, Text(each.url, overflow="fold"))
    if found.mementos:
        console.print(table)
    years = ", ".join(f"{year}: {count}" for year, count in found.per_year().items())
    console.print(f"{len(found.mementos)} mementos{f' ({years})' if years else ''}", markup=False)
    for answer in found.answers:
        note = f" ({answer.note})" if answer.note else ""
        console.print(f"{answer.archive}: {answer.outcome.words}, {len(answer.mementos)}{note}", markup=False)
    if copy:
        title = copy.document.title if copy.document else ""
        console.print(f"Best: {title or copy.page.url}, {copy.memento.at:%-d %B %Y}", markup=False)
        console.print(f"    {copy.memento.url}", markup=False, soft_wrap=True)
