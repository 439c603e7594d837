"""`linkmend crawl`: gathers pages for topics, in a process of its own."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from proxy import logs
from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.cli.progress import progress
from proxy.errors import LinkmendError
from proxy.settings import Settings

if TYPE_CHECKING:
    from proxy.app.crawling import CrawlBudget, CrawlReport
    from proxy.fetching.refresher import RefreshReport
    from repair.crawling.topics import Topic

T = TypeVar("T")

_STDIN = 0
_LOW_PRIORITY = 10
_SWITCH_S = 0.001


def crawl(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Names of topics.")],
    pages: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Pages of each topic for this run, not its own budget."),
    ] = None,
    bytes_: Annotated[
        int | None, typer.Option("--bytes", metavar="N", min=1, help="The same for bytes.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be fetched first; fetch nothing.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="Ask again for saved pages that may have changed; gather no new ones."
        ),
    ] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Gather pages for topics, politely; safe while the proxy runs, and after `kill -9`."""
    check_libraries()
    from proxy.app.crawling import CrawlBudget
    from proxy.cli.topics import find_topic, open_topics

    settings = settings_from(config)
    logs.set_up(settings.log)
    with open_topics(config, data) as (_, store):
        chosen = list({topic.name: topic for topic in (find_topic(store, name) for name in topics)}.values())
    budget = CrawlBudget(pages=pages, bytes=bytes_)
    lower_priority()
    if refresh:
        for refreshed in asyncio.run(_refresh(settings, data_from(data), chosen, budget)):
            if as_json:
                print_json(_refresh_as_json(refreshed))
            else:
                _print_refresh(refreshed)
        return
    for report in asyncio.run(_crawl(settings, data_from(data), chosen, budget, dry_run)):
        if as_json:
            print_json(_as_json(report))
        else:
            _print(report)


async def _crawl(
    settings: Settings, data: Path, chosen: "Sequence[Topic]", budget: "CrawlBudget", dry_run: bool
) -> "tuple[CrawlReport, ...]":
    from proxy.app.crawling import open_crawls

    async with open_crawls(settings, data) as process:
        if dry_run:
            return await asyncio.to_thread(process.preview, chosen, budget)
        with progress(f"crawling {', '.join(topic.name for topic in chosen)}"[:80], None) as tell:
            return await process.run(chosen, budget, _total(tell))


async def _refresh(
    settings: Settings, data: Path, chosen: "Sequence[Topic]", budget: "CrawlBudget"
) -> "tuple[RefreshReport, ...]":
    from proxy.app.crawling import open_crawls

    async with open_crawls(settings, data) as process:
        with progress(f"refreshing {', '.join(topic.name for topic in chosen)}"[:80], None) as tell:
            return await process.refresh(chosen, budget, _total(tell))


def _refresh_as_json(report: "RefreshReport") -> dict[str, Any]:
    return {
        "topic": report.topic,
        **{outcome.value: count for outcome, count in report.outcomes.items()},
        "new_links": report.new_links,
        "bytes": report.received,
        "stopped": report.stopped,
    }


def _print_refresh(report: "RefreshReport") -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in report.outcomes.items() if count)
    print_line(
        f"{report.topic}: {outcomes or 'nothing due'}; {report.new_links} new links;"
        f" {report.received / 1e6:.1f} MB; {report.stopped}"
    )


def _total(tell: Callable[[int], None]) -> Callable[[str, int], None]:
    """Tells the pages of all topics together."""
    fetched: dict[str, int] = {}

    def note(topic: str, pages: int) -> None:
        fetched[topic] = pages
        tell(sum(fetched.values()))

    return note


def _as_json(report: "CrawlReport") -> dict[str, Any]:
    return {
        "topic": report.topic,
        **{state.value: count for state, count in report.counts.states.items()},
        "bytes": report.counts.received,
        "pages": report.pages,
        "stopped": report.stopped,
        "next": [{"url": link.url, "worth": round(min(link.worth, 1.0), 3)} for link in report.next_links],
    }


def _print(report: "CrawlReport") -> None:
    states = ", ".join(f"{count} {state}" for state, count in report.counts.states.items() if count)
    print_line(
        f"{report.topic}: {report.pages} pages; links: {states or 'none'}; {report.stopped or 'would crawl'}"
    )
    for link in report.next_links:
        print_line(f"  {min(link.worth, 1.0):.2f}  {link.url}")


async def while_parent_lives(work: Coroutine[Any, Any, T]) -> T:
    """The result of work, which ends in order when standard input does: the process that started this one holds the
    other end of that pipe, and is gone then, even by `kill -9`. Raises LinkmendError."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def end() -> None:
        if not os.read(_STDIN, 4_096):
            loop.remove_reader(_STDIN)
            task.cancel()

    loop.add_reader(_STDIN, end)
    try:
        return await task
    except asyncio.CancelledError:
        raise LinkmendError("the process that started this one has ended") from None
    finally:
        loop.remove_reader(_STDIN)


def lower_priority() -> None:
    """Let others go first; a process that the backend started does so already. Within the process, threads that wait
    for the network go before those that reckon."""
    sys.setswitchinterval(_SWITCH_S)
    os.nice(max(0, _LOW_PRIORITY - os.nice(0)))


def check_libraries() -> None:
    """Fail before anything is opened. Also sets the number of threads, which works only before the first import."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the proxy needs the other cores
    try:
        import repair.crawling.classifier  # noqa: F401
    except ImportError as error:
        raise LinkmendError(f"crawling needs the extra linkmend[learn]: {error}") from error
