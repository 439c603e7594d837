"""Proxy loops are detected at once. Nobody can use the detection to keep a page from others."""

import contextlib
import json
import socket
import time

import pytest

from tests.attacks.attackers import connection_to, read_until, send_raw
from tests.integration.client import Client
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import free_port, serving

AT_ONCE_S = 8.0
"""Far below every timeout, and enough for a busy machine."""
FIELD = "linkmend-loop"


@pytest.fixture(scope="module")
def site():
    with Origin() as running:
        running.pages["/page"] = reply("<p>the zebra page</p>", Cache_Control="max-age=600")
        yield running


def settings_of(way, port, *further):
    lines = ("[proxy]", *further, *((f'parent = "http://circle.test:{port}"',) if way == "parent" else ()))
    return "\n".join((*lines, ""))


def mode_of(way, port):
    return ("--mode", f"upstream:http://circle.test:{port}") if way == "upstream" else ()


@contextlib.contextmanager
def circle(folder, ways, *further):
    """Linkmends that each have the next as parent, and the last the first."""
    names = folder / "names.json"
    names.write_text(json.dumps({"circle.test": ["127.0.0.1"]}))
    ports = [free_port() for _ in ways]
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                serving(
                    folder / f"data{number}",
                    *mode_of(way, following),
                    port=port,
                    settings=settings_of(way, following, *further),
                    names=names,
                )
            )
            for number, (way, port, following) in enumerate(
                zip(ways, ports, (*ports[1:], ports[0]), strict=True)
            )
        ]


def found_at_once(answer_of):
    started = time.monotonic()
    told = answer_of()
    assert time.monotonic() - started < AT_ONCE_S
    return told


def assert_found(told):
    assert told.status == 508
    assert "proxy_loop_detected" in told.headers["Proxy-Status"]
    assert "proxy.parent" in told.text
    assert "no-store" in told.headers["Cache-Control"]


def assert_logged(*proxies):
    """One of them says so, maybe a moment after the client has its answer."""
    proxies[0].wait_until(
        lambda: any("a request came back to where it began" in each.output for each in proxies),
        "no proxy logs that a request came back",
        timeout_s=AT_ONCE_S,
    )


@pytest.mark.parametrize(
    "ways", [("parent",), ("upstream",), ("parent", "parent"), ("parent", "upstream")], ids="-".join
)
def test_proxy_loop_is_detected_at_once(tmp_path, site, ways):
    """By a name that resolves to this machine, since mitmproxy and `reach` know the bare address."""
    with circle(tmp_path, ways) as proxies:
        for running in proxies:
            client = Client(running.url)
            for open_url in (client.open_page, client.get):
                assert_found(found_at_once(lambda ask=open_url: ask(f"{site.url}/page")))
        assert_logged(*proxies)
    assert site.asked.total() == 0


@pytest.mark.parametrize("way", ["parent", "upstream"])
def test_loop_of_pass_through_tunnels_is_detected_at_once(tmp_path, way):
    (tmp_path / "passed.txt").write_text("bank.test\n")
    further = (f'pass_through = ["{tmp_path / "passed.txt"}"]', 'parent_https = "connect"')
    with (
        circle(tmp_path, (way, way), *further) as (first, second),
        connection_to(first, timeout_s=2 * AT_ONCE_S) as connection,
    ):
        connection.sendall(b"CONNECT bank.test:443 HTTP/1.1\r\nHost: bank.test:443\r\n\r\n")
        assert b" 200 " in read_until(connection, b"\r\n\r\n")
        connection.sendall(b"\x16\x03\x01\x00\x05hello")
        assert found_at_once(lambda: read_until(connection)) == b""
        assert_logged(first, second)


def test_reverse_mode_targeting_itself_is_detected_at_once(tmp_path):
    port, names = free_port(), tmp_path / "names.json"
    names.write_text(json.dumps({"circle.test": ["127.0.0.1"]}))
    mode = ("--mode", f"reverse:http://circle.test:{port}")
    with serving(tmp_path / "data", *mode, port=port, names=names) as running:
        assert_found(found_at_once(lambda: Client("").get(f"{running.url}/page")))


