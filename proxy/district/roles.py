"""The logins of a district: one for each school, with that school's rights, and one for each of its admins."""

import re
import secrets
from dataclasses import dataclass

from psycopg import sql

from proxy.district.connection import DistrictConnection
from proxy.district.schema import ADMINS, SCHOOLS
from proxy.errors import LinkmendError

_CONNECTIONS = 8  # of one login at once
_MAX_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrictLogin:
    """User name and password at PostgreSQL."""

    user: str
    password: str


def invite_school(connection: DistrictConnection, name: str) -> DistrictLogin:
    """A login for a school, with a new password; a school that had one keeps its user name and its rows."""
    if not (0 < len(name) <= _MAX_NAME and name.isprintable() and name == name.strip()):
        raise LinkmendError(f"{name!r}: expected up to {_MAX_NAME} printable characters")
    with connection.transaction():
        row = connection.execute("SELECT role, is_district FROM schools WHERE name = %s", (name,)).fetchone()
        if row is not None and row[1]:
            raise LinkmendError(f"{name}: this is the name of the district itself")
        user = str(row[0]) if row and row[0] else _user_for(name)
        login = _login(connection, user, SCHOOLS)
        connection.execute(
            "INSERT INTO schools (name, role) VALUES (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET role = excluded.role, may_write = true",
            (name, user),
        )
    return login


def invite_admin(connection: DistrictConnection, user: str) -> DistrictLogin:
    """A login for an admin of the district, who reads what all schools wrote, and writes for the district."""
    with connection.transaction():
        return _login(connection, user, ADMINS)


def shut_out(connection: DistrictConnection, name: str, *, erase: bool) -> int:
    """End a school's membership: its login goes, and no school reads its rows any more.

    With `erase` its rows go too; returns how many shared ones there were.
    """
    with connection.transaction():
        row = connection.execute(
            "SELECT id, role FROM schools WHERE name = %s AND NOT is_district", (name,)
        ).fetchone()
        if row is None:
            raise LinkmendError(f"{name}: no such school in this district")
        school, role = row
        connection.execute("UPDATE schools SET may_write = false, role = NULL WHERE id = %s", (school,))
        if role:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,)
            )
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
        if not erase:
            return 0
        count = connection.execute("DELETE FROM learnt WHERE school = %s", (school,)).rowcount
        connection.execute("DELETE FROM schools WHERE id = %s", (school,))
    return count


def _login(connection: DistrictConnection, user: str, group: str) -> DistrictLogin:
    """The role, made or changed. Only a verifier is sent: statements may stand in the server's log."""
    password = secrets.token_urlsafe(24)
    verifier = connection.pgconn.encrypt_password(password.encode(), user.encode(), b"scram-sha-256").decode()
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone()
    connection.execute(
        sql.SQL("{} ROLE {} LOGIN INHERIT CONNECTION LIMIT {} PASSWORD {}").format(
            sql.SQL("ALTER" if known else "CREATE"), sql.Identifier(user), _CONNECTIONS, sql.Literal(verifier)
        )
    )
    connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(user)))
    return DistrictLogin(user=user, password=password)


def _user_for(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:30]
    return f"linkmend_{plain or 'school'}_{secrets.token_hex(3)}"
