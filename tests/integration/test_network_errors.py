"""When a site is unreachable, a browser's scripts, pictures and service workers get a network error, as without us.

They would take a response of ours for the site's: `fetch()` resolves to any status, and an app that falls back on
its own cache when the network fails would show our text instead. People get a page, programs what any proxy sends.
"""

import asyncio
import contextlib
import http.client
import socket
import time

import pytest

from tests.integration.browser import launched
from tests.integration.client import Client, connection_to_site
from tests.integration.origin import Origin, certificate, close, cut, hang, reply
from tests.integration.processes import eventually, free_port, serving

QUICK = "connect_timeout_s = 1.0\nfirst_byte_timeout_s = 1.0\nidle_timeout_s = 1.0\n"
FAILING = {
    "/hangs": (hang, 504),
    "/cut": (cut, 502),
    "/closes": (close, 502),
    "/garbage": (b"\x00\x01\x02 nothing like HTTP\r\n\r\n", 502),
    "/two-lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502),
}
SCRIPTS = {
    "fetch": {"Sec_Fetch_Dest": "empty", "Sec_Fetch_Mode": "cors", "Accept": "*/*"},
    "picture": {"Sec_Fetch_Dest": "image", "Sec_Fetch_Mode": "no-cors", "Accept": "image/avif,*/*"},
    "worker": {"Sec_Fetch_Dest": "empty", "Sec_Fetch_Mode": "navigate", "Accept": "text/html,*/*;q=0.8"},
    "preload": {
        "Sec_Fetch_Dest": "document",
        "Sec_Fetch_Mode": "navigate",
        "Accept": "text/html,*/*;q=0.8",
        "Service_Worker_Navigation_Preload": "true",
    },
    # On plain http browsers send no Fetch Metadata.
    "http": {"Accept": "*/*", "Accept_Language": "en", "Accept_Encoding": "gzip, deflate"},
}
WORKER = """
addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open("app").then((held) => held.addAll(["/app", "/data.json"])));
});
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => event.respondWith(
  fetch(event.request).catch(() => caches.match(event.request)).then((found) => found ?? Response.error())
));
"""
REGISTER = """async () => {
    await navigator.serviceWorker.register("/worker.js");
    await navigator.serviceWorker.ready;
    while (!navigator.serviceWorker.controller) await new Promise((done) => setTimeout(done, 20));
}"""
ASK = """(url) => fetch(url, { cache: "no-store" }).then(
    async (answer) => `${answer.status} ${await answer.text()}`, (error) => error.name)"""
APP = (
    "<!doctype html><title>Lessons</title><h1>Lessons</h1><p>All the lessons of this week, with their words."
)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """The same origin over http and over https, where `localhost` has no service worker."""
    pem, context = certificate(tmp_path_factory.mktemp("site"), "127.0.0.1", "localhost")
    with Origin() as plain, Origin(tls=context) as secure:
        for site in (plain, secure):
            site.pem = pem
            site.pages.update({path: answer for path, (answer, _) in FAILING.items()})
            site.pages["/app"] = reply(APP, Cache_Control="no-store")
            site.pages["/data.json"] = reply("[1]", kind="application/json", Cache_Control="no-store")
            site.pages["/worker.js"] = reply(WORKER, kind="text/javascript", Cache_Control="no-store")
        yield {"http": plain, "https": secure}


@pytest.fixture(scope="module")
def running(tmp_path_factory, sites):
    settings = f'[proxy]\ntrusted_ca = "{sites["http"].pem}"\n{QUICK}'
    with serving(tmp_path_factory.mktemp("network") / "data", settings=settings) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def client(running):
    return Client(running.url, running.ca)


@pytest.fixture
def tab(running, tmp_path, program):
    path, certutil = program("chromium"), program("certutil")
    with launched(path, tmp_path / "home", proxy=running.url, certutil=certutil, ca=running.ca) as browser:
        page = browser.new_page()
        page.set_default_timeout(20_000)
        yield page


def is_unanswered(client, url, **headers):
    try:
        answer = client.get(url, **headers)
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return True
    raise AssertionError((url, headers, answer.status, answer.text[:200]))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_dead_site_gives_programs_an_error_and_people_a_page(scheme, sites, client):
    """Runs first: once a site is known to have a service worker, people are redirected by the portal."""
    for path, (_, status) in FAILING.items():
        program = client.get(sites[scheme].url + path, Accept="*/*")
        assert (path, program.status) == (path, status)
        assert "error=" in program.headers["Proxy-Status"]
        page = client.open_page(sites[scheme].url + path)
        assert (path, page.status) == (path, status)
        assert page.miss is not None
    form = {"Sec_Fetch_Dest": "document", "Sec_Fetch_Mode": "navigate"}
    assert client.get(f"{sites[scheme].url}/closes", method="POST", **form).status == 502


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_subresource_of_a_dead_site_fails_as_a_network_error(scheme, sites, client):
    for path in FAILING:
        for headers in SCRIPTS.values():
            assert is_unanswered(client, sites[scheme].url + path, **headers)
            if path == "/hangs":
                break
    for host in ("no-such-host.invalid", f"127.0.0.1:{free_port()}"):
        assert is_unanswered(client, f"{scheme}://{host}/", **SCRIPTS["fetch"])


