"""`linkmend mend`: the alternatives of the repair page for a link, on the terminal or for many links at once."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from proxy import logs
from proxy.cli.options import Config, Data, Json, open_collection, print_json, settings_from
from proxy.cli.progress import progress
from proxy.errors import LinkmendError
from proxy.pages.language import ENGLISH, catalogue
from repair.model import Alternative, RankedAlternatives

if TYPE_CHECKING:
    from proxy.cli.mendbatch import Answer
    from repair.pipeline import Repairer

_LEAST_SHOWN = 0.005
_BATCH_TIMEOUT_S = 60.0  # nobody waits for one line of a batch, and its results should not depend on the load


def mend(
    url: Annotated[str | None, typer.Argument(metavar="URL", help="The dead link.")] = None,
    source: Annotated[
        str | None, typer.Option(metavar="URL", help="The page that contains the link.")
    ] = None,
    anchor: Annotated[str, typer.Option(metavar="TEXT", help="The link text.")] = "",
    context: Annotated[str, typer.Option(metavar="TEXT", help="The text around the link.")] = "",
    top: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="How many to list.")] = 8,
    batch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Links, one JSON object per line: "url", optional "source", "anchor", "context"; - for stdin.',
        ),
    ] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the saved pages that can replace a dead link."""
    if (url is None) == (batch is None):
        raise typer.BadParameter("give either a URL or --batch FILE")
    # The pipeline and the index take half a second to import, too long for --help.
    from proxy.cli.mendbatch import BatchLink, broken_link_of
    from proxy.pages.repairpage import as_json as page_as_json
    from repair.evidence.hints import Hints
    from repair.pipeline import Repairer

    settings = settings_from(config)
    logs.set_up(settings.log)
    wanted = replace(settings.repair, alternatives=top)
    if batch is not None:
        wanted = replace(wanted, deadline_s=_BATCH_TIMEOUT_S)
    with (
        open_collection(settings, data) as collection,
        ThreadPoolExecutor(4) as threads,
    ):
        collection.commit()  # so that pages imported a moment ago are found
        repairer = Repairer(collection, wanted, threads, hints=Hints(collection, wanted))
        if batch is not None:
            _mend_all(repairer, batch)
            return
        try:
            link = broken_link_of(BatchLink(url=url or "", source=source, anchor=anchor, context=context))
        except ValueError as error:
            raise LinkmendError(str(error)) from error
        found = asyncio.run(repairer.repair(link))
    if as_json:
        print_json(page_as_json(found))
    else:
        _show(found)


def _mend_all(repairer: "Repairer", batch: Path) -> None:
    from proxy.cli.mendbatch import count, mend_all

    # Answers on the same terminal already show the progress.
    watched = nullcontext(_ignore_progress) if sys.stdout.isatty() else progress("mending", count(batch))
    with watched as tell:
        asyncio.run(mend_all(repairer, batch, _write, tell))


def _write(answer: "Answer") -> None:
    print_json(answer)
    sys.stdout.flush()  # a program that reads our pipe waits for it


def _ignore_progress(_: int) -> None:
    """Ignores progress where it is visible anyway."""


def _show(found: RankedAlternatives) -> None:
    console = Console(highlight=False)
    if found.copy_at is not None:
        console.print(f"Saved copy from {found.copy_at:%-d %B %Y}.", markup=False)
    if not found.alternatives:
        console.print("No saved page is similar enough.", markup=False)
    for number, item in enumerate(found.alternatives, start=1):
        console.print(f"{number:2}. {item.title or item.url}", markup=False, style="bold")
        console.print(f"    {item.url}", markup=False, soft_wrap=True)
        console.print(f"    {_describe(item)}", markup=False)


def _describe(item: Alternative) -> str:
    """How likely it is the right page, and the reasons in the words of the repair page."""
    percent = f"{item.confidence * 100:.0f}" if item.confidence >= _LEAST_SHOWN else "under 1"
    texts = catalogue(ENGLISH).texts
    return "; ".join(
        (f"Confidence {percent} %", *(texts.get(f"reason.{code}", code) for code in item.reasons))
    )
