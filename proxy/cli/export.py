"""`linkmend export`: saved pages as a pack, one file that another school imports or that other programs read."""

import asyncio
import os
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxy import logs
from proxy.cli.options import (
    Config,
    Data,
    Json,
    data_from,
    open_collection,
    print_json,
    print_line,
    settings_from,
)
from proxy.cli.progress import Tell, progress
from proxy.errors import LinkmendError
from proxy.settings import Settings
from proxy.version import version

if TYPE_CHECKING:
    from proxy.packs.contents import PackContents, PackPlan
    from repair.collection.collection import Collection
    from repair.packs.packmodel import PackOrigin
    from repair.packs.waczwriter import WaczWriter
    from repair.packs.zimwriter import ZimWriter

_PAGES = 1_000


@dataclass(slots=True, kw_only=True)
class ExportSummary:
    """What a pack has, and how many pages were left out: without a saved copy, or not for others."""

    path: str
    kind: str
    title: str
    sender: str
    licence: str
    pages: int = 0
    files: int = 0
    bytes: int = 0
    without_copy: int = 0
    private: int = 0


def export(
    wanted: Annotated[
        str, typer.Argument(metavar="TOPIC|SITE|QUERY", help="A topic's name, a host or address, or words.")
    ],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The pack: a .wacz or .zim file.")],
    pages: Annotated[
        int, typer.Option("--pages", metavar="N", min=1, help="At most so many pages.")
    ] = _PAGES,
    title: Annotated[str, typer.Option("--title", help="The pack's title, if not what was asked for.")] = "",
    licence: Annotated[
        str, typer.Option("--licence", metavar="TEXT", help="Under which terms others may use the pages.")
    ] = "",
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Export saved pages with their pictures, topics and links as one file; private pages are left out."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    if to.suffix.lower() not in (".wacz", ".zim"):
        raise typer.BadParameter(f"expected a file that ends in .wacz or .zim, got {to.name}")
    if settings.collection.share == "off":
        raise LinkmendError('collection.share is "off": nothing of the collection may leave it')
    with progress(f"exporting to {to.name}", None) as tell:
        summary = asyncio.run(_export(wanted, to, pages, (title, licence), settings, data_from(data), tell))
    if as_json:
        print_json(asdict(summary))
        return
    print_line(
        f"{to}: {summary.pages} pages and {summary.files} files of the {summary.kind} {summary.title!r},"
        f" {summary.bytes / 1e6:.1f} MB; left out: {summary.private} private,"
        f" {summary.without_copy} without a saved copy"
    )


async def _export(
    wanted: str, to: Path, limit: int, texts: tuple[str, str], settings: Settings, data: Path, tell: Tell
) -> ExportSummary:
    from proxy.packs.contents import PackContents
    from proxy.packs.selection import select_pages
    from proxy.store.responses import ResponseStore
    from repair.crawling.topicdatabase import FOLDER, NAME, TopicDatabase
    from repair.crawling.topicstore import TopicStore
    from repair.packs.packmodel import PackOrigin

    with ExitStack() as stack:
        collection = stack.enter_context(open_collection(settings, data))
        topics = None
        if (data / FOLDER / NAME).exists():
            topics = TopicStore(stack.enter_context(closing(TopicDatabase(data / FOLDER))))
        selection = select_pages(wanted, collection, topics, limit=limit)
        responses = ResponseStore.open(data / "cache", settings.cache)
        try:
            contents = PackContents(collection, responses, topics)
            plan = await contents.plan(selection.addresses)
            if not plan.pages:
                raise LinkmendError(
                    f"nothing to export for {wanted[:100]!r}: {len(selection.addresses)} saved pages found,"
                    f" {plan.private} of them private, {plan.without_copy} without a saved copy"
                )
            origin = PackOrigin(
                title=texts[0] or selection.title,
                sender=_sender(settings, collection),
                licence=texts[1],
                created_at=datetime.now(UTC).replace(microsecond=0),
            ).printable()
            summary = ExportSummary(
                path=str(to),
                kind=selection.kind,
                title=origin.title,
                sender=origin.sender,
                licence=origin.licence,
                without_copy=plan.without_copy,
                private=plan.private,
            )
            try:
                await _write(to, origin, contents, plan, summary, tell)
            except (OSError, RuntimeError) as error:
                raise LinkmendError(f"{to}: cannot write the pack: {error}") from error
            summary.bytes = await asyncio.to_thread(os.path.getsize, to)
            return summary
        finally:
            await responses.close()


async def _write(
    to: Path,
    origin: "PackOrigin",
    contents: "PackContents",
    plan: "PackPlan",
    summary: ExportSummary,
    tell: Tell,
) -> None:
    with _writer(to, origin, contents, plan) as writer:
        for number, url in enumerate(plan.addresses, 1):
            is_page = number <= len(plan.pages)
            item = await contents.item(url, is_page=is_page)
            if item is not None:
                await asyncio.to_thread(writer.add, item)
                summary.pages += is_page
                summary.files += not is_page
            tell(number)


def _writer(
    to: Path, origin: "PackOrigin", contents: "PackContents", plan: "PackPlan"
) -> "WaczWriter | ZimWriter":
    from repair.packs.waczwriter import WaczWriter
    from repair.packs.zimwriter import ZimWriter, pack_paths

    topics, software = contents.topics_of(plan), f"linkmend {version()}"
    if to.suffix.lower() == ".wacz":
        return WaczWriter(to, origin, topics, software=software)
    paths = pack_paths(plan.addresses)
    return ZimWriter(to, origin, topics, paths=paths, languages=plan.languages, software=software)


def _sender(settings: Settings, collection: "Collection") -> str:
    from proxy.misses.schoolsharing import school_name
    from repair.evidence.choices import ChoiceStore

    return school_name(settings.repair.school, ChoiceStore(collection.database).school())
