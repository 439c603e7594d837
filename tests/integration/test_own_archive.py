"""linkmend as a web archive: its own client, pywb and a plain program read its saved versions."""

import json
import urllib.parse
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from proxy.archives.client import is_not_the_page
from repair.collection.collection import Collection
from repair.memento.datetimes import as_http_date, as_timestamp
from repair.memento.model import ArchiveOutcome
from repair.model import HeldCopy
from repair.settings import ArchivesSettings, CollectionSettings
from tests.archiving import memento_client
from tests.holdings import a_document
from tests.integration.client import PORTAL, Client
from tests.integration.origin import reply
from tests.integration.processes import Running, eventually, free_port, serving
from tests.integration.pywb import programs

URL = "http://lost.example/water?id=1,2;x"
FOR_PYWB = "http://lost.example/water?id=1,2&x=%C3%A9"  # it cannot read a semicolon in an address
MOMENTS = tuple(datetime(2020 + number, 3, 1, 12, 30, 5, tzinfo=UTC) for number in range(3))

# pywb with us as the only archive behind one of its collections.
PYWB = """
framed_replay: false
enable_memento: true
collections:
  other:
    index:
      type: memento
      timegate_url: BASE/timegate/{url}
      timemap_url: BASE/timemap/link/{url}
      replay_url: BASE/memento/{timestamp}id_/{url}
"""

PATHS = (
    "/timemap/link/",
    "/timegate/",
    f"/memento/{as_timestamp(MOMENTS[0])}/",
    "/memento/20200301123005id_/",
)
SPIED = (URL, "http://lost.example/never")
# What a script of a site can find out about an address in each possible way.
SPY = """async (url) => {
    const way = (name, attribute) => new Promise((told) => {
        const element = document.createElement(name);
        setTimeout(() => told("silent"), 1500);
        element.onload = () => told("loaded");
        element.onerror = () => told("failed");
        if (name === "link") element.rel = "stylesheet";
        element[attribute] = url;
        document.body.append(element);
    });
    const asked = (mode) => fetch(url, {mode}).then((answer) => answer.status, () => "failed");
    return Promise.all([
        asked("cors"), asked("no-cors"), way("img", "src"), way("script", "src"), way("link", "href"),
        way("iframe", "src"), way("object", "data"), way("embed", "src"), way("audio", "src"),
    ]);
}"""


def page(number):
    words = " ".join(f"Rivers run to the sea, said version {number}." for _ in range(30))
    return (
        f"<html lang=en><title>Water {number}</title><body><h1>Water</h1><p>{words}</p>"
        "<script>document.title = 'ran'</script></body></html>"
    ).encode()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A linkmend with three versions of two pages."""
    data = tmp_path_factory.mktemp("own") / "data"
    with Collection.open(data / "collection", CollectionSettings()) as collection:
        for url, (number, at) in product((URL, FOR_PYWB), enumerate(MOMENTS)):
            copy = HeldCopy(url=url, content_type="text/html", body=page(number), fetched_at=at)
            collection.add(a_document(url, text=f"version {number}"), fetched_at=at, copy=copy, pinned=True)
    with serving(data) as linkmend:
        yield linkmend


@pytest.fixture
def behind(running):
    return Client(running.url)


@pytest.fixture
def past():
    """A program that does not use the proxy."""
    return Client("")


@pytest.fixture
def client(running, tmp_path):
    """Another school's linkmend, which has ours among its archives."""

    def of(question):
        line = f"school private {question}".replace("BASE", running.url)
        return memento_client(ArchivesSettings(list=(line,)), tmp_path / "client", is_bad=is_not_the_page)

    return of


@pytest.mark.parametrize(
    "question",
    ["timemap=BASE/timemap/link/{url}", "timemap=BASE/timemap/json/{url}", "timegate=BASE/timegate/{url}"],
)
async def test_linkmend_client_lists_and_reads_versions(client, question):
    async with client(question) as archives:
        found = await archives.timemap(URL)
        assert [answer.outcome for answer in found.answers] == [ArchiveOutcome.ANSWERED]
        assert [(memento.at, memento.original) for memento in found.mementos] == [(at, URL) for at in MOMENTS]
        best = await archives.best(URL)
        assert best.document.title == "Water 2"
        assert best.page.body == page(2)  # as it was sent, no banner
        near = await archives.best(URL, near=MOMENTS[0] + timedelta(days=30))
        assert near.document.title == "Water 0"
        assert (await archives.timemap("http://lost.example/never")).mementos == ()


