"""The engines of a district, each in a process of its own that can be killed, hung and started again."""

import os
import shutil
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from proxy.district.connection import connected
from proxy.district.roles import DistrictLogin, invite_school
from proxy.district.schema import initialise
from tests.integration.postgres import PostgresServer
from tests.integration.processes import Running, eventually, free_port

NODES, CACHES = 3, 2
_COPIED_S = 900.0
_SQUID = """
http_port 127.0.0.1:{port}
http_access allow all
cache_mem 16 MB
pid_filename {folder}/squid.pid
access_log none
cache_log {folder}/cache.log
coredump_dir {folder}
cache_effective_user {user}
shutdown_lifetime 0 seconds
visible_hostname {name}.test
never_direct allow all
{peers}
"""


class Squids:
    """Two caches before the origin, and a front that shares addresses out to them (CARP)."""

    def __init__(self, folder: Path, origin_port: int) -> None:
        self._folder, self._program = folder, shutil.which("squid", path="/usr/sbin:/usr/bin") or "squid"
        self._ports = [free_port() for _ in range(CACHES)]
        self.port = free_port()
        origin = f"cache_peer 127.0.0.1 parent {origin_port} 0 no-query no-digest originserver name=origin"
        self._peers = [origin] * CACHES
        self.caches = [self._start(f"cache{at}", port, origin) for at, port in enumerate(self._ports)]
        carp = "\n".join(
            f"cache_peer 127.0.0.1 parent {port} 0 carp no-query no-digest connect-timeout=1 name=cache{at}"
            for at, port in enumerate(self._ports)
        )
        self.front = self._start("front", self.port, carp)

    def kill(self, at: int) -> None:
        """`kill -9` of a cache."""
        self.caches[at].kill()

    def restart(self, at: int) -> None:
        """Start a killed cache again."""
        self.caches[at] = self._start(f"cache{at}", self._ports[at], self._peers[at])

    def stop(self) -> None:
        """End all of them."""
        for squid in (self.front, *self.caches):
            squid.kill()

    def _start(self, name: str, port: int, peers: str) -> Running:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "squid.pid").unlink(missing_ok=True)
        user = "proxy" if os.getuid() == 0 else os.environ.get("USER", "nobody")
        if os.getuid() == 0:
            shutil.chown(folder, user)
            for parent in folder.parents[: len(folder.parents) - 2]:
                parent.chmod(parent.stat().st_mode | 0o011)
        configuration = folder / "squid.conf"
        configuration.write_text(
            _SQUID.format(port=port, folder=folder, user=user, name=name, peers=peers), encoding="utf-8"
        )
        running = Running([self._program, "-N", "-n", f"linkmend{port}", "-f", configuration])
        running.wait_for_port(port)
        return running


class Database:
    """A primary and its standby; when the primary dies, the standby takes its place."""

    def __init__(self) -> None:
        first = PostgresServer()
        self.settings = first.create_database()
        initialise(self.settings)
        self.servers = [first, PostgresServer(of=first)]
        self.primary = 0
        self._wait_for_standby(first)
        self._rebuilding: Future[None] | None = None
        self._rebuilder = ThreadPoolExecutor(1, thread_name_prefix="standby")

    def invite(self, school: str) -> DistrictLogin:
        """A login for a school."""
        with connected(self.settings) as owner:
            return invite_school(owner, school)

    def fail_over(self) -> None:
        """`kill -9` of the primary; the standby is promoted."""
        self.servers[self.primary].kill()
        self.primary = 1 - self.primary
        self.servers[self.primary].promote()

    def rebuild(self) -> None:
        """Begin to make a new standby in place of the dead primary; on a busy machine that takes minutes."""
        self._rebuilding = self._rebuilder.submit(self._rebuild)

    def has_standby(self) -> bool:
        """Whether the standby is there; raises what went wrong when it was made."""
        if self._rebuilding is not None and not self._rebuilding.done():
            return False
        self.wait_for_standby()
        return True

    def wait_for_standby(self) -> None:
        """Wait until the standby is there; raises what went wrong when it was made."""
        if self._rebuilding is not None:
            self._rebuilding.result(_COPIED_S)

    def _rebuild(self) -> None:
        dead = 1 - self.primary
        self.servers[dead].stop()
        self.servers[dead] = PostgresServer(of=self.servers[self.primary])
        self._wait_for_standby(self.servers[self.primary])

    def rows(self, query: str) -> list[tuple]:
        """What the database says now."""
        with self.servers[self.primary].connect(urlsplit(self.settings.database).path[1:]) as connection:
            return connection.execute(query).fetchall()

    def stop(self) -> None:
        """End both."""
        self._rebuilder.shutdown(wait=True)
        for server in self.servers:
            server.stop()

    def _wait_for_standby(self, primary: PostgresServer) -> None:
        def is_there() -> bool:
            with primary.connect() as connection:
                return bool(connection.execute("SELECT 1 FROM pg_stat_replication").fetchone())

        eventually(is_there, "no standby")


def hang(running: Running, seconds: float) -> None:
    """A process that does nothing for a while, as on a disk that does not answer."""
    os.killpg(running.process.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.killpg(running.process.pid, signal.SIGCONT)
