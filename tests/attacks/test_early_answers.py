"""What an origin sent before a request went out does not answer it, by whatever way linkmend reaches that origin."""

import asyncio
import threading

import pytest

from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import ReachPolicy
from repair.fetch import FetchLimits
from tests.attacks.rawservers import HeadsOnly, Relay, kept_connection, page
from tests.integration.client import Client
from tests.integration.origin import certificate
from tests.integration.processes import eventually, serving

WAYS = ["upstream-http", "upstream-https", "parent-https"]


@pytest.mark.parametrize("way", WAYS)
def test_bytes_received_before_a_request_do_not_answer_it_behind_a_proxy(tmp_path, path, way):
    """In a tunnel, mitmproxy's connection to the origin is not the one from which the bytes come."""
    mode, _, scheme = way.partition("-")
    authority, tls = certificate(tmp_path, "127.0.0.1")
    over, evil_sent = threading.Event(), threading.Event()

    def respond(head):
        asked = head.path.removeprefix(f"http://{origin.host}")
        if asked != f"{path}/odd":
            return page(f"honest {asked}")
        return fine_then_evil()

    def fine_then_evil():
        yield page("fine")
        over.wait(60)
        yield page("evil")
        evil_sent.set()

    with Relay() as relay, HeadsOnly(respond, tls=tls if scheme == "https" else None) as origin:
        parent = f'parent = "{relay.url}"\nparent_https = "connect"\n' if mode == "parent" else ""
        settings = f'[proxy]\ntrusted_ca = "{authority}"\n{parent}'
        further = ("--mode", f"upstream:{relay.url}") if mode == "upstream" else ()
        with serving(tmp_path / "data", *further, settings=settings) as running:
            with kept_connection(running, origin) as client:
                # Until it is known in memory what is stored, the disk is looked at, which takes a while.
                for number in range(25):
                    assert client.ask(f"{path}/{number}")[2] == f"honest {path}/{number}".encode()
                assert client.ask(f"{path}/odd")[2] == b"fine"
                passed = relay.passed
                with running.held_still():
                    client.send(f"{path}/victim")
                    over.set()
                    assert evil_sent.wait(30)
                    eventually(lambda: relay.passed > passed, "the relay has not passed it on")
                assert client.read()[2] == f"honest {path}/victim".encode()
            bob = Client(running.url, running.ca, source="127.0.2.72")
            assert bob.get(f"{origin.url}{path}/victim").text == f"honest {path}/victim"
            used = {origin.heads[number].connection for number in range(25)}
            assert len(used) == 1, "connections to the origin are not kept: nothing was tried"


@pytest.mark.parametrize("is_busy", [False, True], ids=["read", "not read yet"])
async def test_bytes_received_before_a_request_of_our_own_do_not_answer_it(is_busy):
    """What linkmend fetches itself is saved for everybody."""
    evil_sent = threading.Event()

    def fine_then_evil():
        yield page("fine")
        yield 0.2
        yield page("evil")
        evil_sent.set()

    with HeadsOnly(
        lambda head: fine_then_evil() if head.path == "/odd" else page(f"honest {head.path}")
    ) as origin:
        client = HttpClient(ConnectGuard(lambda: ReachPolicy(allowed=["127.0.0.0/8"])), purpose="is tested")

        async def fetch(path):
            limits = FetchLimits(max_bytes=10_000, timeout_s=5)
            return (await client.get(origin.url + path, limits=limits, headers={})).body

        assert await fetch("/odd") == b"fine"
        assert evil_sent.wait(10) if is_busy else await asyncio.to_thread(evil_sent.wait, 10)
        if not is_busy:
            await asyncio.sleep(0.1)
        assert [await fetch(f"/{number}") for number in range(3)] == [
            b"honest /0",
            b"honest /1",
            b"honest /2",
        ]
        await client.close()
        assert origin.connections == 2, "connections are not kept: nothing was tried"
