"""`linkmend grow`: fetches what users missed, in a process of its own."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proxy import logs
from proxy.cli.crawl import check_libraries, lower_priority, while_parent_lives
from proxy.cli.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.cli.progress import progress
from proxy.settings import Settings

if TYPE_CHECKING:
    from proxy.app.growing import NightReport
    from repair.growing.nightplan import PlannedWant


def grow(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be fetched and why; fetch nothing.")
    ] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="End when standard input ends.", hidden=True)
    ] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Fetch what users missed: the pages themselves, archived copies, related pages; safe while the proxy runs."""
    check_libraries()
    settings = settings_from(config)
    logs.set_up(settings.log)
    lower_priority()
    if dry_run:
        plan = asyncio.run(_plan(settings, data_from(data)))
        for planned in plan:
            print_json(_plan_as_json(planned)) if as_json else _print_plan(planned)
        if not plan and not as_json:
            readers, weeks = settings.grow.readers, settings.grow.weeks
            print_line(
                f"nothing to fetch: no page and no search is left that {readers} readers (grow.readers) or more"
                f" missed in the last {weeks} weeks (grow.weeks)"
            )
        return
    night = _grow(settings, data_from(data))
    report = asyncio.run(while_parent_lives(night) if with_parent else night)
    print_json(_report_as_json(report)) if as_json else _print_report(report)


async def _plan(settings: Settings, data: Path) -> "tuple[PlannedWant, ...]":
    from proxy.app.growing import open_growing

    async with open_growing(settings, data) as process:
        return await asyncio.to_thread(process.plan)


async def _grow(settings: Settings, data: Path) -> "NightReport":
    from proxy.app.growing import open_growing

    async with open_growing(settings, data) as process:
        with progress("growing", None) as tell:
            return await process.run(tell)


def _plan_as_json(planned: "PlannedWant") -> dict[str, Any]:
    return {
        "want": planned.want.name,
        "topic": planned.want.topic.name if planned.want.topic else None,
        "misses": planned.want.times,
        "unanswered": planned.want.unanswered,
        "fetch": [miss.url for miss in planned.due],
        "later": planned.later,
        "crawl_pages": planned.crawl_pages,
        "why": planned.why,
    }


def _print_plan(planned: "PlannedWant") -> None:
    print_line(f"{planned.want.name}: {planned.why}")
    for step in planned.steps:
        print_line(f"  {step}")


def _report_as_json(report: "NightReport") -> dict[str, Any]:
    pages = {how.value: count for how, count in report.night.pages.items()}
    return {"pages": pages, "bytes": report.night.received, "stopped": report.stopped}


def _print_report(report: "NightReport") -> None:
    pages = ", ".join(f"{count} {how}" for how, count in report.night.pages.items() if count)
    print_line(f"pages: {pages or 'none'}; {report.night.received / 1e6:.1f} MB; {report.stopped}")
