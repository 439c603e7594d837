"""`--offline`: stored and imported pages are served, others are reported as missing, and no site is contacted."""

import http.client
import io
import json

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import DEMO, eventually, linkmend, serving

SETTINGS = "[collection]\ncommit_every_s = 0.2\n"
FARM = "http://farm.example"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02")
ARCHIVED = {
    "/": ("text/html", b"<title>The farm</title><link rel=stylesheet href=/farm.css><img src=/hen.png>Hens!"),
    "/farm.css": ("text/css", b"body { color: green }"),
    "/hen.png": ("image/png", PNG),
    "/hens.html?breed=sussex": (
        "text/html; charset=iso-8859-1",
        "<title>Hens \xe9l\xe8ves</title>".encode("latin-1"),
    ),
}


def a_warc(path):
    """A WARC with a page, its style sheet and its image, as a crawler writes it; one page is compressed."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for place, (kind, body) in ARCHIVED.items():
            headers = StatusAndHeaders("200 OK", [("Content-Type", kind)], protocol="HTTP/1.1")
            record = writer.create_warc_record(
                FARM + place, "response", payload=io.BytesIO(body), http_headers=headers
            )
            writer.write_record(record)
        gone = StatusAndHeaders("404 Not Found", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(
                FARM + "/gone", "response", payload=io.BytesIO(b"<title>no</title>"), http_headers=gone
            )
        )
    return path


@pytest.fixture(scope="module")
def site():
    with Origin() as running:
        running.pages["/seen.html"] = reply(
            "<title>Seen before</title><p>Bees and honey", Cache_Control="max-age=600"
        )
        running.pages["/bee.css"] = reply("p { color: gold }", kind="text/css", Cache_Control="max-age=1")
        running.pages["/unseen.html"] = reply("<title>Never seen</title>", Cache_Control="max-age=600")
        running.pages["/stale.html"] = reply(
            "<title>Stale by now</title>", Cache_Control="max-age=0", ETag='"1"'
        )
        yield running


@pytest.fixture(scope="module")
def data(tmp_path_factory, site):
    """A data folder that has stored some pages of the site and imported the rest."""
    folder = tmp_path_factory.mktemp("offline")
    data = folder / "data"
    with serving(data, settings=SETTINGS) as running:
        client = Client(running.url)
        for path in ("/seen.html", "/bee.css", "/stale.html"):
            assert client.open_page(site.url + path).status == 200
        eventually(lambda: "/seen.html" in client.search("honey").text, "the page seen is not found")
    done = linkmend("import", a_warc(folder / "farm.warc.gz"), DEMO, "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    farm, demo = [json.loads(line) for line in done.stdout.splitlines()]
    assert (farm["pages"], farm["files"]) == (2, 4)
    assert demo["pages"] > 40
    site.asked.clear()
    return data


@pytest.fixture(scope="module")
def running(data):
    with serving(data, "--offline", settings=SETTINGS) as proxy:
        yield proxy


@pytest.fixture
def client(running, site):
    yield Client(running.url)
    assert not site.asked


@pytest.mark.parametrize("path", ["/seen.html", "/bee.css", "/stale.html"])
def test_stored_pages_are_served_offline_fresh_or_stale(path, client, site):
    answer = client.get(site.url + path, Accept="*/*")
    assert answer.status == 200
    assert answer.body == site.pages[path].partition(b"\r\n\r\n")[2]
    assert "hit" in answer.headers["Cache-Status"]


@pytest.mark.parametrize("path", ARCHIVED)
def test_pages_imported_from_a_warc_are_served_unchanged(path, client):
    kind, body = ARCHIVED[path]
    answer = client.open_page(FARM + path) if kind.startswith("text/html") else client.get(FARM + path)
    assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, body, kind)


def test_page_recorded_only_as_missing_is_not_saved(client):
    assert client.open_page(FARM + "/gone").miss == "offline"


def test_every_demo_file_is_served_byte_for_byte(client):
    for path in DEMO.rglob("*.school.test/**/*.*"):
        answer = client.get(f"http://{path.relative_to(DEMO)}", Accept="*/*")
        assert (path, answer.status, answer.body) == (path, 200, path.read_bytes())


def test_demo_site_opens_at_its_start_page(client):
    for host in ("library", "science", "maths", "languages"):
        page = client.open_page(f"http://{host}.school.test/")
        assert (page.status, page.body) == (200, (DEMO / f"{host}.school.test" / "index.html").read_bytes())


def test_page_not_stored_is_an_offline_miss(client, site):
    answer = client.open_page(site.url + "/unseen.html")
    assert (answer.status, answer.miss) == (504, "offline")
    assert client.open_page("http://no-such-host.invalid/").miss == "offline"
    assert client.repair(site.url + "/unseen.html").told["kind"] == "offline"


def test_picture_not_stored_is_a_short_error(client, site):
    answer = client.get(site.url + "/bee.png", Accept="image/*")
    assert answer.status == 504
    assert "<html" not in answer.text


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_script_sees_a_network_error_offline(method, client, site):
    """So that it uses its own cache; an only-if-cached request is told that nothing is stored."""
    script = {"Sec_Fetch_Dest": "empty", "Sec_Fetch_Mode": "cors", "Accept": "*/*"}
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        client.get(site.url + "/bee.json", method=method, **script)
    assert client.get(site.url + "/bee.json", Cache_Control="only-if-cached", **script).status == 504
    assert client.get(site.url + "/bee.css", **script).status == 200


def test_a_form_cannot_be_sent(client, site):
    assert client.get(site.url + "/seen.html", method="POST").status == 504


def test_dead_link_is_repaired_offline(client):
    answer = client.repair("http://science.school.test/earth/volcano.htm")
    assert answer.miss == "offline"
    assert answer.told["alternatives"][0]["url"] == "http://science.school.test/earth/volcanoes.html"


def test_the_copy_of_a_page_opens(client, site):
    for url in (site.url + "/seen.html", FARM + "/", "http://science.school.test/earth/volcanoes.html"):
        copy = client.held_copy(url)
        assert copy.status == 200
        assert f'<base href="{url}"' in copy.text
    assert client.held_copy("http://no-such-host.invalid/").status == 404


def test_misses_are_logged_offline_too(client, data):
    client.open_page("http://science.school.test/never-imported.html")

    def listed():
        done = linkmend("misses", "list", "--kind", "offline", "--data", data, "--json")
        return "never-imported" in done.stdout

    eventually(listed, "the miss is not listed")
