import asyncio
import socket

import pytest

from proxy.eventloops import end_quietly, stop_accepting


async def leave_a_connection_open():
    end_quietly(asyncio.get_running_loop())
    is_served = asyncio.Event()

    async def serve(reader, writer):
        is_served.set()
        await reader.read()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    await is_served.wait()
    return writer


def test_connections_that_are_open_at_the_end_are_not_told_of(caplog):
    asyncio.run(leave_a_connection_open())
    assert caplog.messages == []


def test_what_really_failed_is(caplog):
    async def fail():
        end_quietly(asyncio.get_running_loop())
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    asyncio.run(fail())
    assert "Exception in callback" in caplog.text


@pytest.mark.parametrize("later", range(5))
async def test_who_comes_while_a_server_closes_costs_no_word_in_the_log(later):
    told = []
    loop = asyncio.get_running_loop()
    loop.set_debug(True)  # linkmend runs with -O, where it would be told in any case
    loop.set_exception_handler(lambda loop, context: told.append(context))
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()):
        for _ in range(later):  # from not accepted yet to served
            await asyncio.sleep(0)
        await stop_accepting(server)
        for _ in range(9):
            await asyncio.sleep(0)
    assert not told
