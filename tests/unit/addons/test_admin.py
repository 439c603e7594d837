"""addons.admin: what is asked of http://linkmend.internal/admin reaches the desk, and nothing else does."""

import asyncio
import socket

import pytest
from aiohttp import web

from addons import admin
from addons.admin import AdminGateway
from addons.flowstate import AnsweredBy, state_of
from proxy.admin.gateway import forwarded_client, gateway_headers
from proxy.admin.server import HttpListener
from tests.make import a_flow


class Echo:
    """A desk that tells what it was asked."""

    def __init__(self):
        self.asked = []
        self.hold = asyncio.Event()
        self.hold.set()

    async def answer(self, request):
        self.asked.append((request.method, request.raw_path, dict(request.headers), await request.read()))
        await self.hold.wait()
        return web.Response(text="ok", headers={"Set-Cookie": "a=b", "X-Frame-Options": "DENY"})


@pytest.fixture
async def desk(tmp_path):
    echo, app = Echo(), web.Application()
    app.router.add_route("*", "/{path:.*}", echo.answer)
    listener = HttpListener(app, what="desk")
    await listener.listen_unix(tmp_path / "admin")
    echo.admin = AdminGateway(tmp_path / "admin", portal=lambda: True)
    yield echo
    await echo.admin.close()
    await listener.stop()


async def ask(desk, url, **about):
    flow = a_flow(url, **about)
    desk.admin.requestheaders(flow)
    await desk.admin.request(flow)
    return flow


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://linkmend.internal/admin", "/admin"),
        ("http://linkmend.internal/admin?x=%2F..", "/admin?x=%2F.."),
        ("https://linkmend.internal/admin/misses?kind=gone", "/admin/misses?kind=gone"),
    ],
)
async def test_the_portals_admin_paths_reach_the_desk_as_they_were_asked(desk, url, path):
    flow = await ask(desk, url)
    assert desk.asked[0][:2] == ("GET", path)
    assert (flow.response.status_code, flow.response.text, state_of(flow).answered_by) == (
        200,
        "ok",
        AnsweredBy.ADMIN,
    )
    assert flow.response.headers["set-cookie"] == "a=b"
    assert flow.response.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "url",
    [
        "http://school.test/admin",
        "http://linkmend.internal/administrator",
        "http://linkmend.internal/",
        "http://linkmend.internal:8080/admin",
        "http://linkmend.internal.evil.test/admin",
        "http://linkmend.internal@evil.test/admin",
    ],
)
async def test_any_other_address_is_left_alone(desk, url):
    flow = await ask(desk, url)
    assert (desk.asked, flow.response) == ([], None)


async def test_a_host_header_that_claims_the_portal_does_not_lead_to_the_desk(desk):
    flow = await ask(desk, "http://evil.test/admin", headers=[("Host", "linkmend.internal")])
    assert (desk.asked, flow.response) == ([], None)


async def test_the_desk_is_told_for_whom_and_only_by_us(desk):
    forged = [*gateway_headers("10.0.0.1", secure=True).items(), ("linkmend-gateway-client", "10.0.0.1")]
    await ask(desk, "http://linkmend.internal/admin", headers=forged)
    _, _, headers, _ = desk.asked[0]
    passed = forwarded_client(headers)
    assert (passed.client, passed.secure) == ("127.0.0.1", False)
    assert [name.lower() for name in headers].count("linkmend-gateway-client") == 1


async def test_what_belongs_to_one_connection_is_not_passed_on(desk):
    await ask(
        desk,
        "http://linkmend.internal/admin",
        headers=[("Proxy-Authorization", "Basic x"), ("Upgrade", "websocket"), ("Cookie", "linkmend-desk=t")],
    )
    _, _, headers, _ = desk.asked[0]
    assert "Proxy-Authorization" not in headers
    assert "Upgrade" not in headers
    assert headers["Cookie"] == "linkmend-desk=t"


async def test_a_form_is_passed_on(desk):
    flow = a_flow("http://linkmend.internal/admin/login", method="POST")
    flow.request.raw_content = b"password=x"
    await desk.admin.request(flow)
    assert (desk.asked[0][0], desk.asked[0][3]) == ("POST", b"password=x")


@pytest.mark.parametrize(
    "headers", [[("Content-Length", "300000")], [("Transfer-Encoding", "chunked")], [("Content-Length", "x")]]
)
async def test_a_body_that_is_large_or_of_unknown_size_is_refused_before_it_is_read(desk, headers):
    flow = await ask(desk, "http://linkmend.internal/admin/login", method="POST", headers=headers)
    assert (flow.response.status_code, flow.response.headers["connection"]) == (413, "close")
    assert desk.asked == []


async def test_one_client_has_so_many_requests_at_once(desk):
    desk.hold.clear()
    waiting = [asyncio.create_task(ask(desk, "http://linkmend.internal/admin")) for _ in range(6)]
    while len(desk.asked) < 6:
        await asyncio.sleep(0.01)
    async with asyncio.timeout(5):
        assert (await ask(desk, "http://linkmend.internal/admin")).response.status_code == 429
    desk.hold.set()
    assert {flow.response.status_code for flow in await asyncio.gather(*waiting)} == {200}
    assert (await ask(desk, "http://linkmend.internal/admin")).response.status_code == 200


async def test_an_answer_past_all_measure_is_not_held_in_memory(desk, monkeypatch):
    monkeypatch.setattr(admin, "_MAX_ANSWER_BYTES", 1)
    assert (await ask(desk, "http://linkmend.internal/admin")).response.status_code == 503


async def test_without_a_desk_its_address_says_so(tmp_path):
    closed = AdminGateway(tmp_path / "nowhere", portal=lambda: True)
    flow = a_flow("http://linkmend.internal/admin")
    await closed.request(flow)
    await closed.close()
    assert flow.response.status_code == 404


async def test_a_desk_that_does_not_answer_costs_nobody_more(tmp_path, caplog):
    with socket.socket(socket.AF_UNIX) as left:  # by a process that is no more
        left.bind(str(tmp_path / "admin"))
    lost = AdminGateway(tmp_path / "admin", portal=lambda: True)
    flow = a_flow("http://linkmend.internal/admin")
    await lost.request(flow)
    await lost.close()
    assert flow.response.status_code == 503
    assert "desk: no answer" in caplog.text


async def test_where_browsers_do_not_know_of_the_proxy_there_is_no_portal(tmp_path):
    hidden = AdminGateway(tmp_path / "admin", portal=lambda: False)
    flow = a_flow("http://linkmend.internal/admin")
    await hidden.request(flow)
    assert flow.response is None
