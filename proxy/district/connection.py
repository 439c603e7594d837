"""Connections to the district's PostgreSQL: to whichever of its servers takes writes, encrypted, bounded in time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo

from proxy.errors import DistrictUnavailable, SettingsError
from proxy.settings import DistrictSettings

SCHEMA = "linkmend"
OVER_QUOTA = "LM001"
"""The error code with which the database refuses a school that has written its share."""
_LIMITS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "linkmend",
    "client_encoding": "utf8",
}
_SESSION = (
    "SELECT set_config('search_path', 'linkmend, pg_temp', false), set_config('statement_timeout', '30s', false),"
    " set_config('lock_timeout', '10s', false), set_config('idle_in_transaction_session_timeout', '30s', false),"
    " set_config('timezone', 'UTC', false)"
)

DistrictConnection = psycopg.Connection[tuple[Any, ...]]


def connection_text(settings: DistrictSettings, *, read_only: bool = False) -> str:
    """What libpq needs to connect, password included: not for logs. Raises SettingsError."""
    try:
        given: dict[str, Any] = conninfo.conninfo_to_dict(settings.database)
    except psycopg.Error as error:
        # Without what was given: it may have a password in it.
        raise SettingsError(
            "district.database: expected an address such as postgresql://HOST/NAME"
        ) from error
    if "password" in given:
        raise SettingsError(
            "district.database: put the password into a file, district.database_password_file"
        )
    given |= {"user": settings.database_user} if settings.database_user else {}
    try:
        file = settings.database_password_file
        given |= (
            {"password": Path(file).read_text(encoding="utf-8").partition("\n")[0].strip()} if file else {}
        )
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"district.database_password_file: {error}") from error
    # A district has standbys: of several servers the one that takes writes answers. Any may be read.
    attributes = {"target_session_attrs": "any" if read_only else "read-write"}
    return conninfo.make_conninfo("", **(_LIMITS | attributes | _encryption(given, settings.ca_file) | given))


def connect(settings: DistrictSettings, *, read_only: bool = False) -> DistrictConnection:
    """A connection in autocommit mode. It blocks for seconds when no server answers; raises DistrictUnavailable."""
    try:
        connection = psycopg.connect(connection_text(settings, read_only=read_only), autocommit=True)
        try:
            connection.execute(_SESSION)
        except BaseException:
            connection.close()
            raise
    except psycopg.Error as error:
        raise unavailable(error) from error
    return connection


@contextmanager
def connected(settings: DistrictSettings) -> Iterator[DistrictConnection]:
    """A connection for the duration of a block; what PostgreSQL refuses within is a DistrictUnavailable too."""
    connection = connect(settings)
    try:
        yield connection
    except psycopg.Error as error:
        raise unavailable(error) from error
    finally:
        connection.close()


def unavailable(error: psycopg.Error) -> DistrictUnavailable:
    """The error in one line. libpq names servers and users in it, never passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return DistrictUnavailable("; ".join(lines)[:500] or type(error).__name__)


def _encryption(given: dict[str, Any], ca_file: str) -> dict[str, str]:
    """Certificates are checked, unless the database is on this machine or its address says otherwise (sslmode)."""
    hosts = str(given.get("host") or "").split(",")
    if all(host.startswith("/") or host in ("", "localhost", "127.0.0.1", "::1") for host in hosts):
        return {"sslmode": "prefer"}
    return {"sslmode": "verify-full", "sslrootcert": ca_file or "system"}
