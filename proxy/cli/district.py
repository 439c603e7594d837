"""`linkmend district`: the database through which the schools of a district share what they learn."""

import os
from pathlib import Path
from typing import Annotated

import typer

from proxy import logs
from proxy.cli.options import Config, print_line, settings_from
from proxy.errors import LinkmendError, SettingsError
from proxy.settings import DistrictSettings

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
