"""`linkmend repairs`: what users chose in the place of missing pages, told to other schools and heard from them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.commands.lines import STDIN, lines
from proxy.commands.options import Config, Data, Json, data_from, print_json, print_line, settings_from
from proxy.errors import LinkmendError
from proxy.settings import Settings
from proxy.sharing import Tally, heard, named, told
from repair.collection import Collection
from repair.experience import Choice, ChoiceStore
from repair.hints import Hints
from repair.urls import is_web_url

repairs = typer.Typer(
    help="What users chose for missing pages, here and at other schools.", no_args_is_help=True
)


@repairs.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where they go; - for standard output.")],
    config: Config = None,
    data: Data = None,
) -> None:
    """Write what our own users chose and an admin has pinned, for other schools."""
    with _held(config, data) as (collection, settings):
        hints = Hints(collection, settings.repair)
        school = named(settings.repair.school, hints.choices.school())
        written = told(hints.choices.confirmed(hints.is_confirmed), school)
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
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What other schools exported.")],
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Read what other schools confirmed; a file with a bad line is not read at all.

    It decides between pages that are as good, and no more.
    """
    with _opened(config, data) as (store, school):
        own = frozenset((store.school(), named(school, store.school())))
        for file in files:
            result = _read(store, file, own)
            if as_json:
                print_json(result)
                continue
            print_line(
                f"{file}: {result['repairs']} repairs from {len(result['schools'])} schools;"
                f" left out {result['own']} of our own and {result['unfit']} not fit to be shared"
            )


@repairs.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show.")] = 50,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """What was chosen last, here and elsewhere."""
    with _opened(config, data) as (store, _):
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
        str, typer.Argument(metavar="SCHOOL|URL", help="As `repairs list` names it; or an address.")
    ],
    config: Config = None,
    data: Data = None,
) -> None:
    """Forget all that another school told us; or what was chosen for an address and instead of others, moves too."""
    if is_web_url(what):
        with _held(config, data) as (collection, settings):
            Hints(collection, settings.repair).forget(what)
        print_line(f"{what}: forgotten")
        return
    with _opened(config, data) as (store, _):
        print_line(f"{store.forget_school(what)} repairs forgotten")


@contextmanager
def _opened(config: Path | None, data: Path | None) -> Iterator[tuple[ChoiceStore, str]]:
    """The choices, and what this school is called."""
    with _held(config, data) as (collection, settings):
        yield ChoiceStore(collection.database), settings.repair.school


@contextmanager
def _held(config: Path | None, data: Path | None) -> Iterator[tuple[Collection, Settings]]:
    settings = settings_from(config)
    logs.set_up(settings.log)
    with Collection.open(data_from(data) / "collection", settings.collection) as collection:
        yield collection, settings


def _read(store: ChoiceStore, file: Path, own: frozenset[str]) -> dict[str, Any]:
    tally = Tally(schools=set())
    try:
        count = store.take_over(heard(lines(file), own=own, today=datetime.now(UTC).date(), tally=tally))
    except ValueError as error:
        raise LinkmendError(f"{file}: {error}") from error
    return {
        "file": str(file),
        "repairs": count,
        "schools": sorted(tally.schools),
        "own": tally.own,
        "unfit": tally.unfit,
    }


def _as_json(choice: Choice) -> dict[str, Any]:
    return {
        "url": choice.url,
        "chosen": choice.chosen,
        "school": choice.school,
        "times": choice.times,
        "networks": choice.networks,
        "refused": choice.refused,
        "last": choice.at.date(),
    }
