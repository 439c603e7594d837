"""A device that misses a thousand pages at once delays only itself: others get their repairs in time."""

import json
import threading
from collections import Counter

import pytest

from tests.attacks.attackers import connection_to
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, serving

SETTINGS = "[repair]\nat_once = 4\n[collection]\ncommit_every_s = 0.2\n"
HASTE = 24
"""Connections on which one device misses a page after the other."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("turns") / "data", settings=SETTINGS) as proxy:
        yield proxy


@pytest.fixture
def hasty(running, site):
    """One device that misses pages as fast as it can; counts its responses, by whether they had alternatives."""
    over, got = threading.Event(), Counter()

    def miss(name):
        with connection_to(running, source="127.0.1.71", timeout_s=20) as connection:
            reader = connection.makefile("rb")
            number = 0
            while not over.is_set():
                number += 1
                url = f"{site.url}/lost/{name}/{number}/marmots"
                head = (
                    f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAccept: application/json\r\n\r\n"
                )
                connection.sendall(head.encode())
                length = 0
                while line := reader.readline().strip().lower():
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                got[bool(json.loads(reader.read(length))["alternatives"])] += 1

    threads = [threading.Thread(target=miss, args=(name,), daemon=True) for name in range(HASTE)]
    yield lambda: [thread.start() for thread in threads], got
    over.set()
    for thread in threads:
        thread.join(20)


def test_device_with_many_misses_delays_nobody_else(running, site, alice, hasty):
    title = "<title>Marmots</title><p>Marmots whistle on mountains.</p>"
    site.pages["/marmots"] = reply(title, Cache_Control="max-age=60")
    assert alice.open_page(f"{site.url}/marmots").status == 200
    eventually(lambda: "/marmots" in alice.search("Marmots").text, "the page was not read")
    begin, got = hasty
    begin()
    eventually(lambda: got[False] > 20, "the queue was never full")
    for number in range(12):
        bob = Client(running.url, source=f"127.0.2.{number + 1}")
        assert bob.repair(f"{site.url}/gone/{number}/marmots").told["alternatives"], f"try {number}"
    assert got[True] > 5, "the hasty one has its turns as well"
