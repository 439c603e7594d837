"""`linkmend users`: accounts and class codes, managed on the machine itself; the running proxy knows them at once."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from proxy.admin.auditlog import AUDIT_FILE, AuditLog
from proxy.admin.auth.passwords import (
    CODE_DAYS,
    FILE,
    MAX_CODE_DAYS,
    Passwords,
    new_password,
    password_problem,
)
from proxy.admin.roles import Role
from proxy.cli.options import Data, Json, data_from, print_json, print_line
from proxy.errors import LinkmendError

users = typer.Typer(
    help="Manage the accounts of teachers, reviewers and admins, and class codes.", no_args_is_help=True
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the account, such as a person or a class.")
]


@users.command()
def add(
    name: Name,
    role: Annotated[Role, typer.Option(help="What the account may do.")] = Role.TEACHER,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the password from the first line of standard input.")
    ] = False,
    data: Data = None,
) -> None:
    """Create an account and print its password, or give an existing account a new one."""
    password = sys.stdin.readline().rstrip("\r\n") if stdin else new_password()
    if fault := password_problem(password, password):
        raise LinkmendError(fault)
    _passwords(data).set_account(name, role, password)
    _note(data, "users add", f"{name} ({role})")
    print_line("Account created." if stdin else password)


@users.command()
def code(
    name: Name,
    days: Annotated[
        int, typer.Option(min=1, max=MAX_CODE_DAYS, help="How many days the code is valid.")
    ] = CODE_DAYS,
    data: Data = None,
) -> None:
    """Create a class code, with which the teachers of a class log in, and print it."""
    made = _passwords(data).new_code(name, ends_at=datetime.now(UTC) + timedelta(days=days))
    _note(data, "users code", name)
    print_line(made)


@users.command()
def remove(name: Name, data: Data = None) -> None:
    """Remove an account or a class code; its sessions end."""
    if not _passwords(data).remove_account(name):
        raise LinkmendError(f"no such account: {name!r}")
    _note(data, "users remove", name)


@users.command("list")
def list_(data: Data = None, as_json: Json = False) -> None:
    """List accounts with role and creation date; passwords and codes are not kept."""
    for each in _passwords(data).load().accounts:
        until = f", until {each.ends_at:%Y-%m-%d}" if each.ends_at else ""
        if as_json:
            known = {"name": each.name, "role": each.role, "made_at": each.made_at, "ends_at": each.ends_at}
            print_json({**known, "code": bool(each.code)})
        else:
            kind = f"class code {each.code}-…" if each.code else "password"
            print_line(f"{each.made_at:%Y-%m-%d}  {each.role:8}  {each.name}  ({kind}{until})")


@users.command()
def log(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many entries to show.")] = 50,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Show the audit log: logins, and who changed what, the latest first."""
    for entry in AuditLog(data_from(data) / AUDIT_FILE).recent(limit):
        if as_json:
            print_json({name: getattr(entry, name) for name in entry.__struct_fields__})
        else:
            what = " ".join(filter(None, (entry.action, entry.about, str(entry.status or ""))))
            print_line(f"{entry.at.astimezone():%Y-%m-%d %H:%M:%S}  {entry.who or 'unknown'}  {what}")


def _passwords(data: Data) -> Passwords:
    return Passwords(data_from(data) / FILE)


def _note(data: Data, action: str, about: str) -> None:
    AuditLog(data_from(data) / AUDIT_FILE).note(action, who="terminal", about=about)
