"""Slow clients are disconnected, on every request of a connection; those that wait for a site are not."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time

import pytest

from tests.attacks.attackers import read_until
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import serving

SETTINGS = """
[proxy]
request_timeout_s = 2.0
keep_alive_s = 4.0
first_byte_timeout_s = 1.0
http2 = true
"""


@pytest.fixture(scope="module")
def secure_site(tmp_path_factory):
    pem, context = certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")
    with Origin(tls=context) as running:
        running.pem = pem
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, secure_site):
    settings = f'{SETTINGS}trusted_ca = "{secure_site.pem}"\n'
    with serving(tmp_path_factory.mktemp("slow") / "data", settings=settings) as proxy:
        yield proxy


@pytest.fixture(params=["http", "https"])
def used(request, running, site, secure_site):
    """A connection with one request on it, its site, and how a path is written on it."""
    here = secure_site if request.param == "https" else site
    for each in ("/stored", "/next"):
        here.pages[each] = reply("[hello]", Cache_Control="max-age=600")
    connection = socket.create_connection(("127.0.0.1", running.port), timeout=60)
    if here.tls:
        place = f"127.0.0.1:{here.port}"
        connection.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert b" 200 " in read_until(connection, b"\r\n\r\n")
        context = ssl.create_default_context(cafile=running.ca)
        connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
    base = "" if here.tls else here.url
    with connection:
        for _ in range(2):  # the second is answered out of memory, before there is a flow
            ask(connection, here, base, "/stored")
            assert b"[hello]" in read_until(connection, b"[hello]")
        yield connection, here, base


def ask(connection, here, base, path, *, method="GET", more=""):
    head = f"{method} {base}{path} HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n{more}\r\n"
    connection.sendall(head.encode())


@contextlib.contextmanager
def dripping(connection, piece=b"X"):
    """Send a byte four times a second for the duration of a block, or of the connection."""
    over = threading.Event()

    def drip():
        with contextlib.suppress(OSError):
            while not over.wait(0.25):
                connection.send(piece)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def ends(connection):
    """Whether the proxy closes the connection without a response; fails when it does not within a minute."""
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_slow_headers_time_out_on_later_requests_too(used):
    connection, here, base = used
    connection.sendall(f"GET {base}/next HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nX-Slow: ".encode())
    with dripping(connection):
        assert ends(connection)
    assert here.asked["/next"] == 0


def test_slow_upload_times_out(used):
    connection, here, base = used
    here.pages["/upload"] = reply("[taken]")
    ask(connection, here, base, "/upload", method="POST", more="Content-Length: 6\r\n")
    connection.sendall(b"123456")
    assert b"[taken]" in read_until(connection, b"[taken]")
    ask(connection, here, base, "/upload", method="POST", more="Content-Length: 60000\r\n")
    with dripping(connection):
        assert ends(connection)


def test_idle_connection_is_closed(used):
    assert ends(used[0])


def test_long_poll_is_not_timed_out(used):
    """Longer than the limits of headers, idle time and the first byte of a page; a page that takes as long times
    out.
    """
    connection, here, base = used

    async def poll(exchange):
        await asyncio.sleep(7)
        await exchange.send(reply("[news]", Cache_Control="no-store"))

    here.pages["/poll"] = here.pages["/page"] = poll
    ask(
        connection,
        here,
        base,
        "/poll",
        more="Sec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nAccept: */*\r\n",
    )
    assert b"[news]" in read_until(connection, b"[news]")
    ask(connection, here, base, "/page", more="Accept: text/html\r\n")
    assert read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 504 ")


def test_http2_connection_without_a_request_is_closed(running, secure_site):
    place = f"127.0.0.1:{secure_site.port}"
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as plain:
        plain.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert b" 200 " in read_until(plain, b"\r\n\r\n")
        context = ssl.create_default_context(cafile=running.ca)
        context.set_alpn_protocols(["h2"])
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            assert connection.selected_alpn_protocol() == "h2"
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            assert connection.recv(9)  # it speaks HTTP/2
            ping = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"8 bytes."
            patient_until = time.monotonic() + 40
            with dripping(connection, ping), contextlib.suppress(OSError):
                while connection.recv(1000) and time.monotonic() < patient_until:
                    pass
            assert time.monotonic() < patient_until
