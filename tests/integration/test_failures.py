"""Every failure of a site becomes a repair page: http and https, direct and behind Squid."""

import asyncio
import json
import socket
import threading
import urllib.request

import pytest

from tests.integration.client import Client
from tests.integration.origin import Origin, babble, certificate, close, cut, hang, reply
from tests.integration.processes import free_port

QUICK = "[proxy]\nconnect_timeout_s = 1.0\nfirst_byte_timeout_s = 1.0\nidle_timeout_s = 1.0\n"

BEHAVIOURS = {
    "/missing": (reply("gone", status="404 Not Found"), 404, "not_found"),
    "/removed": (reply("gone", status="410 Gone"), 410, "gone"),
    "/broken": (reply("oops", status="500 Internal Server Error"), 500, "server_error"),
    "/busy": (reply("busy", status="503 Service Unavailable"), 503, "server_error"),
    "/hangs": (hang, 504, "timeout"),
    "/cut": (cut, 502, "unreachable"),
    "/closes": (close, 502, "unreachable"),
    "/garbage": (b"\x00\x01\x02 nothing like HTTP\r\n\r\n", 502, "unreachable"),
    "/two-lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        502,
        "unreachable",
    ),
}


@pytest.fixture(scope="module", params=["http", "https"])
def site(request, tmp_path_factory):
    """An origin that fails in every way, over http and over https; `.settings` makes linkmend trust it."""
    pem, context, settings = None, None, QUICK
    if request.param == "https":
        pem, context = certificate(tmp_path_factory.mktemp("site"), "127.0.0.1")
        settings += f'trusted_ca = "{pem}"\n'
    with Origin(tls=context) as running:
        running.settings, running.pem = settings, pem
        running.pages.update({path: answer for path, (answer, _, _) in BEHAVIOURS.items()})
        yield running


def test_each_failure_of_an_origin_becomes_a_page_that_names_it(site, shared_linkmend):
    running = shared_linkmend(settings=site.settings)
    client = Client(running.url, running.ca)
    for path, (_, status, kind) in BEHAVIOURS.items():
        answer = client.open_page(site.url + path)
        assert (path, answer.status, answer.miss) == (path, status, kind)
        assert '<ol id="alternatives">' in answer.text or "linkmend" in answer.text
        assert "linkmend" in answer.headers["Cache-Status"]
        assert answer.headers["Cache-Control"] == "no-store"


def test_failures_of_a_sub_resource_are_short_plain_errors(site, shared_linkmend):
    running = shared_linkmend(settings=site.settings)
    client = Client(running.url, running.ca)
    for path, (_, status, _) in BEHAVIOURS.items():
        answer = client.get(site.url + path, Accept="image/avif,*/*")  # of a browser: test_network_errors.py
        assert (path, answer.status) == (path, status)
        assert answer.miss is None or len(answer.body) < 1000
        assert "<html" not in answer.text


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_does_not_exist_or_refuses_becomes_a_page(scheme, shared_linkmend):
    running = shared_linkmend(settings=QUICK)
    client = Client(running.url, running.ca)
    for host in ("no-such-host.invalid", f"127.0.0.1:{free_port()}"):
        answer = client.open_page(f"{scheme}://{host}/page")
        assert (answer.status, answer.miss) == (502, "unreachable")
        assert "error=" in answer.headers["Proxy-Status"]


def test_untrusted_certificate_becomes_a_page_about_it(secure_origin, shared_linkmend):
    running = shared_linkmend(settings=QUICK)
    answer = Client(running.url, running.ca).open_page(secure_origin.url + "/page")
    assert (answer.status, answer.miss) == (502, "tls")
    assert "tls_certificate_error" in answer.headers["Proxy-Status"]


def test_retry_on_the_same_connection_works_once_the_origin_is_back(origin, shared_linkmend):
    origin.pages["/page"] = reply("<title>back</title>")
    running = shared_linkmend(settings=QUICK)
    client = Client(running.url)
    origin.down()
    assert client.open_page(origin.url + "/page").miss == "unreachable"
    origin.up()
    assert client.open_page(origin.url + "/page").status == 200


