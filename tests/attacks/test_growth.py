"""However much one user requests, storage is bounded, and others keep their share."""

import contextlib
import json
import socket
import sqlite3
from types import SimpleNamespace

import pytest

from tests.attacks.attackers import connection_to, read_until
from tests.integration.client import Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, serving

MACHINE = "Accept: application/json\r\n"
LOG_BYTES = 240_000
MOST_PAGES = 40
SETTINGS = f"""
[misses]
log_bytes = {LOG_BYTES}
[collection]
max_pages = {MOST_PAGES}
commit_every_s = 0.2
"""
FILES = 500
"""Open files: a third of what is left of them is for clients, a hundred."""


@pytest.fixture(scope="module")
def everywhere():
    """A site at every address of loopback."""
    with Origin(host="0.0.0.0") as running:
        running.at = lambda address: f"http://{address}:{running.port}"
        yield running


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A name server that knows a school's site, and any number of hosts of another."""
    hosts = ["museum.test", *(f"h{number}.evil.test" for number in range(100))]
    file = tmp_path_factory.mktemp("names") / "names.json"
    file.write_text(json.dumps({host: ["127.0.0.1"] for host in hosts}), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def running(tmp_path_factory, names):
    data = tmp_path_factory.mktemp("growth") / "data"
    with serving(data, settings=SETTINGS, names=names, files=FILES) as proxy:
        yield proxy


@pytest.fixture
def flood(running):
    """Request many addresses over one connection, from one address."""

    def ask(urls, fields, *, source="127.0.1.71"):
        statuses = []
        with connection_to(running, source=source, timeout_s=20) as client:
            reader = client.makefile("rb")
            for url in urls:
                host = url.split("/")[2]
                client.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode())
                statuses.append(int(reader.readline().split()[1]))
                length = 0
                while line := reader.readline().strip().lower():
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                reader.read(length)
        return statuses

    return ask


def noted(running):
    """The misses in the log, rotated files included."""
    files = sorted((running.data / "misses").glob("misses.jsonl*"))
    lines = (line for file in files if file.suffix != ".lock" for line in file.read_text().splitlines())
    return [SimpleNamespace(**json.loads(line)) for line in lines]


def test_one_network_fills_neither_the_miss_log_nor_the_disk(running, site, flood, bob):
    """Without a share: 46 misses a second of 37 kB each, without end."""
    lost = f"{site.url}/lost-by-bob"
    assert bob.repair(lost).miss == "not_found"
    long = "-and-so-on" * 150
    for device in range(1, 9):
        urls = [f"{site.url}/lost/{device}/{number}{long}" for number in range(20)]
        assert set(flood(urls, MACHINE, source=f"127.0.1.{device}")) == {404}, "all are answered"
    eventually(lambda: "no more of them are noted" in running.output, "all were noted")
    assert bob.repair(lost + "-later").miss == "not_found"
    eventually(lambda: [each for each in noted(running) if each.url == lost + "-later"], "bob's is not noted")
    events = noted(running)
    assert [each for each in events if each.url == lost], "what bob missed before is still there"
    theirs = sum(len(json.dumps(vars(each))) for each in events if "/lost/" in each.url)
    assert LOG_BYTES / 12 < theirs < LOG_BYTES / 6
    folder = running.data / "misses"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 20 * LOG_BYTES


def test_one_network_cannot_evict_service_worker_records_of_others(running, everywhere, flood, bob):
    """Where a network reports more service workers than possible, all sites count as having one, for it alone."""
    here, other = everywhere.at("127.9.0.1"), everywhere.at("127.9.0.2")
    bob.get(f"{here}/sw.js", Service_Worker="script", Sec_Fetch_Dest="serviceworker")
    assert bob.open_page(f"{here}/lost").status == 303, "the control: a site with a worker is known"
    assert bob.open_page(f"{other}/lost").status == 404, "the control: one without is answered in place"
    alice = Client(running.url, source="127.0.5.71")
    assert alice.open_page(f"{other}/lost").status == 404
    urls = [everywhere.at(f"127.8.{number // 250}.{1 + number % 250}") + "/sw.js" for number in range(1_050)]
    for first in range(0, len(urls), 50):  # on several connections, each of which has as many to origins
        flood(urls[first : first + 50], "Service-Worker: script\r\n", source="127.0.5.71")
    with contextlib.closing(sqlite3.connect(running.data / "readers" / "serviceworkers.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM workers").fetchone()[0] <= 1_001
    assert alice.open_page(f"{other}/lost").status == 303
    assert bob.open_page(f"{other}/lost").status == 404
    assert bob.open_page(f"{here}/lost").status == 303


def test_one_domain_does_not_evict_others_from_the_collection(running, site, bob, alice):
    site.pages["/marmots"] = reply(
        "<title>Marmots</title><p>Marmots whistle on mountains.</p>", Cache_Control="max-age=60"
    )
    held = f"http://museum.test:{site.port}/marmots"
    assert bob.open_page(held).status == 200
    eventually(lambda: held in bob.search("Marmots").text, "the page was not read")
    for number in range(100):
        last = "Xylophones" if number == 99 else ""
        site.pages[f"/spam/{number}"] = reply(
            f"<title>Spam {number}</title><p>{last} Bought here, {number}.</p>", Cache_Control="max-age=60"
        )
        url = f"http://h{number}.evil.test:{site.port}/spam/{number}"
        assert alice.open_page(url).status == 200
    eventually(lambda: "spam/99" in bob.search("Xylophones").text, "the last page was not read")
    assert held in bob.search("Marmots").text
    with contextlib.closing(sqlite3.connect(running.data / "collection" / "collection.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM pages").fetchone()[0] <= MOST_PAGES + 1


def test_one_network_cannot_take_all_connections(running, site, path):
    """However many addresses it has; the same function maps IPv6 addresses to networks."""
    site.pages[path] = reply("[hello]", Cache_Control="no-store")
    asked = f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode()

    def is_served(connection):
        with contextlib.suppress(OSError):
            connection.sendall(asked)
            return b"[hello]" in read_until(connection, b"[hello]")
        return False

    with contextlib.ExitStack() as held:

        def connect(source):
            address = ("127.0.0.1", running.port)
            return held.enter_context(
                socket.create_connection(address, timeout=10, source_address=(source, 0))
            )

        crowd = [connect(f"127.6.1.{1 + number % 50}") for number in range(120)]
        served = sum(map(is_served, crowd))
        assert 50 < served < 90
        assert all(is_served(connect("127.7.1.1")) for _ in range(5))
    eventually(lambda: is_served(connect("127.6.1.1")), "who left is still counted")


def test_one_client_cannot_take_all_upstream_connections(running, everywhere, site, path, bob):
    """A connection to the proxy keeps one to every site requested on it."""
    site.pages[path] = everywhere.pages[path] = reply("[hello]", Cache_Control="no-store")
    reached = 0
    with connection_to(running, source="127.0.6.71", timeout_s=20) as client:
        with contextlib.suppress(OSError):
            for number in range(1, 251):
                url = everywhere.at(f"127.5.0.{number}") + path
                client.sendall(f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\n\r\n".encode())
                if b"[hello]" not in read_until(client, b"[hello]"):
                    break
                reached += 1
        assert 50 < reached < 150
        assert bob.get(site.url + path).text == "[hello]"
