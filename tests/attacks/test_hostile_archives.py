"""A hostile web archive costs its own response: nothing of it reaches pages, moves or other hosts."""

import asyncio
import contextlib
import gzip
import re
import sqlite3
import time

import pytest

from tests.integration.origin import Origin, reply
from tests.integration.processes import eventually, serving

HELPER = "/.well-known/linkmend"
MEGABYTE = 1024 * 1024
LIST = "application/link-format"
SINCE = "Sat, 01 Mar 2014 00:00:00 GMT"
EVIL = "evil-was-here"
MARKUP = f"</title><script>{EVIL}()</script><img src=x onerror={EVIL}()>"


def memento(address, year=2014):
    return f'<{address}>; rel="memento"; datetime="Sat, 01 Mar {year} 00:00:00 GMT",\n'


def a_list(lost, *lines):
    return reply(f'<{lost}>; rel="original",\n{"".join(lines)}', kind=LIST)


def a_capture(body, *, status="200 OK", **headers):
    return reply(body, status=status, Memento_Datetime="Sat, 01 Mar 2014 00:00:00 GMT", **headers)


async def drip(exchange):
    """A byte now and then, for ever."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\n\r\n<")
    while True:
        await asyncio.sleep(0.2)
        await exchange.send(b"x")


async def pour(exchange):
    """Two hundred megabytes, as fast as possible."""
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nContent-Length: 209715200\r\n\r\n"
    )
    for _ in range(200):
        await exchange.send(b"<http://x/>; rel=memento\n" * 41_944)


class Archives:
    """A site with missing pages, an archive that has them, and hostile ones beside it, all on one port."""

    def __init__(self, origin, inner):
        self.origin, self.inner = origin, inner
        self.evil = f"{origin.url}/evil"

    def describe(self, names):
        origin = self.origin.url
        lines = [f"good wayback={origin}/good/", *(f"{name} wayback={origin}/{name}/" for name in names)]
        return ", ".join(f'"{line}"' for line in lines)

    def lose(self, path):
        """The address of a page that the good archive has."""
        lost = f"http://127.0.0.1:{self.origin.port}{path}"
        self.origin.pages[f"/good/timemap/link/{lost}"] = a_list(
            lost, memento(f"{self.origin.url}/good/20140301000000/{lost}")
        )
        good = "<title>Wells</title><p>Wells and springs.</p>"
        self.origin.pages[f"/good/20140301000000id_/{lost}"] = a_capture(good)
        return lost


HOSTILE = (
    *("foreign", "loopback", "script", "data", "pages", "loop", "inward", "metadata", "field", "bomb"),
    *("pour", "drip", "charset", "deep", "endless", "markup", "moving", "bodybomb"),
)


def hostile_answers(archives, lost):
    """By the name of an archive, its responses for the TimeMap and the capture."""
    url, inner = archives.origin.url, archives.inner.url

    def own(name):
        return memento(f"{url}/{name}/20140301000000/{lost}")

    paged = "".join(
        f'<{url}/pages/timemap/link/{number}/{lost}>; rel="timemap"; type="{LIST}"; from="{SINCE}",\n'
        for number in range(64)
    )
    lists = {
        "foreign": a_list(lost, memento(f"http://{EVIL}.test/20140301000000/{lost}")),
        "loopback": a_list(lost, memento(f"{inner}/secret")),
        "script": a_list(lost, memento(f"javascript:{EVIL}()")),
        "data": a_list(lost, memento(f"data:text/html,{EVIL}")),
        "pages": reply(paged, kind=LIST),
        "loop": reply(status="302 Found", Location=f"{url}/loop/timemap/link/{lost}"),
        "inward": reply(status="302 Found", Location=f"{inner}/secret"),
        "metadata": reply(status="302 Found", Location="http://169.254.169.254/latest/meta-data/"),
        "field": b"HTTP/1.1 200 OK\r\nLink: " + b"<x>; rel=memento," * 60_000 + b"\r\n\r\n",
        "bomb": reply(gzip.compress(b" " * 200 * MEGABYTE, 1), kind=LIST, Content_Encoding="gzip"),
        "pour": pour,
        "drip": drip,
        "charset": reply(b"\xff\xfe<\x00h\x00" * 100_000, kind=f"{LIST}; charset=utf-7"),
        "deep": reply(b"[" * 2_000_000, kind="application/json"),
        "endless": a_list(
            lost,
            *(memento(f"{url}/endless/{number}/{EVIL}", 2001) for number in range(10**14, 10**14 + 60_000)),
        ),
        "markup": a_list(lost, own("markup")),
        "moving": a_list(lost, own("moving")),
        "bodybomb": a_list(lost, own("bodybomb")),
    }
    captures = {
        "markup": a_capture(f"<title>{MARKUP}</title><p>{MARKUP}"),
        "moving": a_capture("", status="301 Moved", Location=f"http://{EVIL}.test/new"),
        "bodybomb": a_capture(gzip.compress(b"<p>" * 70 * MEGABYTE, 1), Content_Encoding="gzip"),
    }
    return lists, captures


@pytest.fixture(scope="module")
def inner():
    """A service of this machine that no archive may redirect to."""
    with Origin() as running:
        running.pages["/secret"] = reply("a secret")
        yield running


@pytest.fixture(scope="module")
def archives(inner):
    with Origin() as origin:
        yield Archives(origin, inner)


@pytest.fixture(scope="module")
def running(tmp_path_factory, archives):
    settings = (
        f"[archives]\nlist = [{archives.describe(HOSTILE)}]\n"
        "archive_deadline_s = 4.0\ndeadline_s = 6.0\nlists_per_minute = 600\npages_per_minute = 600\nat_once = 20\n"
    )
    with serving(tmp_path_factory.mktemp("hostile") / "data", settings=settings) as proxy:
        yield proxy


def late_part(client, lost):
    """The repair page, and what its script gets once all archives have answered."""
    shown = client.open_page(lost)
    miss = re.search(r"miss=([\w-]{22})", shown.text)
    assert miss, shown.text
    place, end = "/".join(lost.split("/")[:3]), time.monotonic() + 40
    while True:
        part = client.open_page(f"{place}{HELPER}/mementos?miss={miss[1]}")
        if "part=1" not in part.text or time.monotonic() > end:
            return shown.text, part.text
        time.sleep(0.5)


def moves(running):
    """The known moves of pages."""
    with contextlib.closing(sqlite3.connect(running.data / "collection" / "collection.sqlite3")) as database:
        return database.execute("SELECT old, new FROM moves").fetchall()


def test_control_a_page_of_an_archive_is_offered_and_its_move_learnt(running, archives, alice):
    lost, new = archives.lose("/lost/control"), f"{archives.origin.url}/moved/control"
    at = f"{archives.origin.url}/good/20140301000000"
    moved = a_capture("", status="301 Moved", Location=f"{at}id_/{new}")
    archives.origin.pages[f"/good/20140301000000id_/{new}"] = archives.origin.pages[
        f"/good/20140301000000id_/{lost}"
    ]
    archives.origin.pages[f"/good/20140301000000id_/{lost}"] = moved
    assert f"{at}/{lost}" in late_part(alice, lost)[1]
    eventually(lambda: (lost, new) in moves(running), "the move was not learnt")


def test_hostile_archive_responses_affect_nothing_else(running, archives, inner, alice):
    lost = archives.lose("/lost/page")
    lists, captures = hostile_answers(archives, lost)
    assert lists.keys() == set(HOSTILE)
    for name, answer in lists.items():
        archives.origin.pages[f"/{name}/timemap/link/{lost}"] = answer
    for name, answer in captures.items():
        archives.origin.pages[f"/{name}/20140301000000id_/{lost}"] = answer
    before = running.peak_memory()
    started = time.monotonic()
    page, part = late_part(alice, lost)
    assert time.monotonic() - started < 40
    assert f"/good/20140301000000/{lost}" in part, "the honest archive is heard"
    for text in (page, part):
        assert f"<script>{EVIL}" not in text
        assert "onerror=evil" not in re.sub(r"&lt;.*?&gt;", "", text)
        assert not re.search(rf"(?:javascript|data):[^\"]*{EVIL}", text)
        assert f"{EVIL}.test" not in text
        assert inner.url not in text
    assert inner.seen == []
    asked = archives.origin.asked
    assert asked[f"/loop/timemap/link/{lost}"] < 10
    assert sum(count for path, count in asked.items() if path.startswith("/pages/")) < 70
    assert running.peak_memory() - before < 100 * MEGABYTE
    assert not [new for _, new in moves(running) if EVIL in new]
    assert alice.repair(f"{archives.origin.url}/lost/other").status == 404, "it goes on"
