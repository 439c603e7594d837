"""A real PostgreSQL on loopback: a primary, and standbys made from it by pg_basebackup, each in its own folder.

PostgreSQL refuses to run as root; then it runs as the user `nobody`.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psycopg

from proxy.settings import DistrictSettings
from tests.integration.processes import Running, eventually, free_port

_SUPERUSER = "postgres"
_COMMAND_S = 600.0  # to copy a primary takes minutes where others keep the disk busy
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = replica
max_wal_senders = 8
hot_standby = on
wal_keep_size = 64MB
shared_buffers = 32MB
max_connections = 60
# A power cut is not what these tests are about: kill -9 loses nothing without it either.
fsync = off
password_encryption = scram-sha-256
"""
_ACCESS = "local all all trust\nhost all all 127.0.0.1/32 {method}\nhost replication all 127.0.0.1/32 trust\n"


class NoPostgres(Exception):
    """The programs of PostgreSQL are not installed."""


def programs() -> Path:
    """The folder with initdb, postgres and the others; Debian keeps it out of the PATH."""
    for folder in (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/bin")):
        if (folder / "initdb").is_file():
            return folder
    raise NoPostgres("postgresql is not installed")


class PostgresServer:
    """One server: a primary, or a standby `of` another."""

    def __init__(self, *, of: "PostgresServer | None" = None) -> None:
        self._programs = programs()
        # Not pytest's own folders, which only their owner may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="linkmend-postgres-"))
        self.port = free_port()
        self._databases = itertools.count()
        self._data = self.folder / "data"
        _own(self.folder)
        try:
            self._initialise() if of is None else self._copy(of)
            self.process = self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _initialise(self) -> None:
        self._run(
            "initdb", "-D", self._data, "-U", _SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-locale", "-N"
        )
        (self._data / "postgresql.auto.conf").write_text(_SETTINGS, encoding="utf-8")
        # The superuser of the tests needs no password; schools do.
        access = f"host all {_SUPERUSER} 127.0.0.1/32 trust\n" + _ACCESS.format(method="scram-sha-256")
        (self._data / "pg_hba.conf").write_text(access, encoding="utf-8")

    def _copy(self, of: "PostgresServer") -> None:
        source = ("-h", "127.0.0.1", "-p", str(of.port), "-U", _SUPERUSER)
        self._run("pg_basebackup", *source, "-D", self._data, "-R", "-X", "stream", "-c", "fast")

    def _start(self) -> Running:
        command = _as_nobody(self._programs / "postgres", "-D", self._data, "-p", str(self.port))
        process = Running(command, env={})
        process.wait_for_line("ready to accept")
        return process

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = _as_nobody(self._programs / program, *arguments)
        subprocess.run(command, check=True, capture_output=True, timeout=_COMMAND_S, cwd="/")

    def settings(
        self, database: str = "linkmend", *, standbys: Sequence["PostgresServer"] = ()
    ) -> DistrictSettings:
        """How the owner of a database connects, to whichever of the servers takes writes."""
        servers = ",".join(f"127.0.0.1:{server.port}" for server in (self, *standbys))
        return DistrictSettings(database=f"postgresql://{servers}/{database}", database_user=_SUPERUSER)

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        """A connection of the superuser, in autocommit mode, to this server alone."""
        return psycopg.connect(
            f"host=127.0.0.1 port={self.port} user={_SUPERUSER} dbname={database}", autocommit=True
        )

    def create_database(self) -> DistrictSettings:
        """Another empty database, and how its owner connects."""
        name = f"linkmend{next(self._databases)}"
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.settings(name)

    def kill(self) -> None:
        """`kill -9` of the server with all its processes, each of which leads a group of its own."""
        first = self.process.process.pid
        for pid in (first, *_children(first)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.stop(signal.SIGKILL)

    def restart(self) -> None:
        """Start a killed server again, on the same port, with its data."""
        self.process = self._start()

    def use_tls(self, certificate: Path, key: Path) -> None:
        """Start again with a certificate; logins come encrypted or not at all."""
        for name, file in (("server.crt", certificate), ("server.key", key)):
            shutil.copy(file, self._data / name)
            (self._data / name).chmod(0o600)
            _own(self._data / name)
        with (self._data / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
            settings.write("ssl = on\n")
        (self._data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n", encoding="utf-8")
        self.kill()
        self.restart()

    def promote(self) -> None:
        """Make a standby the primary."""
        with self.connect() as connection:
            connection.execute("SELECT pg_promote()")

    def wait_until_caught_up(self, primary: "PostgresServer") -> None:
        """Wait until this standby has all that the primary has written."""
        with primary.connect() as connection:
            (written,) = connection.execute("SELECT pg_current_wal_lsn()").fetchone()

        def has_it() -> bool:
            with self.connect() as connection:
                query = "SELECT coalesce(pg_last_wal_replay_lsn() >= %s::pg_lsn, false)"
                return connection.execute(query, (written,)).fetchone()[0]

        eventually(has_it, "the standby does not catch up")

    def stop(self) -> None:
        """End the server, and delete its data."""
        self.process.stop(signal.SIGQUIT)  # at once
        shutil.rmtree(self.folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in found.split()]


def _own(folder: Path) -> None:
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)


def _as_nobody(*command: str | Path) -> list[str]:
    before = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    return [*before, *map(str, command)]
