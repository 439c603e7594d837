"""`linkmend repairs`: users' choices for missing pages, exported to and imported from other schools."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.cli.inputlines import STDIN, lines
from proxy.cli.options import Config, Data, Json, open_collection, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.settings import Settings
from repair.text.urls import is_web_url

if TYPE_CHECKING:
    from repair.collection.collection import Collection
    from repair.evidence.choices import Choice, ChoiceStore

repairs = typer.Typer(
    help="Share which pages users chose for dead links with other schools.", no_args_is_help=True
)


@repairs.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file; - for standard output.")],
    config: Config = None,
    data: Data = None,
) -> None:
    """Export the pages that users chose and an admin pinned, for other schools."""
    from proxy.misses.schoolsharing import export_repairs, school_name
    from repair.evidence.hints import Hints

    with _open_collection(config, data) as (collection, settings):
        hints = Hints(collection, settings.repair)
        school = school_name(settings.repair.school, hints.choices.school())
        written = export_repairs(hints.choices.confirmed_choices(hints.is_confirmed), school)
        try:
            if file == STDIN:
                sys.stdout.buffer.writelines(written)
                return
            with file.open("wb") as out:
                count = sum(1 for line in written if out.write(line))
        except OSError as error:
            raise LinkmendError(f"{file}: {error.strerror}") from error
    print_line(f"{file}: {count} repairs")


@repairs.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files that other schools exported.")
    ],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Import the choices of other schools. A file with an invalid line is not imported at all.

    They only break ties between pages that match equally well.
    """
    from proxy.misses.schoolsharing import school_name

    with _open_choices(config, data) as (store, school):
        own = frozenset((store.school(), school_name(school, store.school())))
        for file in files:
            result = _import_file(store, file, own)
            if as_json:
                print_json(result)
                continue
            print_line(
                f"{file}: {result['repairs']} repairs from {len(result['schools'])} schools;"
                f" skipped {result['own']} of our own and {result['unfit']} unsuitable"
            )


@repairs.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List the latest choices, here and at other schools."""
    with _open_choices(config, data) as (store, _):
        found = store.latest(limit)
    if as_json:
        for choice in found:
            print_json(_as_json(choice))
        return
    table = Table("last", "missing", "chosen instead", "times", "networks", "refused", "by users of")
    for choice in found:
        addresses = (Text(url, overflow="fold") for url in (choice.url, choice.chosen))
        counts = (str(choice.times), str(choice.networks or ""), str(choice.refused))
        table.add_row(f"{choice.at:%Y-%m-%d}", *addresses, *counts, Text(choice.school or "this school"))
    Console().print(table)


@repairs.command()
def forget(
    what: Annotated[
        str, typer.Argument(metavar="SCHOOL|URL", help="A school's name as in `repairs list`, or an address.")
    ],
    config: Config = None,
    data: Data = None,
) -> None:
    """Delete all choices of another school, or all choices and moves from or to an address."""
    if is_web_url(what):
        from repair.evidence.hints import Hints

        with _open_collection(config, data) as (collection, settings):
            Hints(collection, settings.repair).forget(what)
        print_line(f"{what}: deleted")
        return
    with _open_choices(config, data) as (store, _):
        print_line(f"{store.forget_school(what)} repairs deleted")


@contextmanager
def _open_choices(config: Path | None, data: Path | None) -> Iterator[tuple["ChoiceStore", str]]:
    """The store of choices, and the name of this school."""
    from repair.evidence.choices import ChoiceStore

    with _open_collection(config, data) as (collection, settings):
        yield ChoiceStore(collection.database), settings.repair.school


@contextmanager
def _open_collection(config: Path | None, data: Path | None) -> Iterator[tuple["Collection", Settings]]:
    settings = settings_from(config)
    logs.set_up(settings.log)
    with open_collection(settings, data) as collection:
        yield collection, settings


def _import_file(store: "ChoiceStore", file: Path, own: frozenset[str]) -> dict[str, Any]:
    from proxy.misses.schoolsharing import SharedRepairsReport, import_repairs

    tally = SharedRepairsReport(schools=set())
    try:
        count = store.replace_reported(
            import_repairs(lines(file), own=own, today=datetime.now(UTC).date(), tally=tally)
        )
    except ValueError as error:
        raise LinkmendError(f"{file}: {error}") from error
    return {
        "file": str(file),
        "repairs": count,
        "schools": sorted(tally.schools),
        "own": tally.own,
        "unfit": tally.unfit,
    }


def _as_json(choice: "Choice") -> dict[str, Any]:
    return {
        "url": choice.url,
        "chosen": choice.chosen,
        "school": choice.school,
        "times": choice.times,
        "networks": choice.networks,
        "refused": choice.refused,
        "last": choice.at.date(),
    }
