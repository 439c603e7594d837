"""The admin server of a running linkmend: on its own port, through the proxy, in Chromium, and under attack."""

import asyncio
import contextlib
import http.client
import re
import socket
import time
import urllib.parse

import pytest

from proxy.admin.auth.passwords import Passwords
from tests.integration.browser import chromium
from tests.integration.client import PORTAL, Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, serving

PASSWORD = "correct horse battery"
SECURE = "https://linkmend.internal"
NASTY = "/gone?<script>document.title='ran'</script>\"'><img src=x onerror=document.title='ran'>"


@pytest.fixture
def running(start_linkmend):
    """A linkmend without an admin password."""
    return ready(start_linkmend())


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    """A linkmend with an admin password, shared by the tests of this module."""
    data = tmp_path_factory.mktemp("desk") / "data"
    Passwords(data / "desk.json").set_password(PASSWORD)
    with serving(data) as running:
        yield ready(running)


@pytest.fixture
def ending(tmp_path, start_linkmend):
    """Another, to be stopped."""
    Passwords(tmp_path / "data" / "desk.json").set_password(PASSWORD)
    return ready(start_linkmend())


def ready(running):
    running.wait_for_line("linkmend metrics on ")
    return running


def address(running, what):
    """HOST:PORT that `linkmend serve` printed."""
    return re.search(rf"linkmend {what} on http://(\S+)", running.output)[1]


