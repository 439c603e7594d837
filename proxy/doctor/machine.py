"""The machine: Python, clock, disk, memory, and the ports that linkmend listens on."""

import errno
import os
import socket
import sys
import time
from importlib import metadata
from pathlib import Path

from proxy.doctor.model import Finding, Installation, fail, ok, warn
from proxy.pages.desktexts import tr
from proxy.settings import Settings, split_address
from proxy.store.reserve import FULL_BYTES, free_bytes

_OLDEST_PYTHON = (3, 11)
_RELEASED_AT = 1_790_000_000  # September 2026: no clock that is right shows less
_LITTLE_DISK = 2 * 1000**3
_LITTLE_MEMORY = 400 * 1000**2
_SKEW_S = 3_600.0
_MEMORY = Path("/proc/meminfo")


async def check_python(_: Installation) -> list[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST_PYTHON:
        return [fail("python", f"Python {version}", "install Python 3.11 or newer")]
    return [ok("python", f"Python {version}, mitmproxy {metadata.version('mitmproxy')}")]


async def check_clock(installation: Installation) -> list[Finding]:
    now = time.time()
    shown = time.strftime("%Y-%m-%d %H:%M %Z")
    advice = tr("set the clock (timedatectl); with a wrong one, certificates and fresh pages seem expired")
    if now < _RELEASED_AT:
        return [fail("clock", tr("{time} is before this version was made", time=shown), advice)]
    newest = max(map(_changed_at, installation.data.glob("*/*.sqlite")), default=0.0)
    if newest > now + _SKEW_S:
        return [
            fail(
                "clock",
                tr("{time}, but files in {folder} are newer", time=shown, folder=str(installation.data)),
                advice,
            )
        ]
    return [ok("clock", shown)]


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


async def check_disk(installation: Installation) -> list[Finding]:
    folder = next(each for each in (installation.data, *installation.data.parents) if each.is_dir())
    free = free_bytes(folder)
    gigabytes, folder_name = f"{free / 1000**3:.1f}", str(installation.data)
    found = tr("{gigabytes} GB free for {folder}", gigabytes=gigabytes, folder=folder_name)
    advice = tr("free some space, or make cache.max_bytes smaller")
    if free < FULL_BYTES:
        return [
            fail(
                "disk",
                tr(
                    "{gigabytes} GB free for {folder}: it is full, and nothing new is saved",
                    gigabytes=gigabytes,
                    folder=folder_name,
                ),
                advice,
            )
        ]
    return [warn("disk", found, advice)] if free < _LITTLE_DISK else [ok("disk", found)]


async def check_memory(_: Installation) -> list[Finding]:
    available = _available_memory(_MEMORY)
    if available is None:
        return []
    found = tr("{megabytes} MB available", megabytes=f"{available / 1000**2:.0f}")
    if available >= _LITTLE_MEMORY:
        return [ok("memory", found)]
    return [
        warn("memory", found, tr("linkmend needs some 250 MB; set proxy.workers = 1, or end other programs"))
    ]


def _available_memory(file: Path) -> int | None:
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


async def check_ports(installation: Installation) -> list[Finding]:
    return [
        check_port(key, address, running=installation.running)
        for key, address in listening_on(installation.settings).items()
    ]


def listening_on(settings: Settings) -> dict[str, str]:
    """The settings that name an address to listen on, with the address, for all parts that are switched on."""
    return {
        "proxy.listen": settings.proxy.listen,
        **({"desk.listen": settings.desk.listen} if settings.desk.enabled else {}),
        **({"metrics.listen": settings.metrics.listen} if settings.metrics.enabled else {}),
    }


def check_port(key: str, address: str, *, running: bool) -> Finding:
    """Whether somebody answers at the address of a running linkmend, or another could listen there."""
    host, port = split_address(address, key=key)
    if running and port == 0:
        return ok("ports", f"{key}: on a port that the system chose; linkmend's first lines name it")
    if running:
        reached = host if host not in ("", "0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
        try:
            socket.create_connection((reached, port), timeout=5).close()
        except OSError as error:
            return fail("ports", f"{key}: nobody answers at {address} ({error})", "look into linkmend's log")
        return ok("ports", f"{key}: {address} answers")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            return fail(
                "ports", f"{key}: cannot listen on {address}: {os.strerror(error.errno or 0)}", _advice(error)
            )
    return ok("ports", f"{key}: {address} is free")


def _advice(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program has this port: end it (`ss -ltnp` names it), or choose another port"
    if error.errno == errno.EACCES:
        return "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose a higher port"
    return "the address must be one of this machine's; 0.0.0.0 stands for all of them"