def test_a_machine_gets_the_same_answer_as_json(origin, shared_linkmend):
    running = shared_linkmend()
    answer = Client(running.url).get(origin.url + "/nothing-here", Accept="application/json")
    assert answer.headers["Content-Type"] == "application/json"
    told = json.loads(answer.body)
    assert set(told) == {"url", "kind", "source_page", "queries", "alternatives", "mementos", "keywords"}
    assert (told["url"], told["kind"]) == (origin.url + "/nothing-here", "not_found")


# Behind a Squid parent


def test_each_failure_behind_squid_becomes_the_same_page(site, shared_linkmend, shared_squid):
    squid = shared_squid(trusted=site.pem)
    running = shared_linkmend("--parent", squid.url, settings="[proxy]\nfirst_byte_timeout_s = 10.0\n")
    client = Client(running.url, running.ca)
    for path, (_, _, kind) in BEHAVIOURS.items():
        if path in ("/cut", "/two-lengths"):
            continue  # Squid passes these on in its own way: below
        answer = client.open_page(site.url + path)
        assert (path, answer.miss) == (path, kind)
        assert answer.status >= 400


def test_an_answer_cut_short_behind_squid_becomes_a_page(site, shared_linkmend, shared_squid):
    squid = shared_squid(trusted=site.pem)
    running = shared_linkmend("--parent", squid.url, settings=QUICK)
    answer = Client(running.url, running.ca).open_page(site.url + "/cut")
    assert answer.miss == "unreachable"


@pytest.mark.parametrize("older", [babble, reply("old", ETag='"1"', Cache_Control="max-age=0")])
def test_conditional_request_does_not_refresh_what_squid_stores(origin, shared_linkmend, shared_squid, older):
    """Squid would take a 304 to a user's own copy as a validation of what it stores."""
    squid = shared_squid()
    client = Client(shared_linkmend("--parent", squid.url).url)
    origin.pages["/page"] = older
    Client(squid.url).get(f"{origin.url}/page")
    origin.pages["/page"] = reply(status="304 Not Modified", ETag='"2"', Cache_Control="max-age=0")
    assert client.open_page(f"{origin.url}/page", If_None_Match='"2"').status == 304
    origin.pages["/page"] = reply("new", ETag='"2"')
    assert client.open_page(f"{origin.url}/page").body == b"new"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_dead_host_behind_squid_becomes_a_page(scheme, shared_linkmend, shared_squid):
    squid = shared_squid()
    running = shared_linkmend("--parent", squid.url)
    client = Client(running.url, running.ca)
    for host in ("no-such-host.invalid", f"127.0.0.1:{free_port()}"):
        assert client.open_page(f"{scheme}://{host}/page").miss == "unreachable"


def test_bad_certificate_behind_squid_becomes_a_page_about_it(secure_origin, shared_linkmend, shared_squid):
    squid = shared_squid()
    running = shared_linkmend("--parent", squid.url)
    answer = Client(running.url, running.ca).open_page(secure_origin.url + "/page")
    assert answer.miss == "tls"


def test_only_if_cached_request_for_an_unstored_page_is_offline(origin, shared_linkmend, shared_squid):
    origin.pages["/page"] = reply("<title>hello</title>")
    squid = shared_squid()
    running = shared_linkmend("--parent", squid.url)
    answer = Client(running.url).open_page(origin.url + "/page", Cache_Control="only-if-cached")
    assert (answer.status, answer.miss) == (504, "offline")


def test_site_cannot_forge_the_parents_error_header(origin, shared_linkmend):
    """Without a parent, X-Squid-Error is a header like any other: the 503 is the origin's own."""
    origin.pages["/page"] = reply("busy", status="503 Busy", X_Squid_Error="ERR_SECURE_CONNECT_FAIL 0")
    running = shared_linkmend()
    assert Client(running.url).open_page(origin.url + "/page").miss == "server_error"


