"""`linkmend desk`: the admin's password and API tokens, managed on the machine itself."""

import getpass
import sys
from typing import Annotated

import typer

from proxy.admin.auth.passwords import FILE, Passwords, password_problem
from proxy.admin.auth.scopes import TokenScope
from proxy.cli.options import Data, Json, data_from, print_json, print_line
from proxy.errors import LinkmendError

desk = typer.Typer(help="Manage the desk's password and API tokens.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the token, such as the program that uses it.")
]


@desk.command()
def password(data: Data = None) -> None:
    """Set the desk's password. Prompts on a terminal, else reads the first line of standard input.

    Logs everyone out. Takes effect at once, also in a running proxy.
    """
    if sys.stdin.isatty():
        given, again = getpass.getpass("New password: "), getpass.getpass("Repeat password: ")
    else:
        given = again = sys.stdin.readline().rstrip("\r\n")
    fault = password_problem(given, again)
    if fault:
        raise LinkmendError(fault)
    _passwords(data).set_password(given)
    print_line("Password set.")


@desk.command()
def token(
    name: Name,
    scope: Annotated[
        list[TokenScope] | None,
        typer.Option("--scope", help="What the token may do; repeat for several scopes. Default: read."),
    ] = None,
    data: Data = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove this token.")] = False,
) -> None:
    """Create an API token for a program. The token is printed only once."""
    if not remove:
        print_line(_passwords(data).new_token(name, [str(each) for each in scope or [TokenScope.READ]]))
    elif not _passwords(data).remove_token(name):
        raise LinkmendError(f"no such token: {name!r}")


@desk.command()
def tokens(data: Data = None, as_json: Json = False) -> None:
    """List tokens with creation date and scopes."""
    for each in _passwords(data).load().tokens:
        if as_json:
            print_json({"name": each.name, "made_at": each.made_at, "scopes": each.scopes})
        else:
            print_line(f"{each.made_at:%Y-%m-%d %H:%M}  {each.name}  ({', '.join(each.scopes)})")


def _passwords(data: Data) -> Passwords:
    return Passwords(data_from(data) / FILE)
