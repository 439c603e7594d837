"""proxy.http.client over real connections on loopback."""

import asyncio
import contextlib
import gzip
import socket

import pytest
from aiohttp.resolver import ThreadedResolver

from proxy.http.client import HttpClient
from proxy.http.errors import ForbiddenTarget, InvalidTarget, NoConnection
from proxy.http.guard import ConnectGuard
from proxy.reach.policy import ReachPolicy
from repair.fetch import FetchError, FetchLimits, TooLarge

LIMITS = FetchLimits(max_bytes=10_000, timeout_s=5.0)
LOOPBACK = ReachPolicy(allowed=("127.0.0.0/8",))


@contextlib.asynccontextmanager
async def serving(*answers):
    """A server that sends the same to each request; gives its port and the requests it got."""
    seen = []

    async def serve(reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            seen.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for answer in answers:
                writer.write(answer)
                await writer.drain()
            if not answers:
                await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], seen
    finally:
        server.close()


@contextlib.asynccontextmanager
async def a_client(reach=LOOPBACK, *, chosen=(), **known):
    client = HttpClient(ConnectGuard(lambda: reach, chosen=chosen), purpose="test", **known)
    try:
        yield client
    finally:
        await client.close()


def reply(body=b"", *fields, status="200 OK"):
    lines = "".join(f"{field}\r\n" for field in (*fields, "Connection: close"))
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


async def test_a_request_tells_who_we_are_and_nothing_else():
    here = Rebinding("127.0.0.1", "127.0.0.1")  # a cookie jar takes none of a bare address
    async with serving(reply(b"hello", "Set-Cookie: a=b")) as (port, seen), a_client(resolver=here) as client:
        url = f"http://school.test:{port}/x?y"
        for _ in "ab":
            page = await client.get(url, limits=LIMITS, headers={"Accept": "*/*"})
    assert (page.url, page.status, page.body) == (url, 200, b"hello")
    assert seen[0].startswith("GET /x?y HTTP/1.1\r\n")
    assert "User-Agent: linkmend (test)" in seen[1]
    assert not {"cookie:", "referer:", "authorization:"} & set(seen[1].lower().split())


async def test_redirects_are_not_followed_and_bodies_not_unpacked():
    packed = gzip.compress(b"x" * 1_000_000)
    answer = reply(packed, "Location: /elsewhere", "Content-Encoding: gzip", status="302 Found")
    async with serving(answer) as (port, seen), a_client() as client:
        page = await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS, headers={})
    assert (page.status, page.body, len(seen)) == (302, packed, 1)


@pytest.mark.parametrize("announced", [["Content-Length: 20000"], []])
async def test_an_answer_that_is_too_large_is_not_read(announced):
    async with serving(reply(b"x" * 20_000, *announced)) as (port, _), a_client() as client:
        with pytest.raises(TooLarge):
            await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS, headers={})


@pytest.mark.parametrize(
    "limits",
    [
        FetchLimits(max_bytes=100, timeout_s=0.1),
        FetchLimits(max_bytes=100, timeout_s=9.0, silence_s=0.1),
    ],
)
async def test_who_is_silent_is_given_up(limits):
    async with serving() as (port, _), a_client() as client:
        with pytest.raises(FetchError, match="took too long"):
            await asyncio.wait_for(
                client.get(f"http://127.0.0.1:{port}/", limits=limits, headers={}), timeout=4
            )


async def test_our_own_pauses_do_not_count_and_progress_is_told():
    told = []
    limits = FetchLimits(max_bytes=1_000, timeout_s=0.2)
    answer = reply(b"x" * 100, "Content-Length: 100")
    async with serving(answer) as (port, _), a_client(pause_after=lambda received: 0.3) as client:
        await client.get(
            f"http://127.0.0.1:{port}/", limits=limits, headers={}, on_bytes=lambda *got: told.append(got)
        )
    assert told == [(100, 100)]


async def test_a_header_field_has_a_limit():
    long = reply(b"", f"Link: {'x' * 20_000}")
    async with serving(long) as (port, _):
        async with a_client() as client:
            with pytest.raises(FetchError):
                await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS, headers={})
        async with a_client(max_field_bytes=65_536) as client:
            page = await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS, headers={})
    assert len(page.header("link")) == 20_000


@pytest.mark.parametrize(
    "url",
    ["http://school.test/\r\nX: y", "http://school.test/ ", "http://é.test/é", "ftp://x/", "http://[::1"],
)
async def test_what_cannot_stand_in_a_request_is_not_sent(url):
    async with a_client() as client:
        with pytest.raises(InvalidTarget):
            await client.get(url, limits=LIMITS, headers={})


class Rebinding(ThreadedResolver):
    """A name server that names one address first, and another one from then on."""

    def __init__(self, first, then):
        super().__init__()
        self.first, self.then = first, then

    async def resolve(self, host, port=0, family=socket.AF_INET):
        address, self.first = self.first, self.then
        return await super().resolve(address, port, family)


@pytest.mark.parametrize("keep_alive", [True, False])
async def test_a_name_that_is_rebound_to_a_forbidden_address_leads_nowhere(keep_alive):
    reach = ReachPolicy(allowed=("127.0.0.2/32",))
    async with serving(reply()) as (port, seen):
        async with a_client(
            reach, resolver=Rebinding("127.0.0.1", "127.0.0.1"), keep_alive=keep_alive
        ) as client:
            with pytest.raises(ForbiddenTarget):
                await client.get(f"http://school.test:{port}/", limits=LIMITS, headers={})
        assert seen == []
    rebinding = Rebinding("127.0.0.1", "169.254.169.254")
    async with serving(reply()) as (port, seen), a_client(resolver=rebinding, keep_alive=False) as client:
        await client.get(f"http://school.test:{port}/", limits=LIMITS, headers={})
        with pytest.raises(ForbiddenTarget):
            await client.get(f"http://school.test:{port}/", limits=LIMITS, headers={})
    assert len(seen) == 1


async def test_a_parent_may_be_on_this_machine_and_is_told_all_but_what_the_admin_chose():
    async with serving(reply(b"parent")) as (parent, asked), serving(reply(b"archive")) as (port, _):
        archive = ("127.0.0.1", port)
        async with a_client(
            ReachPolicy(), chosen=[archive], parent=lambda: f"http://127.0.0.1:{parent}"
        ) as client:
            public = await client.get("http://school.test/", limits=LIMITS, headers={})
            private = await client.get(f"http://127.0.0.1:{port}/", limits=LIMITS, headers={})
            with pytest.raises(ForbiddenTarget):
                await client.get(f"http://127.0.0.1:{parent}/", limits=LIMITS, headers={})
    assert (public.body, private.body) == (b"parent", b"archive")
    assert [line.split()[1] for line in asked] == ["http://school.test/"]


async def test_nobody_there_and_no_such_host_are_told_apart():
    class Failing(ThreadedResolver):
        def __init__(self, number):
            super().__init__()
            self.number = number

        async def resolve(self, host, port=0, family=socket.AF_INET):
            raise OSError(self.number, "failed")

    for number, kind in ((socket.EAI_NONAME, FetchError), (socket.EAI_AGAIN, NoConnection)):
        async with a_client(resolver=Failing(number)) as client:
            with pytest.raises(FetchError) as raised:
                await client.get("http://school.test/", limits=LIMITS, headers={})
        assert type(raised.value) is kind


async def test_a_closed_client_asks_nobody():
    async with a_client() as client:
        pass
    with pytest.raises(NoConnection):
        await client.get("http://school.test/", limits=LIMITS, headers={})