def test_https_uses_connect_through_a_plain_squid(secure_origin, shared_linkmend, shared_squid):
    secure_origin.pages["/page"] = reply("<title>hello</title>")
    squid = shared_squid()
    settings = f'[proxy]\nparent_https = "connect"\ntrusted_ca = "{secure_origin.pem}"\n'
    running = shared_linkmend("--parent", squid.url, settings=settings)
    client = Client(running.url, running.ca)
    assert client.open_page(secure_origin.url + "/page").status == 200
    assert client.open_page(f"https://127.0.0.1:{free_port()}/page").miss == "unreachable"


def test_closed_keep_alive_connection_is_retried_not_a_miss(origin, shared_linkmend):
    """Origins close idle connections at any moment; the request is sent again on a new one."""
    answers = iter(range(100))

    async def once_a_connection(exchange):
        if next(answers) % 2:
            exchange.writer.close()  # the second request on a connection finds it closed
        else:
            await exchange.send(reply("<title>here</title>", Cache_Control="no-store"))

    origin.pages["/page"] = once_a_connection
    running = shared_linkmend()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as browser:
        for _ in range(4):
            browser.sendall(
                f"GET {origin.url}/page HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".encode()
            )
            assert b"200 OK" in _whole_answer(browser)


def _whole_answer(connection):
    data = b""
    while b"<title>here</title>" not in data and b"linkmend-miss" not in data.lower():
        data += connection.recv(65536)
    return data


def test_large_document_of_unknown_length_is_streamed(origin, shared_linkmend):
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    async def endless(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(320):  # 20 MB
            await exchange.send(chunk)
        await exchange.send(b"0\r\n\r\n")

    origin.pages["/long"] = endless
    running = shared_linkmend()
    answer = Client(running.url).open_page(origin.url + "/long")
    assert len(answer.body) == 320 * 0x10000


def test_a_large_upload_reaches_the_origin_directly_and_through_the_parent(
    origin, shared_linkmend, shared_squid
):
    origin.pages["/upload"] = reply("thanks")
    for parent in ((), ("--parent", shared_squid().url)):
        running = shared_linkmend(*parent)
        request = urllib.request.Request(origin.url + "/upload", data=b"x" * 3_000_000, method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": running.url}))
        with opener.open(request, timeout=30) as response:
            assert response.read() == b"thanks"
    assert "via" in origin.seen[-1].headers


def test_slow_page_is_streamed_and_stored(origin, shared_linkmend):
    goes_on = threading.Event()

    async def slowly(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: max-age=60\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(3):
            await exchange.send(b"5\r\nhello\r\n")
            await asyncio.sleep(0.7)
        await asyncio.to_thread(goes_on.wait, 20)
        await exchange.send(b"3\r\nend\r\n0\r\n\r\n")

    origin.pages["/slow"] = slowly
    running = shared_linkmend()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as browser:
        request = (
            f"GET {origin.url}/slow HTTP/1.1\r\nHost: 127.0.0.1:{origin.port}\r\nAccept: text/html\r\n\r\n"
        )
        browser.sendall(request.encode())
        seen = b""
        while b"hello" not in seen:  # before the origin has come to its end
            seen += browser.recv(65536)
        goes_on.set()
        while not seen.endswith(b"0\r\n\r\n"):
            seen += browser.recv(65536)
        again = Client(running.url).open_page(origin.url + "/slow")
    assert again.text == "hellohellohelloend"
    assert "hit" in again.headers["Cache-Status"]


def test_slow_error_page_is_finally_passed_on_unchanged(origin, shared_linkmend):
    async def drip(exchange):
        await exchange.send(
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\n"
        )
        for _ in range(60):
            await exchange.send(b"x")
            await asyncio.sleep(0.5)

    origin.pages["/drips"] = drip
    running = shared_linkmend(settings=QUICK)
    with socket.create_connection(("127.0.0.1", running.port), timeout=25) as browser:
        browser.sendall(f"GET {origin.url}/drips HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n".encode())
        assert browser.recv(65536).startswith(b"HTTP/1.1 404 Not Found\r\n")
