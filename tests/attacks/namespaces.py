"""A classroom, a router and the internet as network namespaces of this machine, for what real packets have to show.

    client  10.9.0.2, fd09::2  --  eth0 router eth1  --  203.0.113.10 and .11, 2001:db8:9::10 and ::11  internet

A socket belongs to the namespace of the thread that opened it, and stays there. So tests open theirs `inside` one,
and origins run in threads that never leave theirs.
"""

import contextlib
import ctypes
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.origin import Origin
from tests.integration.processes import ROOT

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
ADDRESSES = {4: ("203.0.113.10", "203.0.113.11"), 6: ("2001:db8:9::10", "2001:db8:9::11")}
"""Of the two servers in the internet, by version of IP."""
ROUTER = "10.9.0.1"


@dataclass(frozen=True)
class Networks:
    """The names of the namespaces."""

    client: str
    router: str
    internet: str


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Open the sockets of this block in the namespace."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(namespace)
        yield
    finally:
        _set(before)
        os.close(before)


def enter(namespace: str) -> None:
    """Open the sockets of this thread in the namespace from now on."""
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        _set(there)
    finally:
        os.close(there)


def _set(file: int) -> None:
    if _libc.setns(file, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class OriginInside(Origin):
    """An origin in a namespace."""

    namespace: str = ""

    async def _open(self) -> None:
        enter(self.namespace)  # the origin has a thread of its own
        await super()._open()


def command_in(namespace: str) -> tuple[str, ...]:
    """The prefix of a command that runs there."""
    return ("ip", "netns", "exec", namespace)


def reason_to_skip() -> str:
    """Why there can be no namespaces here; empty when there can."""
    if os.getuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "nft") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    name = _name("try")
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return "" if tried.returncode == 0 else f"no network namespaces here: {tried.stderr.strip()}"


_numbers = itertools.count(1)


def _name(which: str) -> str:
    return f"linkmend-{os.getpid()}-{next(_numbers)}-{which}"


@contextlib.contextmanager
def networks() -> Iterator[Networks]:
    """The three namespaces, with deploy/transparent.nft loaded in the router's; the test is skipped without them."""
    if reason := reason_to_skip():
        pytest.skip(reason)
    made = Networks(_name("client"), _name("router"), _name("internet"))
    names = (made.client, made.router, made.internet)
    try:
        for name in names:
            _run("ip", "netns", "add", name)
            _in(name, "ip", "link", "set", "lo", "up")
        _wire(made.client, "eth0", made.router, "eth0")
        _wire(made.internet, "eth0", made.router, "eth1")
        _give(made.client, "eth0", "10.9.0.2/24", "fd09::2/64")
        _give(made.router, "eth0", f"{ROUTER}/24", "fd09::1/64")
        _give(made.router, "eth1", "203.0.113.1/24", "2001:db8:9::1/64")
        for version in (4, 6):
            length = {4: 24, 6: 64}[version]
            _give(made.internet, "eth0", *(f"{each}/{length}" for each in ADDRESSES[version]))
        for name, four, six in (
            (made.client, ROUTER, "fd09::1"),
            (made.internet, "203.0.113.1", "2001:db8:9::1"),
        ):
            _in(name, "ip", "route", "add", "default", "via", four)
            _in(name, "ip", "-6", "route", "add", "default", "via", six)
        _in(made.router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        _in(made.router, "nft", "-f", ROOT / "deploy" / "transparent.nft")
        yield made
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _wire(one: str, its: str, other: str, others: str) -> None:
    _run("ip", "link", "add", its, "netns", one, "type", "veth", "peer", "name", others, "netns", other)


def _give(namespace: str, device: str, *addresses: str) -> None:
    for address in addresses:
        # Without nodad an IPv6 address cannot be used for a second.
        further = ("nodad",) if ":" in address else ()
        _in(namespace, "ip", "address", "add", address, "dev", device, *further)
    _in(namespace, "ip", "link", "set", device, "up")


def _in(namespace: str, *command: str | Path) -> None:
    _run(*command_in(namespace), *command)


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=20)
