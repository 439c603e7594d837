"""Whether the parent is there, told from what it answers."""

import asyncio
import contextlib

import pytest

from proxy.http.parentprobe import ParentState, judge, probe_parent


@contextlib.asynccontextmanager
async def answering(words, *, hangs=False):
    done = asyncio.Event()

    async def answer(reader, writer):
        await reader.readline()
        writer.write(words)
        if hangs:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        done.set()
        server.close()
        await server.wait_closed()


@pytest.mark.parametrize(
    ("head", "state"),
    [
        ("HTTP/1.1 504 Gateway Timeout\r\nX-Squid-Error: ERR_ONLY_IF_CACHED_MISS 0", ParentState.UP),
        ("HTTP/1.1 502 Bad Gateway", ParentState.UP),
        ("HTTP/1.1 200 OK\r\nVia: 1.1 tinyproxy", ParentState.UP),
        ("HTTP/1.1 403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0", ParentState.DENIED),
        ("HTTP/1.1 407 Proxy Authentication Required", ParentState.DENIED),
        ("HTTP/1.1 200 OK\r\nServer: nginx", ParentState.WRONG),
        ("HTTP/1.1 404 Not Found\r\nServer: nginx", ParentState.WRONG),
        ("HTTP/1.1", ParentState.WRONG),
        ("220 mail.school.test ESMTP", ParentState.WRONG),
        ("", ParentState.WRONG),
    ],
)
def test_what_answers_is_told_by_its_marks(head, state):
    probe = judge(head)
    assert probe.state is state
    assert bool(probe.detail) is (state is not ParentState.UP)


async def test_a_proxy_that_answers_is_up():
    async with answering(b"HTTP/1.1 504 Gateway Timeout\r\nVia: 1.1 squid\r\n\r\n", hangs=True) as parent:
        assert (await probe_parent(parent)).is_usable


async def test_a_parent_that_is_not_there_is_down():
    async with answering(b"") as parent:
        pass
    probe = await probe_parent(parent)
    assert (probe.state, probe.detail, probe.is_usable) == (ParentState.DOWN, "connection refused", False)


async def test_a_parent_that_hangs_is_down():
    async with answering(b"HTTP/1.1 2", hangs=True) as parent:
        probe = await probe_parent(parent, within_s=0.1)
    assert (probe.state, probe.detail) == (ParentState.DOWN, "no answer within 0.1 s")


async def test_a_mail_server_is_known_by_its_first_words():
    async with answering(b"220 mail.school.test ESMTP\r\n", hangs=True) as parent:
        assert (await probe_parent(parent)).state is ParentState.WRONG


async def test_an_endless_head_is_read_in_part_only():
    async with answering(b"HTTP/1.1 504 No\r\nX: " + b"x" * 100_000, hangs=True) as parent:
        assert (await probe_parent(parent)).state is ParentState.UP
