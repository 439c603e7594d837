"""A whole class at once: one fetch for all where that is allowed, nobody held up where it is not, little memory."""

import asyncio
import contextlib
import hashlib
import http.client
import threading
import time

import pytest

from tests.integration.client import NAVIGATION, Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, serving

CLASS = 30
MB = 1024 * 1024
PIECE = bytes(range(256)) * 1024  # a quarter of a megabyte


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One linkmend for all: each test has addresses of its own."""
    with serving(tmp_path_factory.mktemp("sharing") / "data") as proxy:
        yield proxy


@pytest.fixture
def pupils(running):
    """Thirty connections to the proxy."""
    connections = [http.client.HTTPConnection("127.0.0.1", running.port, timeout=30) for _ in range(CLASS)]
    yield connections
    for connection in connections:
        connection.close()


def ask_all(pupils, url):
    """Send all requests before reading any answer."""
    for pupil in pupils:
        pupil.request("GET", url, headers=NAVIGATION)


def read_all(pupils):
    answers = [pupil.getresponse() for pupil in pupils]
    return [(answer.status, answer.headers["Cache-Status"], answer.read()) for answer in answers]


def large(size, *, sent=None, pause_s=0.0, **headers):
    """An origin's answer of so many bytes; `sent` grows by one with every piece that the network has taken.

    With a pause the disk keeps up: a body that comes faster than it can be written is not stored, by design.
    """
    lines = [f"Content-Length: {size}", "Content-Type: application/octet-stream"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join(["HTTP/1.1 200 OK", *lines]).encode() + b"\r\n\r\n"

    async def send(exchange):
        await exchange.send(head)
        for _ in range(size // len(PIECE)):
            await exchange.send(PIECE)
            if sent is not None:
                sent.append(len(PIECE))
            if pause_s:
                await asyncio.sleep(pause_s)

    return send


def sha256_of(size):
    digest = hashlib.sha256()
    for _ in range(size // len(PIECE)):
        digest.update(PIECE)
    return digest.hexdigest()


def test_thirty_who_ask_at_once_cost_the_origin_one_fetch(origin, running, pupils):
    asked_by_all = threading.Event()
    body = b"<title>Volcanoes</title>" + b"lava " * 4000

    async def slowly(exchange):
        await asyncio.to_thread(asked_by_all.wait, 20)
        await exchange.send(reply(body, Cache_Control="max-age=60"))

    origin.pages["/volcanoes"] = slowly
    ask_all(pupils, origin.url + "/volcanoes")
    eventually(lambda: origin.asked["/volcanoes"], "the origin was not asked")
    asked_by_all.set()
    answers = read_all(pupils)
    assert {(status, answered) for status, _, answered in answers} == {(200, body)}
    assert origin.asked["/volcanoes"] == 1
    assert sum("collapsed" in told for _, told, _ in answers) > 0


def test_thirty_who_ask_for_what_cannot_be_shared_get_their_own_and_wait_for_nobody(origin, running, pupils):
    asked_by_all, others_are_here = threading.Event(), threading.Event()

    async def personally(exchange):
        number = origin.asked["/marks"]
        if number == 1:
            await asyncio.to_thread(asked_by_all.wait, 20)
        else:
            if number == CLASS:
                others_are_here.set()
            # Were they to come one after the other, the second would wait here in vain.
            await asyncio.to_thread(others_are_here.wait, 15)
        told = f"{number} {others_are_here.is_set() or number == 1}"
        await exchange.send(reply(told, Cache_Control="no-store"))

    origin.pages["/marks"] = personally
    ask_all(pupils, origin.url + "/marks")
    eventually(lambda: origin.asked["/marks"], "the origin was not asked")
    asked_by_all.set()
    answers = read_all(pupils)
    assert sorted(body.decode() for _, _, body in answers) == sorted(f"{n} True" for n in range(1, CLASS + 1))


def test_a_large_file_is_fetched_once_for_several_and_comes_whole_from_disk(origin, running):
    size = 20 * MB
    origin.pages["/film"] = large(size, pause_s=0.01, Cache_Control="max-age=60")
    client = Client(running.url)
    got = []
    readers = [
        threading.Thread(target=lambda: got.append(client.download(origin.url + "/film"))) for _ in range(5)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert [(each.size, each.sha256) for each in got] == [(size, sha256_of(size))] * 5
    assert origin.asked["/film"] == 1

    again = client.download(origin.url + "/film")
    assert "hit" in again.headers["Cache-Status"]
    assert (again.size, again.sha256) == (size, sha256_of(size))
    part = client.get(origin.url + "/film", Range="bytes=1048570-1048585")
    assert (part.status, part.body) == (206, (PIECE * 5)[1048570:1048586])
    assert part.headers["Content-Range"] == f"bytes 1048570-1048585/{size}"
    tail = client.get(origin.url + "/film", Range="bytes=-7")
    assert (tail.status, tail.body) == (206, PIECE[-7:])
    assert origin.asked["/film"] == 1


def test_two_hundred_megabytes_pass_in_little_memory_even_to_a_reader_who_dawdles(tmp_path, origin):
    size, sent = 200 * MB, []
    origin.pages["/dump"] = large(size, sent=sent, Cache_Control="max-age=60")

    def dawdle():
        """Read nothing until nothing more goes out."""
        last, same = -1, 0
        while same < 10:
            same = same + 1 if len(sent) == last else 0
            last = len(sent)
            time.sleep(0.05)

    with serving(tmp_path / "data") as running:
        client = Client(running.url)
        before = running.peak_memory()
        got = client.download(origin.url + "/dump", before_reading=dawdle)
        assert (got.size, got.sha256) == (size, sha256_of(size))
        again = client.download(origin.url + "/dump", before_reading=dawdle)
        assert (again.size, again.sha256) == (size, sha256_of(size))
        assert running.peak_memory() - before < 100 * MB


def test_a_reader_who_leaves_in_the_middle_spoils_nothing_for_the_others(origin, running):
    size = 20 * MB
    origin.pages["/song"] = large(size, Cache_Control="max-age=60")
    leave_in_the_middle(running, origin.url + "/song")
    got = Client(running.url).download(origin.url + "/song")
    assert (got.size, got.sha256) == (size, sha256_of(size))


def test_a_reader_who_has_left_is_not_waited_for_when_the_proxy_stops(origin, start_linkmend):
    origin.pages["/song"] = large(20 * MB, Cache_Control="max-age=60")
    running = start_linkmend()
    leave_in_the_middle(running, origin.url + "/song")
    assert running.stop() == 0
    assert "gave up on responses in flight" not in running.output


def leave_in_the_middle(running, url):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)) as leaving:
        leaving.request("GET", url)
        answer = leaving.getresponse()
        assert len(answer.read(100_000)) == 100_000
        answer.close()
