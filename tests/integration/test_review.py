"""Missed pages from a user's click to the admin pages and back, through the running proxy and in Chromium."""

import http.client
import json
import re
import shutil
from urllib.parse import quote, urlencode

import pytest

from proxy.admin.auth.passwords import Passwords
from tests.integration.client import PORTAL, Client
from tests.integration.origin import reply
from tests.integration.processes import DEMO, eventually, linkmend, serving
from tests.integration.test_soft404 import ERROR_PAGE

PASSWORD = "correct horse battery"
CITING = "http://library.school.test/guides/how-to-cite.html"
WATER = "http://science.school.test/earth/water-cycle.html"
NOTES = "http://library.school.test/research/taking-notes.html"
FOUND = "http://library.school.test/research/citing-sources.html"
SCIENCE = "http://science.school.test/"
NASTY = "/gone<script>document.title='ran'</script>\"'><img src=x onerror=document.title='ran'>"


class Desk:
    """The admin API of a running linkmend."""

    def __init__(self, running):
        self._token = Passwords(running.data / "desk.json").new_token("tests")
        running.wait_for_line("linkmend desk on ")
        self._address = re.search(r"linkmend desk on http://(\S+)", running.output)[1]

    def call(self, method, path, sent=None):
        """The status and the response, decoded if it is JSON."""
        connection = http.client.HTTPConnection(self._address, timeout=30)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, f"/admin/api/misses{path}", json.dumps(sent) if sent else None, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(body) if is_json else body.decode()

    def eventually_missed(self, url):
        """The admin's data about an address, once its miss is recorded."""
        path = f"/address?url={quote(url, safe='')}"
        eventually(lambda: self.call("GET", path)[1]["missed"], f"{url} is not known as missed")
        return self.call("GET", path)[1]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """A data folder with the demo collection and an admin password, to be copied."""
    data = tmp_path_factory.mktemp("held") / "data"
    done = linkmend("import", DEMO, "--data", data)
    assert done.returncode == 0, done.stderr
    Passwords(data / "desk.json").set_password(PASSWORD)
    return data


@pytest.fixture
def running(tmp_path, held, start_linkmend):
    """A linkmend with the demo collection, offline, with an admin password."""
    shutil.copytree(held, tmp_path / "data")
    return start_linkmend("--offline", data=tmp_path / "data")


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory, held):
    """The same, for tests that only read."""
    data = tmp_path_factory.mktemp("looked_at") / "data"
    shutil.copytree(held, data)
    with serving(data, "--offline") as proxy:
        yield proxy


def log_in(page):
    page.goto(f"{PORTAL}/admin/login")
    page.fill("#password", PASSWORD)
    page.click("button:has-text('Log in')")
    page.wait_for_url(f"{PORTAL}/admin")


def a_class_misses(running, *urls):
    """Three users open the same dead links."""
    for reader in range(1, 4):
        client = Client(running.url, source=f"127.0.0.{reader}")
        for url in urls:
            client.open_page(url, Referer=NOTES)


def first_offer(running, url):
    return Client(running.url).repair(url).told["alternatives"][0]


def test_admin_pages_count_misses_and_their_source_pages(running):
    desk = Desk(running)
    a_class_misses(running, CITING, WATER)
    eventually(lambda: desk.call("GET", "/summary")[1]["tally"]["times"] == 6, "not all misses are counted")
    listed = desk.call("GET", "/addresses")[1]["addresses"]
    assert {each["url"]: each["tally"]["offered"] for each in listed} == {CITING: 3, WATER: 3}
    assert NOTES in {group["name"] for group in desk.call("GET", "/sources")[1]["groups"]}
    assert desk.eventually_missed(CITING)["offers"][0]["url"] == FOUND


def test_pinned_page_is_first_at_once_and_after_kill_9(running, start_linkmend):
    desk = Desk(running)
    assert first_offer(running, CITING)["url"] == FOUND
    assert desk.call("POST", "/pins", {"url": CITING, "target": SCIENCE})[0] == 200
    offer = first_offer(running, f"{CITING}/")
    assert (offer["url"], offer["confidence"], offer["reasons"], offer["held"]) == (
        SCIENCE,
        1.0,
        ["pinned"],
        True,
    )
    running.kill()
    again = start_linkmend("--offline", data=running.data)
    assert first_offer(again, CITING)["url"] == SCIENCE
    told = json.loads(linkmend("mend", CITING, "--json", "--data", running.data).stdout)
    assert told["alternatives"][0]["reasons"] == ["pinned"]


