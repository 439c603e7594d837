import asyncio
import contextlib

import pytest

from addons.mitm import balancers
from addons.mitm.balancers import introduced
from proxy.reach.proxyprotocol import NoProxyHeader

_HEADER = b"PROXY TCP4 10.1.2.3 127.0.0.1 41000 8080\r\n"


@pytest.fixture
def trust():
    yield balancers.trust
    balancers.trust(())


async def seen(sent):
    """The address that a server sees of somebody who connects and sends this, and what is left to read."""
    found = asyncio.get_running_loop().create_future()

    async def serve(reader, writer):
        try:
            known = await introduced(reader, writer)
            answer = (known.get_extra_info("peername")[0], await reader.read())
            known.write(b"ok")
            known.close()
        except NoProxyHeader as error:
            answer = error
            writer.close()
        found.set_result(answer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(sent)
        writer.write_eof()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        return await found


async def test_the_client_of_a_trusted_balancer_has_its_own_address(trust):
    trust(("127.0.0.0/8",))
    assert await seen(_HEADER + b"GET /") == ("10.1.2.3", b"GET /")


async def test_nobody_else_can_say_who_they_are(trust):
    trust(("192.0.2.0/24",))
    assert await seen(_HEADER) == ("127.0.0.1", _HEADER)


async def test_a_client_behind_a_balancer_cannot_add_a_second_header(trust):
    trust(("127.0.0.0/8",))
    assert await seen(_HEADER + _HEADER.replace(b".3", b".4")) == ("10.1.2.3", _HEADER.replace(b".3", b".4"))


async def test_a_balancer_that_does_not_say_whose_connection_it_is_gets_none(trust):
    trust(("127.0.0.0/8",))
    assert isinstance(await seen(b"GET http://a.test/ HTTP/1.1\r\n\r\n"), NoProxyHeader)


async def test_a_balancer_that_says_nothing_is_not_waited_for(trust):
    trust(("127.0.0.0/8",))
    reader = asyncio.StreamReader()

    class Silent:
        def get_extra_info(self, _):
            return ("127.0.0.1", 1)

    with pytest.raises(NoProxyHeader, match="in time"):
        await introduced(reader, Silent(), within_s=0.01)
