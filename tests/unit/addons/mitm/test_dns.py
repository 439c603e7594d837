"""addons.mitm.dns: names of one domain cannot hold up the others."""

import asyncio
import socket
import threading
import time

import pytest

from addons.mitm.dns import DnsLookups

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))]


class NameServer:
    """Answers at once, but for names under slow.example, which it answers when it is told to."""

    def __init__(self):
        self.asked = []
        self.go_on = threading.Event()

    def __call__(self, host, *_):
        self.asked.append(host)
        if host.endswith("slow.example"):
            self.go_on.wait(10)
        if host.startswith("no-such"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host.startswith("\u00fc" * 70):
            host.encode("idna")
        return FOUND


@pytest.fixture
def names():
    server = NameServer()
    yield server
    server.go_on.set()


def test_hundreds_of_slow_names_of_one_domain_leave_the_others_alone(names):
    async def ask():
        lookups = DnsLookups(names)
        slow = [asyncio.ensure_future(lookups.getaddrinfo(f"h{n}.slow.example", 80)) for n in range(200)]
        await asyncio.sleep(0)
        async with asyncio.timeout(5):
            assert await lookups.getaddrinfo("other.example", 80) == FOUND
        assert sum(host.endswith("slow.example") for host in names.asked) <= 4
        names.go_on.set()
        assert await asyncio.gather(*slow) == [FOUND] * 200
        assert not lookups._domains
        assert not lookups._lookups

    asyncio.run(ask())


def test_all_who_ask_for_a_name_at_once_share_one_look_up(names):
    async def ask():
        lookups = DnsLookups(names)
        names.go_on.set()
        answers = await asyncio.gather(*(lookups.getaddrinfo("a.slow.example", 80) for _ in range(50)))
        assert answers == [FOUND] * 50
        assert len(names.asked) == 1

    asyncio.run(ask())


def test_what_nobody_waits_for_any_more_is_not_looked_up(names):
    async def ask():
        lookups = DnsLookups(names)
        slow = [asyncio.ensure_future(lookups.getaddrinfo(f"h{n}.slow.example", 80)) for n in range(50)]
        await asyncio.sleep(0.05)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        names.go_on.set()
        async with asyncio.timeout(5):
            assert await lookups.getaddrinfo("last.slow.example", 80) == FOUND
        assert len(names.asked) == 5
        async with asyncio.timeout(5):
            while lookups._domains:  # those who were let go end in their own time
                await asyncio.sleep(0.01)

    asyncio.run(ask())


def test_who_leaves_does_not_take_the_answer_from_the_others(names):
    async def ask():
        lookups = DnsLookups(names)
        first, second = (asyncio.ensure_future(lookups.getaddrinfo("a.slow.example", 80)) for _ in range(2))
        await asyncio.sleep(0.05)
        first.cancel()
        names.go_on.set()
        assert await second == FOUND

    asyncio.run(ask())


def test_a_name_that_was_not_found_is_not_asked_for_again_at_once(names):
    async def ask():
        now = [time.monotonic()]
        lookups = DnsLookups(names, clock=lambda: now[0])
        for _ in range(3):
            with pytest.raises(socket.gaierror, match=r"\[Errno -2\] Name or service not known"):
                await lookups.getaddrinfo("no-such.example", 80)
        assert len(names.asked) == 1
        now[0] += 5
        with pytest.raises(socket.gaierror):
            await lookups.getaddrinfo("no-such.example", 80)
        assert len(names.asked) == 2

    asyncio.run(ask())


def test_a_host_that_can_be_no_name_is_not_found(names):
    async def ask():
        with pytest.raises(socket.gaierror):
            await DnsLookups(names).getaddrinfo("\u00fc" * 70 + ".example", 80)

    asyncio.run(ask())


def test_the_event_loop_asks_here(names):
    async def ask():
        lookups = DnsLookups(names)
        lookups.install(asyncio.get_running_loop())
        with pytest.raises(OSError, match="Connect call failed|refused"):
            await asyncio.open_connection("school.example", 1)
        assert names.asked == ["school.example"]

    asyncio.run(ask())