@pytest.fixture(scope="module")
def row(tmp_path_factory, site):
    """A chain of two, the second of which contacts the site itself."""
    folder = tmp_path_factory.mktemp("row")
    pem, tls = certificate(folder, "127.0.0.1")
    with (
        Origin(tls=tls) as secure,
        serving(folder / "far", settings=f'[proxy]\ntrusted_ca = "{pem}"\n') as far,
        serving(folder / "near", settings=f'[proxy]\nparent = "{far.url}"\n') as near,
    ):
        secure.pages["/page"] = site.pages["/page"]
        yield near, far, secure


def test_proxy_chain_is_not_a_loop_and_sites_see_no_mark(row, site):
    near, far, secure = row
    for url, origin in ((f"{site.url}/page", site), (f"{secure.url}/page", secure)):
        told = Client(near.url, near.ca).open_page(url)
        assert (told.status, told.text) == (200, "<p>the zebra page</p>")
        assert FIELD not in origin.seen[-1].headers
        again = Client(far.url, far.ca).open_page(url)
        assert ";hit" in again.headers["Cache-Status"], "what came marked is stored all the same"


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A linkmend whose parent records what it is sent, as a Squid would forward it to a site."""
    with (
        Origin() as parent,
        serving(
            tmp_path_factory.mktemp("watched") / "data", settings=f'[proxy]\nparent = "{parent.url}"\n'
        ) as running,
    ):
        running.parent = parent
        yield running


def asked_raw(running, url, *lines, source="127.0.1.71"):
    host = url.split("/")[2]
    said = "\r\n".join((f"GET {url} HTTP/1.1", f"Host: {host}", *lines, "Connection: close", "", ""))
    return send_raw(running, said.encode(), source=source)


def test_forged_loop_mark_affects_only_its_sender(watched, path):
    parent, url = watched.parent, f"http://victim.test{path}"
    for each in (url, f"{url}-first", f"http://other.test{path}"):
        parent.pages[each] = reply("<p>the zebra page</p>", Cache_Control="max-age=600")
    asked_raw(watched, f"{url}-first")
    mark = parent.seen[-1].headers[FIELD]
    forged = asked_raw(watched, url, f"Linkmend-Loop: {mark}")
    assert forged.startswith(b"HTTP/1.1 508 ")
    for _ in range(2):
        bob = asked_raw(watched, url, source="127.0.2.72")
        assert bob.startswith(b"HTTP/1.1 200 ")
    assert b";hit" in bob
    assert parent.asked[url] == 1
    assert asked_raw(watched, url, f"Linkmend-Loop: {mark}") == forged
    asked_raw(watched, f"http://other.test{path}")
    assert parent.seen[-1].headers[FIELD] != mark, "two sites could compare"


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("0123456789abcdef", 200),
        ("x" * 500, 200),
        (', ,;="\\', 200),
        (", ".join(["0123456789abcdef"] * 8), 508),
        (", ".join(["0123456789abcdef"] * 500), 508),
    ],
)
def test_invalid_loop_marks_are_harmless(watched, path, value, status):
    parent, url = watched.parent, f"http://victim.test{path}"
    parent.pages[url] = reply("<p>the zebra page</p>", Cache_Control="max-age=600")
    told = asked_raw(watched, url, f"Linkmend-Loop: {value}")
    assert told.startswith(f"HTTP/1.1 {status} ".encode())
    if status == 200:
        marks = parent.seen[-1].headers[FIELD].split(", ")
        assert marks[:-1] == ([value] if value.isalnum() and len(value) == 16 else [])
    for _ in range(2):
        bob = asked_raw(watched, url, source="127.0.2.72")
    assert bob.startswith(b"HTTP/1.1 200 ")
    assert b";hit" in bob


def test_own_address_as_parent_is_detected_at_once(tmp_path):
    port = free_port()
    with serving(
        tmp_path / "data", port=port, settings=f'[proxy]\nparent = "http://127.0.0.1:{port}"\n'
    ) as own:
        assert found_at_once(lambda: Client(own.url).get("http://site.test/")).status in (502, 508)
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