def test_pywb_reads_our_time_map_and_versions(running, past, tmp_path, pytestconfig):
    found = programs()
    if found is None:
        (pytest.fail if pytestconfig.getoption("--require-real") else pytest.skip)("pywb is not installed")
    port = free_port()
    (tmp_path / "config.yaml").write_text(PYWB.replace("BASE", running.url), encoding="ascii")
    pywb = Running([found[0], "-b", "127.0.0.1", "-p", str(port), "-d", tmp_path])
    base = f"http://127.0.0.1:{port}/other/"
    try:
        pywb.wait_for_port(port, timeout_s=60)
        listed = past.get(f"{base}timemap/json/{FOR_PYWB}", timeout_s=60)
        captures = [json.loads(line) for line in listed.text.splitlines()]
        assert [capture["timestamp"] for capture in captures] == [as_timestamp(at) for at in MOMENTS]
        assert {capture["url"] for capture in captures} == {FOR_PYWB}
        for number, at in enumerate(MOMENTS):
            shown = past.get(f"{base}{as_timestamp(at)}id_/{FOR_PYWB}", timeout_s=60)
            assert shown.status == 200, pywb.output
            assert shown.body == page(number)
    finally:
        pywb.stop()


def test_program_behind_the_proxy_follows_time_gate_to_memento(behind):
    gate = behind.get(
        f"{PORTAL}/timegate/{URL}", Accept_Datetime=as_http_date(MOMENTS[1] + timedelta(days=3))
    )
    assert gate.status == 302
    assert gate.headers["Vary"] == "accept-datetime"
    shown = behind.get(gate.headers["Location"])
    assert shown.headers["Memento-Datetime"] == as_http_date(MOMENTS[1])
    assert "said version 1" in shown.text
    assert "allow-scripts" not in shown.headers["Content-Security-Policy"]
    assert f'/{as_timestamp(MOMENTS[2])}/{URL}>; rel="last next memento"' in shown.headers["Link"]
    raw = behind.get(gate.headers["Location"].replace("/http://lost", "id_/http://lost"))
    assert raw.body == page(1)
    assert raw.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert behind.get(f"{PORTAL}/timegate/{URL}", Accept_Datetime="soon").status == 400
    assert behind.get(f"{PORTAL}/timemap/link/{urllib.parse.quote(URL, safe='')}").status == 200
    assert behind.get(f"{PORTAL}/timemap/link/http://lost.example/never").status == 404
    assert behind.get(f"{PORTAL}/timemap/link/{URL}", Origin="http://evil.example").status == 403
    assert behind.get(f"{PORTAL}/timemap/link/{URL}", method="HEAD").body == b""


def test_direct_requests_reach_only_the_archive_and_only_by_ip_address(running, past):
    assert past.get(f"{running.url}/timemap/link/{URL}").status == 200
    assert past.get(f"{running.url}/search?q=water").status != 200
    named = past.get(f"{running.url}/timemap/link/{URL}", Host=f"rebound.localhost:{free_port()}")
    assert named.status >= 400
    assert "lost.example" not in named.headers.get("Link", "")
    assert b'rel="original"' not in named.body


def test_share_none_answers_nobody(start_linkmend):
    running = start_linkmend(settings='[collection]\nshare = "off"\n')
    assert Client(running.url).get(f"{PORTAL}/timemap/link/{URL}").status == 403


def test_changing_page_has_one_version_a_day(start_linkmend, origin):
    running = start_linkmend(settings="[collection]\nversion_every_h = 0\n[soft404]\nenabled = false\n")
    behind = Client(running.url)
    address = f"{origin.url}/changing"

    def versions():
        told = behind.get(f"{PORTAL}/timemap/json/{address}")
        return told.told["mementos"]["list"] if told.status == 200 else []

    def shown():
        return [behind.get(version["uri"]).text for version in versions()]

    for number in range(2):
        origin.pages["/changing"] = reply(page(number), Cache_Control="public, max-age=0")
        behind.open_page(address)
        eventually(lambda said=f"said version {number}": said in "".join(shown()[-1:]), "it is not held")
    assert 1 <= len(versions()) <= 2  # two, if a day ended meanwhile
    assert all(version["datetime"].endswith("T00:00:00Z") for version in versions())


def test_browser_shows_a_version_in_any_form_without_scripts(running, open_browser):
    tab = open_browser(running)
    tab.goto(f"{PORTAL}/timegate/{URL}")
    assert tab.url == f"{PORTAL}/memento/{as_timestamp(MOMENTS[2])}/{URL}"
    assert tab.title() == "Water 2"  # its script would have changed it
    assert tab.evaluate("self.origin") == "null"
    tab.goto(f"{PORTAL}/memento/{as_timestamp(MOMENTS[0])}id_/{URL}")
    assert tab.title() == "Water 0"


def test_site_cannot_find_out_whether_a_page_is_saved(running, open_browser, origin):
    origin.pages["/spy"] = reply("<title>spy</title>")
    tab = open_browser(running)
    tab.goto(f"{origin.url}/spy")
    for base, path in product((PORTAL, running.url), PATHS):
        held, unknown = (tab.evaluate(SPY, f"{base}{path}{url}") for url in SPIED)
        assert held == unknown
        assert held[0] == "failed"
