"""Pipelined requests: each is answered, in order, on the fast and the slow path."""

import random
import re
import socket
import ssl

import pytest

from tests.attacks.attackers import read_until, send_raw
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import serving

NUMBERS = range(40)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A plain and a secure site with pages that may be stored and pages that may not."""
    pem, context = certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")
    with Origin() as plain, Origin(tls=context) as secure:
        for site in (plain, secure):
            for number in NUMBERS:
                site.pages[f"/stored/{number}"] = reply(f"[stored {number}]", Cache_Control="max-age=600")
                site.pages[f"/fetched/{number}"] = reply(f"[fetched {number}]", Cache_Control="no-store")
        secure.pem = pem
        yield plain, secure


@pytest.fixture(scope="module")
def running(tmp_path_factory, sites):
    """Two workers."""
    settings = f'[proxy]\ntrusted_ca = "{sites[1].pem}"\n'
    data = tmp_path_factory.mktemp("pipelining") / "data"
    with serving(data, settings=settings, also={"LINKMEND_PROXY_WORKERS": "2"}) as proxy:
        yield proxy


def requests_for(names, site, base):
    return b"".join(
        f"GET {base}/{name.replace(' ', '/')} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode()
        for name in names
    )


def answers(connection, count):
    """The names of the received pages, until there are `count` of them or nothing more comes."""
    got = b""
    while got.count(b"]") < count and (more := read_until(connection, b"]")):
        got += more
    return re.findall(r"\[(.*?)\]", got.decode("latin-1"))


def secure_connection(running, site):
    plain = socket.create_connection(("127.0.0.1", running.port), timeout=15)
    plain.sendall(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
    assert b" 200 " in read_until(plain, b"\r\n\r\n")
    context = ssl.create_default_context(cafile=running.ca)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def connected(running, site):
    if site.tls:
        return secure_connection(running, site)
    return socket.create_connection(("127.0.0.1", running.port), timeout=15)


@pytest.mark.parametrize("which", [0, 1], ids=["http", "https"])
@pytest.mark.parametrize("seed", range(4))
def test_every_pipelined_request_is_answered_in_order(running, sites, which, seed):
    site, choose = sites[which], random.Random(seed)
    base = "" if site.tls else site.url
    names = [
        f"{choose.choice(('stored', 'fetched'))} {choose.choice(NUMBERS)}"
        for _ in range(choose.randint(2, 20))
    ]
    names *= 2  # for an address known not to be stored, there is no lookup to wait for
    data = requests_for(names, site, base)
    cuts = sorted(choose.sample(range(1, len(data)), choose.randint(0, 5)))
    with connected(running, site) as connection:
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            connection.sendall(data[begin:end])
        assert answers(connection, len(names)) == names


def test_hundreds_of_pipelined_requests_are_all_answered(running, sites):
    """Each was read within the one before, until the stack overflowed."""
    site = sites[0]
    names = [f"stored {number % 3}" for number in range(400)]
    with connected(running, site) as connection:
        connection.sendall(requests_for(names[:3], site, site.url))
        assert answers(connection, 3) == names[:3]
        connection.sendall(requests_for(names, site, site.url))
        assert answers(connection, len(names)) == names


def test_request_pipelined_after_expect_100_continue_is_separate(running, sites):
    """Found by the fuzzer: the second replaced the first."""
    site = sites[0]
    one, other = (requests_for([name], site, site.url) for name in ("fetched 1", "fetched 2"))
    waiting = one.removesuffix(b"\r\n") + b"Expect: 100-continue\r\n\r\n"
    with connected(running, site) as connection:
        connection.sendall(waiting + other)
        assert answers(connection, 2) == ["fetched 1", "fetched 2"]


def test_empty_lines_between_requests_are_ignored(running, sites):
    site = sites[0]
    one, other = (requests_for([name], site, site.url) for name in ("fetched 1", "fetched 2"))
    with connected(running, site) as connection:
        connection.sendall(one + b"\r\n\r\n" + other)
        assert answers(connection, 2) == ["fetched 1", "fetched 2"]


def test_request_in_small_pieces_is_recognised_in_a_tunnel(running, sites):
    """mitmproxy did not recognise it as HTTP, and passed the tunnel through without applying any rule."""
    site = sites[1]
    for first in (1, 2, 3):
        with connected(running, site) as connection:
            data = requests_for(["fetched 5"], site, "")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(data[:first])
            site.asked.clear()
            send_raw(running, b"GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n", timeout_s=0.2)  # a moment later
            connection.sendall(data[first:])
            assert b"Via: 1.1 linkmend" in read_until(connection, b"[fetched 5]")