def post(running, path, fields, *, source="127.0.0.1", **headers):
    """A form sent through the proxy as an admin page at the portal sends it: status and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20, source_address=(source, 0))
    sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": PORTAL, **headers}
    connection.request("POST", f"{PORTAL}{path}", urllib.parse.urlencode(fields), sent)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def figures(running):
    """The metrics as Prometheus reads them."""
    text = Client("").get(f"http://{address(running, 'metrics')}/metrics").text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def at_rest(running):
    """The same, once all processes have reported theirs, which they do every second."""
    known = figures(running)
    while True:
        time.sleep(1.5)
        before, known = known, figures(running)
        if not any(name.startswith("linkmend_") and grown for name, grown in growth(before, known).items()):
            return known


def growth(before, after):
    return {name: value - before.get(name, 0) for name, value in after.items()}


def log_in(page, at=PORTAL):
    page.goto(f"{at}/admin/login")
    page.fill("#password", PASSWORD)
    page.click("button:has-text('Log in')")
    page.wait_for_url(f"{at}/admin")


# In a browser


def test_first_password_is_set_with_the_setup_code_and_logs_in(running, open_browser):
    page = open_browser(running)
    page.goto(f"{PORTAL}/admin")
    page.fill("#code", re.search(r"set-up code (\S+)", running.output)[1])
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("button:has-text('Set password')")
    page.wait_for_url(f"{PORTAL}/admin/setup")
    page.click("button:has-text('Log out')")
    page.wait_for_url(f"{PORTAL}/admin/login")
    log_in(page)
    assert PASSWORD not in running.output


def test_misses_appear_live_and_nothing_in_them_runs(protected, origin, open_browser):
    page = open_browser(protected)
    log_in(page)
    page.goto(f"{PORTAL}/admin/live")
    Client(protected.url).open_page(origin.url + urllib.parse.quote(NASTY, safe="/?"))
    page.wait_for_selector("#missing tr")
    assert "gone" in page.inner_text("#missing")
    page.reload()
    assert "gone" in page.inner_text("#missing")
    assert page.title() == "Dead links, live · linkmend desk"


def test_live_view_on_the_admin_port_is_one_stream(protected, origin, program, tmp_path):
    direct = f"http://{address(protected, 'desk')}"
    streams = []
    with chromium(program("chromium"), tmp_path / "home") as context:
        page = context.new_page()
        log_in(page, direct)
        page.on("request", lambda request: streams.append(request.url) if "stream" in request.url else None)
        page.goto(f"{direct}/admin/live")
        for name in ("one", "other"):
            Client(protected.url).open_page(f"{origin.url}/{name}")
            page.wait_for_selector(f"#missing tr:has-text('/{name}')")
    assert len(streams) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(protected, origin, open_browser, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = open_browser(protected, color_scheme=scheme, viewport={"width": 360, "height": 700})
    Client(protected.url).open_page(origin.url + "/gone")
    page.goto(f"{PORTAL}/admin/login")
    assert axe.Axe().run(page).violations_count == 0
    log_in(page)
    paths = page.eval_on_selector_all(".menu a", "links => links.map(link => link.getAttribute('href'))")
    assert {"/admin", "/admin/misses", "/admin/live", "/admin/health", "/admin/access"} <= set(paths)
    for path in (*paths, "/admin/nowhere"):
        page.goto(PORTAL + path)
        found = axe.Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


def test_admin_pages_work_without_scripts(protected, origin, open_browser):
    page = open_browser(protected, java_script_enabled=False)
    log_in(page)
    Client(protected.url).open_page(origin.url + "/gone")
    page.goto(f"{PORTAL}/admin/live")
    assert "/gone" in page.inner_text("#missing")
    page.goto(f"{PORTAL}/admin/access")
    page.fill("#token-name", "backup")
    page.click("button:has-text('Create token')")
    assert page.inner_text(".token").startswith("lm_")


def test_over_https_the_login_is_encrypted_and_stays_so(protected, open_browser):
    page = open_browser(protected)
    log_in(page, SECURE)
    cookies = page.context.cookies()
    assert [(each["name"], each["secure"], each["sameSite"]) for each in cookies] == [
        ("__Host-linkmend-desk", True, "Strict")
    ]
    page.goto(f"{PORTAL}/admin")
    assert page.url.startswith(f"{PORTAL}/admin/login")


def test_site_cannot_forge_admin_requests(protected, origin, open_browser):
    form = f"<form method=post action='{PORTAL}/admin/access/token'><input name=name value=thief></form>"
    origin.pages["/trap"] = reply(form + "<script>document.forms[0].submit()</script>")
    page = open_browser(protected)
    log_in(page)
    page.goto(f"{origin.url}/trap")
    page.wait_for_url(f"{PORTAL}/**")
    kept = Passwords(protected.data / "desk.json").load()
    assert "thief" not in [each.name for each in kept.tokens]
    page.goto(f"{PORTAL}/admin/access")
    assert "thief" not in page.content()


def test_site_cannot_frame_the_admin_pages(protected, origin, open_browser):
    origin.pages["/frame"] = reply(f"<iframe src='{PORTAL}/admin'></iframe>")
    page = open_browser(protected)
    log_in(page)
    page.goto(f"{origin.url}/frame")
    time.sleep(0.5)
    assert all("Dead links" not in frame.content() for frame in page.frames)


# On the wire


def test_a_student_cannot_set_the_first_password(running):
    fields = {"password": "a thief's password", "again": "a thief's password", "code": "AAAAA-AAAAA"}
    statuses = [post(running, "/admin/first-password", fields, source="127.0.0.66").status for _ in range(8)]
    assert statuses == [403] * 5 + [429] * 3
    assert not (running.data / "desk.json").exists()


def test_login_rate_limit_affects_only_the_guessing_client(protected):
    guesses = [
        post(protected, "/admin/login", {"password": f"guess {n}"}, source="127.0.0.67").status
        for n in range(8)
    ]
    assert guesses == [403] * 5 + [429] * 3
    assert post(protected, "/admin/login", {"password": PASSWORD}, source="127.0.0.7").status == 303


def test_forged_client_address_does_not_evade_the_rate_limit(protected):
    statuses = [
        post(
            protected,
            "/admin/login",
            {"password": "guess"},
            source="127.0.0.68",
            **{"X-Forwarded-For": f"10.0.0.{n}", "Linkmend-Gateway-Client": f"10.0.0.{n}"},
        ).status
        for n in range(7)
    ]
    assert statuses == [403] * 5 + [429] * 2


def test_admin_path_on_other_hosts_belongs_to_the_site(protected, origin):
    origin.pages["/admin"] = reply("the site's own desk")
    assert Client(protected.url).get(f"{origin.url}/admin").text == "the site's own desk"
    claimed = Client(protected.url).get(f"{origin.url}/admin", Host="linkmend.internal")
    assert claimed.text == "the site's own desk"


@pytest.mark.parametrize("what", ["desk", "metrics"])
def test_local_ports_are_not_reachable_through_the_proxy(protected, what):
    port = address(protected, what).rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "127.1", "[::ffff:127.0.0.1]"):
        answer = Client(protected.url).get(f"http://{host}:{port}/admin/login")
        assert answer.status in (403, 502), host
        assert "password" not in answer.text


def test_admin_port_refuses_unknown_host_names(protected):
    answer = Client("").get(f"http://{address(protected, 'desk')}/admin/login", Host="evil.test")
    assert answer.status == 421
    assert "password" not in answer.text


def test_huge_request_body_is_refused_and_not_buffered(protected):
    before = protected.peak_memory()
    with socket.create_connection(("127.0.0.1", protected.port), timeout=20) as connection:
        head = f"POST {PORTAL}/admin/login HTTP/1.1\r\nHost: linkmend.internal\r\nContent-Length: {10**9}\r\n\r\n"
        connection.sendall(head.encode())
        with contextlib.suppress(ConnectionError):
            for _ in range(1000):
                connection.sendall(b"x" * 100_000)
        with contextlib.suppress(ConnectionError):
            assert b" 413 " in connection.recv(1000)
    assert protected.peak_memory() - before < 60_000_000


def test_silent_connections_do_not_lock_out_the_admin(protected):
    host, _, port = address(protected, "desk").partition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(150)]
    try:
        for each in silent:
            each.sendall(b"GET /admin HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        assert Client("").get(f"http://{host}:{port}/admin/login").status == 200
    finally:
        for each in silent:
            each.close()


def test_admin_responses_are_neither_cached_nor_collected(protected):
    before = at_rest(protected)
    for _ in range(2):
        Client(protected.url).open_page(f"{PORTAL}/admin/login")
    grown = growth(before, at_rest(protected))
    assert grown['linkmend_requests_total{outcome="own"}'] == 2
    assert grown['linkmend_requests_total{outcome="hit"}'] == 0
    assert Client(protected.url).search("password").text.count("data-url") == 0


# Beside the proxy


def test_occupied_admin_port_does_not_stop_the_proxy(start_linkmend, origin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f'listen = "127.0.0.1:{taken.getsockname()[1]}"'
        running = start_linkmend(settings=f"[desk]\n{listen}\n[metrics]\n{listen}\n")
        origin.pages["/"] = reply("hello")
        assert Client(running.url).get(f"{origin.url}/").text == "hello"
        assert Client(running.url).get(f"{PORTAL}/admin/login").status == 200
        assert "desk: cannot listen" in running.output
        assert "port for figures: cannot listen" in running.output


def test_disabled_admin_pages_are_not_served(start_linkmend):
    running = start_linkmend(settings="[desk]\nenabled = false\n")
    assert Client(running.url).get(f"{PORTAL}/admin").status == 404
    assert "linkmend desk on" not in running.output
    assert "set-up code" not in running.output


def test_metrics_count_hits_misses_and_repairs(protected, origin):
    origin.pages["/kept"] = reply("x" * 1000, Cache_Control="max-age=600")
    client, before = Client(protected.url), at_rest(protected)
    for _ in range(3):
        client.get(f"{origin.url}/kept")
    client.open_page(f"{origin.url}/gone")
    grown = growth(before, at_rest(protected))
    assert grown['linkmend_requests_total{outcome="hit"}'] == 2
    assert grown['linkmend_bytes_total{source="cache"}'] == 2000
    assert grown['linkmend_repaired_total{kind="not_found"}'] == 1
    assert grown["linkmend_repair_seconds_count"] == 1


def test_health_endpoints_report_liveness_and_readiness(protected):
    at = f"http://{address(protected, 'metrics')}"
    assert Client("").get(f"{at}/healthz").status == Client("").get(f"{at}/readyz").status == 200


def test_readyz_fails_while_stopping(ending, origin):
    async def slow(exchange):
        await asyncio.sleep(3)
        await exchange.send(reply("late"))

    origin.pages["/slow"] = slow
    at = f"http://{address(ending, 'metrics')}"
    with socket.create_connection(("127.0.0.1", ending.port)) as reader:
        reader.sendall(f"GET {origin.url}/slow HTTP/1.1\r\nHost: {origin.url[7:]}\r\n\r\n".encode())
        eventually(lambda: origin.asked["/slow"], "the request did not arrive")
        ending.process.terminate()
        eventually(lambda: Client("").get(f"{at}/readyz").status == 503, "it says that it is ready")


def test_open_live_view_does_not_delay_shutdown(ending):
    cookie = post(ending, "/admin/login", {"password": PASSWORD}).headers["Set-Cookie"].partition(";")[0]
    with socket.create_connection(("127.0.0.1", ending.port), timeout=20) as reader:
        asked = f"GET {PORTAL}/admin/live/stream HTTP/1.1\r\nHost: linkmend.internal\r\nCookie: {cookie}\r\n"
        reader.sendall(f"{asked}Connection: close\r\n\r\n".encode())
        time.sleep(1)
        began = time.monotonic()
        assert ending.stop() == 0
        assert time.monotonic() - began < 9
