"""`linkmend desk`: the way into the admin's desk, for whoever sits at the machine."""

import getpass
import sys
from typing import Annotated

import typer

from proxy.commands.options import Data, Json, data_from, print_json, print_line
from proxy.desk.passwords import FILE, Passwords, complaint
from proxy.desk.scopes import Scope
from proxy.errors import LinkmendError

desk = typer.Typer(help="The password of the admin's desk, and tokens for programs.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")]


@desk.command()
def password(data: Data = None) -> None:
    """Set the password of the desk: asked for on a terminal, else the first line of standard input.

    Whoever is logged in is logged out. It counts at once, also for a proxy that is running.
    """
    if sys.stdin.isatty():
        given, again = getpass.getpass("New password: "), getpass.getpass("The same again: ")
    else:
        given = again = sys.stdin.readline().rstrip("\r\n")
    fault = complaint(given, again)
    if fault:
        raise LinkmendError(fault)
    _passwords(data).set_password(given)
    print_line("The password is set.")


@desk.command()
def token(
    name: Name,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            "--scope", help="What it may do; give it several times for several. Read, if not given."
        ),
    ] = None,
    data: Data = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the token of this name.")] = False,
) -> None:
    """Make a token with which a program may use the desk's API; it is printed this once."""
    if not remove:
        print_line(_passwords(data).new_token(name, [str(each) for each in scope or [Scope.READ]]))
    elif not _passwords(data).remove_token(name):
        raise LinkmendError(f"there is no token {name!r}")


@desk.command()
def tokens(data: Data = None, as_json: Json = False) -> None:
    """The names of the tokens, when they were made, and what they may do."""
    for each in _passwords(data).kept().tokens:
        if as_json:
            print_json({"name": each.name, "made_at": each.made_at, "scopes": each.scopes})
        else:
            print_line(f"{each.made_at:%Y-%m-%d %H:%M}  {each.name}  ({', '.join(each.scopes)})")


def _passwords(data: Data) -> Passwords:
    return Passwords(data_from(data) / FILE)
