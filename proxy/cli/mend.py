"""`linkmend mend`: what the repair page would list for a link, on the terminal or for many at once."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from proxy import logs
from proxy.commands.batch import Answer, Asked, broken, count, mend_all
from proxy.commands.options import Config, Data, Json, data_from, print_json, settings_from
from proxy.commands.progress import progress
from proxy.errors import LinkmendError
from proxy.pages.repairpage import as_json as page_as_json
from repair.collection import Collection
from repair.hints import Hints
from repair.model import BrokenLink, RankedAlternatives
from repair.pipeline import Repairer

_PATIENT_S = (
    60.0  # nobody waits for one line of a batch, and its answers should not depend on how busy we are
)


def mend(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The address that is dead.")] = None,
    source: Annotated[str | None, typer.Option(metavar="URL", help="The page the link stands on.")] = None,
    anchor: Annotated[str, typer.Option(metavar="TEXT", help="The words of the link.")] = "",
    context: Annotated[str, typer.Option(metavar="TEXT", help="The words around the link.")] = "",
    top: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many to list.")] = 8,
    batch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Links, a JSON object a line: "url", if known "source", "anchor", "context"; - for stdin.',
        ),
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
    if batch is not None:
        wanted = replace(wanted, deadline_s=_PATIENT_S)
    with (
        Collection.open(data_from(data) / "collection", settings.collection) as collection,
        ThreadPoolExecutor(4) as threads,
    ):
        collection.commit()  # what was imported a moment ago can be found as well
        repairer = Repairer(collection, wanted, threads, hints=Hints(collection, wanted))
        if batch is not None:
            _mend_all(repairer, batch)
            return
        link = _broken(Asked(url=url or "", source=source, anchor=anchor, context=context))
        found = asyncio.run(repairer.repair(link))
    if as_json:
        print_json(page_as_json(found))
    else:
        _show(found)


def _mend_all(repairer: Repairer, batch: Path) -> None:
    # Answers on the same terminal say well enough how far it is.
    watched = nullcontext(_nobody) if sys.stdout.isatty() else progress("mending", count(batch))
    with watched as tell:
        asyncio.run(mend_all(repairer, batch, _write, tell))


def _write(answer: Answer) -> None:
    print_json(answer)
    sys.stdout.flush()  # who asks through a pipe waits for it


def _nobody(_: int) -> None:
    """Hears of progress where it is seen anyway."""


def _broken(asked: Asked) -> BrokenLink:
    try:
        return broken(asked)
    except ValueError as error:
        raise LinkmendError(str(error)) from error


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