def test_page_marked_as_wrongly_missing_is_shown_next_time(tmp_path, start_linkmend, origin):
    running = start_linkmend()
    desk, client, url = Desk(running), Client(running.url), origin.url + "/lessons/errors.html"
    origin.pages["/lessons/errors.html"] = reply(ERROR_PAGE)
    assert client.open_page(url).miss == "soft_404"
    desk.eventually_missed(url)
    assert desk.call("POST", "/marks", {"url": url, "mark": "wrong"})[0] == 204
    assert client.open_page(url).text == ERROR_PAGE
    assert desk.call("DELETE", f"/marks?{urlencode({'url': url, 'mark': 'wrong'})}")[0] == 204
    assert client.open_page(url).miss == "soft_404"


@pytest.mark.parametrize("way", ["desk", "command"])
def test_erased_misses_leave_the_disk_while_the_proxy_runs(running, way):
    desk, secret = Desk(running), "http://library.school.test/a-secret-of-somebody.html"
    a_class_misses(running, secret, WATER)
    desk.eventually_missed(secret)
    eventually(lambda: desk.call("GET", "/summary")[1]["tally"]["times"] == 6, "not all misses are counted")
    if way == "desk":
        assert desk.call("POST", "/erase", {"url": secret}) == (200, {"misses": 3})
    else:
        done = linkmend("misses", "erase", "--url", secret, "--data", running.data)
        assert done.stdout == "deleted; log entries removed: 3\n", done.stderr
    left = [
        path for path in running.data.rglob("*") if path.is_file() and b"a-secret-of-" in path.read_bytes()
    ]
    assert left == []
    assert [each["url"] for each in desk.call("GET", "/addresses")[1]["addresses"]] == [WATER]


def test_admin_pins_a_page_for_a_dead_link_and_users_see_it(running, open_browser, tmp_path):
    a_class_misses(running, CITING)
    page = open_browser(running)
    log_in(page)
    page.goto(f"{PORTAL}/admin/misses")
    page.click("table.addresses tbody th a")
    page.fill("#target", SCIENCE)
    page.click("form:has(#target) button")
    page.wait_for_selector(".notice:has-text('Pinned')")
    page.goto(CITING)
    offer = page.locator("#alternatives > li").first
    assert offer.get_attribute("data-url") == SCIENCE
    assert offer.locator(".why").inner_text() == "Chosen by your school"
    with page.expect_download() as download:
        page.goto(f"{PORTAL}/admin/misses")
        page.click("a[download]:has-text('CSV')")
    assert CITING in download.value.path().read_text("utf-8")


def test_hostile_address_runs_nothing_on_admin_pages(running, open_browser):
    Client(running.url).open_page("http://library.school.test" + quote(NASTY, safe="/"))
    page = open_browser(running)
    log_in(page)
    for path in ("", "?by=site", "?by=source", "?by=record"):
        page.goto(f"{PORTAL}/admin/misses{path}")
        assert "· linkmend desk" in page.title()
    page.goto(f"{PORTAL}/admin/misses")
    page.click("table.addresses tbody th a")
    assert "script" in page.inner_text("main")
    assert page.title() == "Dead link · linkmend desk"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(looked_at, open_browser, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    a_class_misses(looked_at, CITING, WATER, "http://oldlibrary.school.test/" + "very-long-" * 40)
    Desk(looked_at).call("POST", "/pins", {"url": CITING, "target": SCIENCE})
    page = open_browser(looked_at, color_scheme=scheme, viewport={"width": width, "height": 700})
    log_in(page)
    lists = [f"/misses?by={by}" for by in ("address", "source", "site", "choice", "record")]
    for path in (*lists, f"/misses/address?url={quote(CITING, safe='')}", "/misses/decisions"):
        page.goto(f"{PORTAL}/admin{path}")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        found = axe.Axe().run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
