"""`linkmend repairs`: users' choices for missing pages, exported to and imported from other schools."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxy import logs
from proxy.cli.inputlines import STDIN, lines
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
from proxy.errors import LinkmendError
from proxy.settings import Settings
from repair.text.urls import is_web_url

if TYPE_CHECKING:
    from repair.collection.collection import Collection
    from repair.evidence.choices import Choice, ChoiceStore

_MAX_PINS = 100_000
_MAX_SIGNED = 64 * 1024**2

repairs = typer.Typer(
    help="Share which pages users chose for dead links with other schools.", no_args_is_help=True
)


@repairs.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output file; - for standard output.")],
    signed: Annotated[
        bool, typer.Option("--signed", help="Sign the file with this school's key, and include pinned pages.")
    ] = False,
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
        if signed:
            written = _sign(school, written, collection, data_from(data))
        try:
            if file == STDIN:
                sys.stdout.buffer.writelines(written)
                return
            with file.open("wb") as out:
                count = sum(1 for line in written if out.write(line))
        except OSError as error:
            raise LinkmendError(f"{file}: {error.strerror}") from error
    print_line(f"{file}: {count - 2} repairs, signed" if signed else f"{file}: {count} repairs")


@repairs.command()
def key(config: Config = None, data: Data = None) -> None:
    """Print this school's public key, for `district.pack_keys` of other schools; made the first time."""
    from proxy.district.signedpacks import own_key, public_text

    with _open_collection(config, data) as _:
        print_line(public_text(own_key(data_from(data))))


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

    Choices only break ties between pages that match equally well. What a school pinned is in files that it signed
    (`repairs export --signed`), and offered with the school's name; `district.pack_keys` names the schools to trust.
    """
    from proxy.district.signedpacks import trusted_keys
    from proxy.misses.schoolsharing import school_name
    from repair.evidence.choices import ChoiceStore

    with _open_collection(config, data) as (collection, settings):
        store = ChoiceStore(collection.database)
        own = frozenset((store.school(), school_name(settings.repair.school, store.school())))
        trusted = trusted_keys(settings.district.pack_keys)
        for file in files:
            result = _import_any(collection, store, file, own, trusted)
            if as_json:
                print_json(result)
                continue
            print_line(
                f"{file}: {result['repairs']} repairs from {len(result['schools'])} schools;"
                f" skipped {result['own']} of our own and {result['unfit']} unsuitable"
                + (f"; {result['pins']} pinned pages" if "pins" in result else "")
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
    from repair.collection.elsewhere import ConfirmedElsewhere
    from repair.evidence.choices import ChoiceStore

    with _open_collection(config, data) as (collection, _):
        store = ChoiceStore(collection.database)
        count = store.forget_school(what) + ConfirmedElsewhere(collection.database).forget_school(what)
        print_line(f"{count} repairs deleted")


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


def _sign(school: str, lines: Iterator[bytes], collection: "Collection", data: Path) -> Iterator[bytes]:
    from proxy.district.signedpacks import own_key, write_signed
    from repair.collection.pins import Pins
    from repair.secrets.publicaddresses import is_shareable

    pins = Pins(collection.database).list(_MAX_PINS)
    fit = (pin for pin in pins if is_shareable(pin.url) and is_shareable(pin.target))
    content = write_signed(school, lines, fit, own_key(data), now=datetime.now(UTC))
    return iter(content.splitlines(keepends=True))


def _import_any(
    collection: "Collection",
    store: "ChoiceStore",
    file: Path,
    own: frozenset[str],
    trusted: Mapping[str, str],
) -> dict[str, Any]:
    """A signed file, or one without a signature where no keys are named."""
    from proxy.district import signedpacks

    content = b"" if file == STDIN else _beginning(file)
    if not signedpacks.is_signed(content):
        if trusted:
            raise LinkmendError(f"{file}: not signed; district.pack_keys says that files must be")
        return _import_file(store, file, own)
    try:
        found = signedpacks.read_signed(_whole(file), trusted, now=datetime.now(UTC))
        with collection.database.write():
            signedpacks.note_serial(collection.database, found)
            result = _import_lines(store, file, enumerate(found.repairs, 2), own, school=found.school)
            return {**result, "pins": signedpacks.offer_pins(collection.database, found)}
    except ValueError as error:
        raise LinkmendError(f"{file}: {error}") from error


def _beginning(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(100)
    except OSError as error:
        raise LinkmendError(f"{file}: {error.strerror}") from error


def _whole(file: Path) -> bytes:
    """The file, as far as it may be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_SIGNED + 1)
    except OSError as error:
        raise LinkmendError(f"{file}: {error.strerror}") from error


def _import_file(store: "ChoiceStore", file: Path, own: frozenset[str]) -> dict[str, Any]:
    return _import_lines(store, file, lines(file), own)


def _import_lines(
    store: "ChoiceStore",
    file: Path,
    numbered: Iterable[tuple[int, bytes | None]],
    own: frozenset[str],
    *,
    school: str = "",
) -> dict[str, Any]:
    """With `school`, the lines are of that school, whatever they say themselves."""
    from proxy.misses.schoolsharing import SharedRepairsReport, import_repairs

    tally = SharedRepairsReport(schools=set())
    try:
        count = store.replace_reported(
            replace(choice, school=school or choice.school)
            for choice in import_repairs(numbered, own=own, today=datetime.now(UTC).date(), tally=tally)
        )
    except ValueError as error:
        raise LinkmendError(f"{file}: {error}") from error
    return {
        "file": str(file),
        "repairs": count,
        "schools": sorted({school} if school and tally.schools else tally.schools),
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
