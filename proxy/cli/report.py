"""`linkmend report`: what was missed, repaired, fetched and saved in a week or a month."""

import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from proxy import atomicfiles
from proxy.cli.options import Config, Data, data_from, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.misses.store import MissStore
from proxy.reports.period import ReportStep, last_period, period_with


def report(
    period: Annotated[ReportStep, typer.Argument(metavar="week|month")] = ReportStep.WEEK,
    day: Annotated[
        datetime | None,
        typer.Option(
            "--with",
            formats=["%Y-%m-%d"],
            metavar="YYYY-MM-DD",
            help="The week or month with this day; default: the latest that is over.",
        ),
    ] = None,
    form: Annotated[Literal["html", "csv"], typer.Option("--format", help="Output format.")] = "html",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write to a file, or into a folder; default: standard output."),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the page; default: report.language.")
    ] = None,
    mail: Annotated[
        bool, typer.Option("--mail", help="Send it to report.to by mail.server instead.")
    ] = False,
    config: Config = None,
    data: Data = None,
) -> None:
    """Report on a week or a month: what was missed, repaired, fetched and saved, and what is lacking."""
    from proxy.pages.language import LANGUAGES
    from proxy.reports.figures import report_on
    from proxy.reports.mail import message_of, send
    from proxy.reports.render import as_csv, as_html

    settings, folder = settings_from(config), data_from(data)
    spoken = language or settings.report.language
    if spoken not in LANGUAGES:
        raise LinkmendError(f"--language {spoken}: not one of {', '.join(LANGUAGES)}")
    if mail and not (settings.mail.server and settings.mail.sender and settings.report.to):
        raise LinkmendError("--mail needs the settings mail.server, mail.sender and report.to")
    if not (folder / "misses").is_dir():
        raise LinkmendError(f"{folder}: no dead link log found; set the proxy's data folder with --data")
    chosen = (
        period_with(period, day.date()) if day else last_period(period, datetime.now().astimezone().date())
    )
    with closing(MissStore(folder / "misses", settings.misses)) as misses:
        found = report_on(
            chosen, misses, folder, few=settings.report.few, own_sites=settings.report.own_sites
        )
    if mail:
        made = message_of(found, sender=settings.mail.sender, to=settings.report.to, language=spoken)
        send(made, settings.mail)
        print_line(f"report {chosen.name} sent to {', '.join(settings.report.to)}")
        return
    text = as_html(found, spoken) if form == "html" else as_csv(found)
    if out is None:
        sys.stdout.write(text)
        return
    path = out / f"linkmend-{chosen.name}.{form}" if out.is_dir() else out
    try:
        atomicfiles.write(path, text.encode("utf-8", "replace"), mode=0o640)
    except OSError as error:
        raise LinkmendError(f"{path}: cannot write the report: {error.strerror or error}") from error
    print_line(str(path))
