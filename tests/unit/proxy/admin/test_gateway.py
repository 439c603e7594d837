"""Over the gateway's socket the proxy says for whom it asks; nobody else can."""

import aiohttp
import pytest
from aiohttp import web

from proxy.admin.auth.middleware import is_gateway
from proxy.admin.gateway import forwarded_client, gateway_headers
from proxy.admin.server import HttpListener


def test_the_proxy_says_for_whom_it_asks():
    passed = forwarded_client(gateway_headers("10.0.0.5", secure=True))
    assert (passed.client, passed.secure, passed.origin) == ("10.0.0.5", True, "https://linkmend.internal")


@pytest.fixture
async def listening(tmp_path):
    """Where an application listens that tells whether it was reached by the gateway's socket."""

    async def tell(request):
        return web.Response(text=str(is_gateway(request)))

    app = web.Application()
    app.router.add_get("/", tell)
    listener = HttpListener(app, what="desk")
    await listener.listen_unix(tmp_path / "admin")
    yield tmp_path / "admin", await listener.listen("127.0.0.1:0")
    await listener.stop()


async def test_only_the_unix_socket_is_the_gateway(listening):
    path, address = listening
    for connector, url, told in (
        (aiohttp.UnixConnector(str(path)), "http://desk/", "True"),
        (aiohttp.TCPConnector(), f"http://{address}/", "False"),
    ):
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
            assert await answer.text() == told


async def test_a_socket_that_a_killed_process_left_is_replaced(tmp_path):
    (tmp_path / "admin").touch()
    listener = HttpListener(web.Application(), what="desk")
    await listener.listen_unix(tmp_path / "admin")
    assert (tmp_path / "admin").is_socket()
    await listener.stop()