def test_script_gets_the_stored_response_when_its_site_is_gone(sites, client):
    with Origin() as site:
        site.pages["/held"] = reply("held", Cache_Control="max-age=0, stale-if-error=600", ETag='"1"')
        assert client.get(f"{site.url}/held", **SCRIPTS["fetch"]).text == "held"
        site.down()
        assert client.get(f"{site.url}/held", **SCRIPTS["fetch"]).text == "held"


@pytest.mark.parametrize("length", [5, 3_000_000])
def test_upload_by_a_script_to_a_dead_site_is_a_network_error(length, running):
    host = f"127.0.0.1:{free_port()}"
    request = f"POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n"
    told = {}
    for who, fields in {"script": "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n", "program": ""}.items():
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as connection:
            connection.sendall(f"{request}{fields}\r\n".encode())
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"x" * 5)
            told[who] = connection.recv(65536)
    assert told["script"] == b""
    assert told["program"].startswith(b"HTTP/1.1 502 ")


def test_failure_never_repeats_bytes_of_the_site(origin, client):
    """They may contain cookies that no script may read."""
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=SECRET; HttpOnly\r\n"
    broken = {
        "/nul": head + b"SECRET: \x00\r\n\r\n",
        "/line": b"SECRET certificate [Errno -3]\r\n" + head + b"\r\n",
        "/value": head + b"X: SECRET\x00\r\n\r\n",
    }
    origin.pages.update(broken)
    for path in broken:
        answer = client.get(origin.url + path, Accept="*/*")
        assert (path, answer.status) == (path, 502)
        assert answer.headers["Proxy-Status"] == "linkmend;error=http_protocol_error"
        assert "SECRET" not in f"{answer.headers}{answer.text}"
        page = client.open_page(origin.url + path)
        assert (path, page.miss) == (path, "unreachable")
        assert "SECRET" not in f"{page.headers}{page.text}"


def test_an_app_opens_from_its_own_cache_when_its_site_is_gone(sites, tab):
    site = sites["https"]
    tab.goto(f"{site.url}/app")
    tab.evaluate(REGISTER)
    tab.goto(f"{site.url}/app")
    assert tab.evaluate(ASK, "/data.json") == "200 [1]"
    site.down()
    try:
        assert tab.evaluate(ASK, "/data.json") == "200 [1]"
        assert tab.evaluate(ASK, "/never-asked.json") == "TypeError"
        assert tab.goto(f"{site.url}/app").status == 200
        assert tab.title() == "Lessons"
        # Where there is no service worker, a person gets a page.
        other = tab.context.browser.new_context().new_page()
        assert other.goto(f"https://localhost:{site.port}/app").headers["linkmend-miss"] == "unreachable"
    finally:
        site.up()
    assert tab.evaluate(ASK, "/app").startswith("200 <!doctype")
    assert other.reload().status == 200


# Clients that disconnect right after their request


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_beacon_of_a_closed_page_arrives(scheme, method, sites, running):
    site = sites[scheme]
    paths = [f"/beacon/{method}/{number}" for number in range(10)]
    for number, path in enumerate(paths):
        with connection_to_site(running, site.port, tls=bool(site.tls)) as connection:
            target = path if site.tls else site.url + path
            head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n"
            connection.sendall(
                f"{head}Content-Length: 5\r\n\r\nhello".encode()
                if method == "POST"
                else f"{head}\r\n".encode()
            )
            time.sleep(0.003 * (number % 2))
    eventually(lambda: all(site.asked[path] == 1 for path in paths), f"not all have arrived: {site.asked}")


def test_disconnected_client_is_not_waited_for_long(running):
    """Nor is a site that sends nothing for a disconnected client."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = f"127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as client:
            client.sendall(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            connection, _ = server.accept()
            connection.settimeout(20)
            assert connection.recv(65536).startswith(b"GET / ")
        with connection:
            left_at = time.monotonic()
            assert connection.recv(1) == b""
            assert time.monotonic() - left_at < 10


def test_half_closed_client_gets_the_response(sites, running):
    """Some programs close their sending side after a request, and read on."""
    site = sites["http"]
    site.pages["/late"] = late
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as client:
        client.sendall(f"GET {site.url}/late HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    assert answer.endswith(b"at last")


async def late(exchange):
    await asyncio.sleep(0.3)
    await exchange.send(reply("at last", Cache_Control="no-store"))
