"""Where a site cannot be reached, a browser's scripts, pictures and workers have a network error, as without us.

An answer of ours would be taken for the site's: `fetch()` resolves to any status, and an app that falls back on its
own cache when the network fails would show our words instead. People get a page, programs what any proxy sends.
"""

import asyncio
import contextlib
import http.client
import socket
import ssl
import time

import pytest

from tests.integration.browser import launched
from tests.integration.client import Client
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
    # On plain http browsers do not say how a request came about.
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
    """The same origin over http and over https, where `localhost` has no worker."""
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
def test_programs_have_an_answer_and_people_have_a_page(scheme, sites, client):
    """Comes first: once a site is known to have a worker, people are sent round by the portal."""
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
def test_what_a_page_asks_for_has_no_answer_where_the_site_has_none(scheme, sites, client):
    for path in FAILING:
        for headers in SCRIPTS.values():
            assert is_unanswered(client, sites[scheme].url + path, **headers)
            if path == "/hangs":
                break
    for host in ("no-such-host.invalid", f"127.0.0.1:{free_port()}"):
        assert is_unanswered(client, f"{scheme}://{host}/", **SCRIPTS["fetch"])


def test_a_script_has_the_copy_that_is_held_when_its_site_is_gone(sites, client):
    with Origin() as site:
        site.pages["/held"] = reply("held", Cache_Control="max-age=0, stale-if-error=600", ETag='"1"')
        assert client.get(f"{site.url}/held", **SCRIPTS["fetch"]).text == "held"
        site.down()
        assert client.get(f"{site.url}/held", **SCRIPTS["fetch"]).text == "held"


@pytest.mark.parametrize("length", [5, 3_000_000])
def test_an_upload_of_a_script_to_a_dead_site_has_no_answer(length, running):
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


def test_a_failure_is_never_told_in_the_words_of_the_site(origin, client):
    """They may hold cookies that no script may read."""
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
        # Where there is no worker, a person has a page.
        other = tab.context.browser.new_context().new_page()
        assert other.goto(f"https://localhost:{site.port}/app").headers["linkmend-miss"] == "unreachable"
    finally:
        site.up()
    assert tab.evaluate(ASK, "/app").startswith("200 <!doctype")
    assert other.reload().status == 200


# Clients that leave right behind their request


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_sent_by_a_page_that_is_left_arrives(scheme, method, sites, running):
    site = sites[scheme]
    paths = [f"/beacon/{method}/{number}" for number in range(10)]
    for number, path in enumerate(paths):
        with opened(running, site) as connection:
            target = path if site.tls else site.url + path
            head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n"
            connection.sendall(
                f"{head}Content-Length: 5\r\n\r\nhello".encode()
                if method == "POST"
                else f"{head}\r\n".encode()
            )
            time.sleep(0.003 * (number % 2))
    eventually(lambda: all(site.asked[path] == 1 for path in paths), f"not all have arrived: {site.asked}")


def test_who_leaves_is_not_waited_for_long(running):
    """Nor is a site that says nothing to who has left."""
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


def test_who_has_only_said_all_gets_the_answer(sites, running):
    """Some programs close their side behind a request, and read on."""
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


@contextlib.contextmanager
def opened(running, site):
    """A connection on which a site's requests may be sent; it is closed without a word."""
    with contextlib.ExitStack() as stack:
        connection = socket.create_connection(("127.0.0.1", running.port), timeout=20)
        stack.enter_context(connection)
        if site.tls:
            host = f"127.0.0.1:{site.port}"
            connection.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            context = ssl.create_default_context(cafile=str(running.ca))
            connection = stack.enter_context(context.wrap_socket(connection, server_hostname="127.0.0.1"))
        yield connection
