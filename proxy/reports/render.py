"""A report as a page in one of our languages, which needs nothing else, and as a table for spreadsheets (pure)."""

from collections.abc import Iterator

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from proxy.localtime import zone_name
from proxy.misses.record import csv_line, harmless_cell
from proxy.pages.desktexts import desk_language, speaking
from proxy.pages.display import clean
from proxy.pages.language import ENGLISH
from proxy.pages.render import TEMPLATES
from proxy.pages.templatetexts import TemplateTexts
from proxy.reports.figures import ReportRow, SchoolReport
from proxy.sizes import size

_MAX_TEXT = 300
_environment = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    extensions=[TemplateTexts],
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters["size"] = size
_environment.filters["clean"] = lambda text: clean(text, _MAX_TEXT)

COLUMNS = ("part", "name", "users", "times", "opened", "addresses")


def as_html(report: SchoolReport, language: str = ENGLISH) -> str:
    """One page, without scripts and pictures: fit for a mail, a printer and an archive; in one of LANGUAGES."""
    spoken = desk_language(language)
    with speaking(spoken):
        return _environment.get_template("desk/report.html.jinja").render(
            report=report, zone=zone_name(), language=spoken.pages, number=spoken.pages.number
        )


def as_csv(report: SchoolReport) -> str:
    """A line for each figure; what does not apply is empty."""
    return "".join(csv_line(cells) for cells in (COLUMNS, *_lines(report)))


def _lines(report: SchoolReport) -> Iterator[tuple[str, ...]]:
    missed = report.missed
    yield (
        "missed",
        report.period.name,
        *map(str, (report.users, missed.times, missed.opened, report.missed_addresses)),
    )
    yield ("nothing offered", report.period.name, "", str(missed.nothing), "", "")
    for part, rows in (
        ("network", report.networks),
        ("site", report.sites),
        ("address", report.addresses),
        ("page with dead links", report.own_pages),
    ):
        yield from (_cells(part, row) for row in rows)
    for topic in report.topics:
        words = harmless_cell(" ".join(topic.words))
        yield ("topic we lack", words, str(topic.users), str(topic.times), "", "")
    if report.fetched is not None:
        for name in ("done", "failed", "waiting"):
            yield ("fetched", name, "", str(getattr(report.fetched, name)), "", "")
    if report.saved is not None:
        yield ("saved", "new or changed", "", str(report.saved.fresh), "", "")
        yield ("saved", "total", "", str(report.saved.total), "", "")


def _cells(part: str, row: ReportRow) -> tuple[str, ...]:
    name = harmless_cell(clean(row.name, _MAX_TEXT))
    return (part, name, *map(str, (row.users, row.times, row.opened, row.addresses)))
