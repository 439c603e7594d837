"""`linkmend district`: the database through which the schools of a district share what they learn."""

import os
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
from proxy.district.leftmark import unmark_left
from proxy.errors import LinkmendError, SettingsError
from proxy.settings import DistrictSettings

if TYPE_CHECKING:
    from repair.collection.collection import Collection

district = typer.Typer(
    help="Share what users missed and chose with the other schools of a district.", no_args_is_help=True
)

PasswordFile = Annotated[
    Path, typer.Option("--password-file", metavar="FILE", help="New file for the password; must not exist.")
]


@district.command()
def init(config: Config = None) -> None:
    """Create the tables and roles in the district's PostgreSQL, or bring them up to date.

    For the district's admin: `district.database_user` owns the database and may create roles.
    """
    settings = _settings(config)
    from proxy.district import schema

    print_line(f"the district's database is ready, version {schema.initialise(settings)}")


@district.command()
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the school, as other schools see it.")],
    password_file: PasswordFile,
    admin: Annotated[
        bool, typer.Option("--admin", help="Invite an admin of the district; NAME is the user name.")
    ] = False,
    config: Config = None,
) -> None:
    """Create a login for a school, or give it a new password. For the district's admin, after `init`."""
    settings = _settings(config)
    from proxy.district.connection import connected
    from proxy.district.roles import invite_admin, invite_school

    with connected(settings) as connection:
        # First: an invitation whose password cannot be written down is none.
        file = _new_private_file(password_file)
        try:
            login = (invite_admin if admin else invite_school)(connection, name)
        except BaseException:
            os.close(file)
            password_file.unlink()
            raise
    with os.fdopen(file, "w", encoding="utf-8") as out:
        out.write(login.password + "\n")
    print_line(f"{name}: user {login.user}, password in {password_file}")


@district.command()
def join(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Take part in the district: check the login, and begin to note what is to be shared. The proxy sends it."""
    folder, district = _data_folder(data), settings_from(config).district
    if district.search and not district.database:  # only pages are shared, and all it takes are the settings
        unmark_left(folder)
        print_line("a linkmend that starts from now on sends its pages")
        return
    settings = _settings(config)
    from proxy.district import membership

    joined = membership.join(settings, folder)
    if as_json:
        print_json(joined)
        return
    print_line(f"joined as {joined.school}; {joined.waiting} changes wait to be sent")
    print_line("a running linkmend must be restarted to take part")


@district.command()
def leave(
    erase: Annotated[
        bool, typer.Option("--erase", help="Delete what this school has told the district.")
    ] = False,
    config: Config = None,
    data: Data = None,
) -> None:
    """Take part no longer: nothing more is sent, and what other schools told is forgotten here."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    from proxy.district import membership

    folder, withdrawn = _data_folder(data), None
    with open_collection(settings, data) as collection:
        if erase and settings.district.search:
            withdrawn = _withdraw(settings.district, collection)
        erased = membership.leave(settings.district, folder, collection.database, erase=erase)
        collection.outbox.close()
    if erased is not None:
        print_line(f"{erased} entries deleted at the district")
    if withdrawn is not None:
        print_line(f"{withdrawn} pages deleted at the district")
    print_line("left the district; stop a running linkmend, or it goes on until its next start")


@district.command()
def status(config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Show which school this is, what waits to be sent, and who else takes part; an admin sees all schools."""
    settings = _settings(config)
    from proxy.district import membership

    found = membership.status(settings, data_from(data))
    if as_json:
        print_json(found)
        return
    print_line(
        f"{found.school}: {found.waiting} changes wait, {found.confirmed} confirmations of other schools"
    )
    print_line(f"{found.taking_part} schools take part; version {found.version} of the district's database")
    for each in found.schools:
        seen = (
            f"seen {each.seen_at:%Y-%m-%d %H:%M} UTC, linkmend {each.linkmend}"
            if each.seen_at
            else "never seen"
        )
        shut = "" if each.may_write else ", shut out"
        print_line(f"  {each.name}: {seen}; {each.held} rows, {each.waiting} changes wait{shut}")


@district.command("shut-out")
def shut_out_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the school.")],
    erase: Annotated[bool, typer.Option("--erase", help="Also delete what the school had told.")] = False,
    config: Config = None,
) -> None:
    """End a school's membership: its login is deleted, and no school is offered what it said. For the admin."""
    settings = _settings(config)
    from proxy.district.connection import connected
    from proxy.district.roles import shut_out

    with connected(settings) as connection:
        shut_out(connection, name, erase=erase)
    print_line(f"{name}: shut out")


@district.command()
def pin(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the missing page.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Page to offer first instead.")],
    config: Config = None,
) -> None:
    """Offer a page first for a missing one in every school. For the district's admin."""
    settings = _settings(config)
    from proxy.district.connection import connected
    from proxy.district.pinning import pin_for_all

    with connected(settings) as connection:
        pin_for_all(connection, url, target)
    print_line(f"{url}: pinned for all schools")


@district.command()
def unpin(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the missing page.")],
    config: Config = None,
) -> None:
    """Take back a pin of the district. For its admin."""
    settings = _settings(config)
    from proxy.district.connection import connected
    from proxy.district.pinning import unpin_for_all

    with connected(settings) as connection:
        found = unpin_for_all(connection, url)
    print_line(f"{url}: {'unpinned' if found else 'was not pinned'}")


def _data_folder(data: Path | None) -> Path:
    folder = data_from(data)
    if not folder.is_dir():
        raise LinkmendError(f"{folder}: no data folder; set the proxy's with --data")
    return folder


def _withdraw(settings: DistrictSettings, collection: "Collection") -> int:
    from proxy.app.districtsearch import search_client
    from repair.opensearch.client import SearchUnavailable
    from repair.opensearch.withdrawal import withdraw_all

    client = search_client(settings)
    try:
        return withdraw_all(collection, client)
    except SearchUnavailable as error:
        raise LinkmendError(f"not left: pages at the district cannot be deleted: {error}") from error
    finally:
        client.close()


def _settings(config: Path | None) -> DistrictSettings:
    """The section of the settings; raises SettingsError where it names no database."""
    settings = settings_from(config)
    logs.set_up(settings.log)
    if not settings.district.database:
        raise SettingsError("district.database: no database is named; docs/district.md says how to join one")
    return settings.district


def _new_private_file(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise LinkmendError(f"{path}: {error.strerror}") from error
