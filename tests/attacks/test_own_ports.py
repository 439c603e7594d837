"""Nobody reaches linkmend's own ports through the proxy, at any address of this machine.

The settings are the most permissive ones: all of loopback may be reached, for a wiki on the same machine, and the
admin server listens on all addresses.
"""

import contextlib
import json
import os
import re
import socket
import urllib.parse
from pathlib import Path

import pytest

from tests.attacks.attackers import connection_to, read_until, send_raw
from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import free_port, serving

PASSWORD = "correct horse battery"


def lan_address():
    """An address of this machine that is not loopback; loopback's where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.254", 9))
        return probe.getsockname()[0]
    return "127.0.0.1"


HOSTS = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "127.1",
    "2130706434",
    "0x7f.0.0.3",
    "0.0.0.0",
    "localhost",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:2]",
    "own.test",
    "mapped.test",
    lan_address(),
]


@pytest.fixture(scope="module")
def wiki():
    """A service that the admin allows, on all addresses of the machine."""
    with Origin(host="0.0.0.0") as running:
        running.pages["/"] = reply("<p>the wiki</p>")
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ports")
    names = folder / "names.json"
    names.write_text(json.dumps({"own.test": ["127.0.0.7"], "mapped.test": ["::ffff:127.0.0.1"]}))
    desk, metrics = free_port(), free_port()
    settings = f"""
[proxy]
reach = ["127.0.0.0/8", "::1/128", "0.0.0.0/8", "::/96", "::ffff:0:0/96"]
connect_ports = ["1-65535"]
[desk]
listen = "0.0.0.0:{desk}"
[metrics]
listen = "127.0.0.1:{metrics}"
"""
    with serving(folder / "data", settings=settings, names=names) as proxy:
        proxy.desk, proxy.metrics = desk, metrics
        yield proxy


def refused(answer):
    return answer.status == 403 and "destination_ip_prohibited" in answer.headers.get("Proxy-Status", "")


def tunnelled(running, host, port, said):
    """What comes back through a tunnel; empty when there is none, or nothing comes."""
    with connection_to(running, timeout_s=5) as connection:
        connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        if b" 200 " not in read_until(connection, b"\r\n\r\n"):
            return b""
        connection.sendall(said)
        return read_until(connection)


def sockets_of(pid):
    """The inodes of a process's sockets."""
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(file))
                if found:
                    yield found[1]


def listening_ports(running):
    """Every TCP port that any process of a linkmend listens on."""
    inodes = {inode for pid in running.pids() for inode in sockets_of(pid)}
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


@pytest.mark.parametrize("host", HOSTS)
def test_admin_port_is_unreachable_at_every_local_address(running, wiki, alice, host):
    assert alice.get(f"http://{host}:{wiki.port}/").text == "<p>the wiki</p>"
    told = alice.get(f"http://{host}:{running.desk}/admin/login")
    assert refused(told), (told.status, told.text[:200])


@pytest.mark.parametrize("host", ["127.0.0.2", "0.0.0.0", "own.test", lan_address()])
def test_no_tunnel_reaches_the_admin_port(running, wiki, host):
    said = "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert b"the wiki" in tunnelled(running, host, wiki.port, said.format("/").encode())
    told = tunnelled(running, host, running.desk, said.format("/admin/login").encode())
    assert b"password" not in told.lower()
    assert not told.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("host", ["127.0.0.2", "own.test"])
def test_no_web_socket_or_raw_tunnel_reaches_the_admin_port(running, host):
    lines = (
        f"GET http://{host}:{running.desk}/admin/live HTTP/1.1",
        f"Host: {host}:{running.desk}",
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    assert send_raw(running, "\r\n".join((*lines, "", "")).encode()).startswith(b"HTTP/1.1 403 ")
    # Not HTTP at first, so mitmproxy forwards the bytes unchanged.
    assert b"password" not in tunnelled(
        running, host, running.desk, b"\r\n\r\nGET /admin/login HTTP/1.0\r\n\r\n"
    )


def test_every_port_of_linkmend_is_unreachable_through_the_proxy(running, wiki, alice):
    """Also the internal port from which stored bodies are read. The desk answers the proxy on no port."""
    ports = listening_ports(running)
    assert {running.port, running.desk, running.metrics} < ports
    assert alice.get(f"http://127.0.0.1:{wiki.port}/").status == 200
    for port in ports - {running.port}:
        for host in ("127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "own.test"):
            assert alice.get(f"http://{host}:{port}/").status == 403, (host, port)
    for host in ("127.0.0.2", "localhost", "own.test", "0.0.0.0"):
        assert alice.get(f"http://{host}:{running.port}/").status == 403, host


def test_chained_linkmend_does_not_reach_the_first_ones_ports(running, wiki, tmp_path):
    parent = f'[proxy]\nreach = ["127.0.0.0/8"]\nparent = "http://127.0.0.1:{running.port}"\n'
    settings = f"{parent}[desk]\nenabled = false\n"
    with serving(tmp_path / "data", settings=settings) as first:
        client = Client(first.url)
        assert client.get(f"http://127.0.0.2:{wiki.port}/").text == "<p>the wiki</p>"
        for host in ("127.0.0.1", "127.0.0.2", "localhost"):
            for port in (running.desk, running.metrics, running.port, first.port):
                assert client.get(f"http://{host}:{port}/").status == 403, (host, port)


def test_local_client_cannot_set_the_first_password_without_the_code(running):
    """As by a proxy or tunnel that runs on this machine. The control is the setup code from the log."""
    direct = Client("")
    login = f"http://127.0.0.1:{running.desk}/admin/login"
    assert 'name="code"' in direct.get(login).text
    code = re.search(r"set-up code (\S+)", running.output)[1]
    assert set_password(running, code="AAAAA-AAAAA") == 403
    assert set_password(running) == 403
    assert set_password(running, code=code) == 303


def set_password(running, **fields):
    place = f"127.0.0.1:{running.desk}"
    form = urllib.parse.urlencode({"password": PASSWORD, "again": PASSWORD, **fields})
    lines = (
        "POST /admin/first-password HTTP/1.1",
        *(f"Host: {place}", f"Origin: http://{place}", "Connection: close"),
        *("Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(form)}"),
    )
    with socket.create_connection(("127.0.0.1", running.desk), timeout=10) as connection:
        connection.sendall("\r\n".join((*lines, "", form)).encode())
        return int(read_until(connection).split(b" ", 2)[1])
