"""A real Squid on loopback, with its own folder, so that several can run at once."""

import os
import shutil
from pathlib import Path

from tests.integration.processes import Running, free_port

_CONFIGURATION = """
http_port 127.0.0.1:{port}
acl all_loopback src 127.0.0.0/8
http_access allow all_loopback
http_access deny all
cache_mem 16 MB
pid_filename {folder}/squid.pid
{log}
cache_log {folder}/cache.log
coredump_dir {folder}
cache_effective_user {user}
read_timeout 3 seconds
connect_timeout 3 seconds
request_timeout 10 seconds
connect_retries 0
dns_timeout 2 seconds
shutdown_lifetime 0 seconds
tls_outgoing_options cafile={trusted}
visible_hostname squid.test
"""
_LOG = "logformat further {format}\naccess_log stdio:{folder}/access.log logformat=further"


class Squid(Running):
    """`squid -N` in the foreground; `trusted` is the PEM file of an origin's certificate."""

    def __init__(
        self,
        program: str,
        folder: Path,
        *,
        trusted: Path | None = None,
        port: int | None = None,
        log_format: str = "",
    ) -> None:
        """With `log_format` it notes every request in `access.log`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.port = port or free_port()
        user = "proxy" if os.getuid() == 0 else os.environ.get("USER", "nobody")
        if os.getuid() == 0:
            _open_to(user, folder)
        configuration = folder / "squid.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                port=self.port,
                folder=folder,
                user=user,
                log=_LOG.format(format=log_format, folder=folder) if log_format else "access_log none",
                trusted=trusted or "/etc/ssl/certs/ca-certificates.crt",
            ),
            encoding="utf-8",
        )
        super().__init__([program, "-N", "-n", f"linkmend{self.port}", "-f", configuration])
        self.wait_for_port(self.port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def _open_to(user: str, folder: Path) -> None:
    """Squid drops root's rights at once, and pytest's folders are private to root."""
    shutil.chown(folder, user)
    for parent in folder.parents:
        if parent.stat().st_uid == os.getuid() and parent not in (Path("/"), Path("/tmp")):
            parent.chmod(parent.stat().st_mode | 0o011)
