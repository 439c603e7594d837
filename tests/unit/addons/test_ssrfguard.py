"""addons.ssrfguard: what mitmproxy may connect to, by what is written and by what is connected to."""

import asyncio
import socket
from types import SimpleNamespace

import pytest
from mitmproxy.connection import Server
from mitmproxy.flow import Error
from mitmproxy.proxy.mode_specs import ProxyMode

from addons.flowstate import AnsweredBy, state_of
from addons.mitm.dns import DnsLookups
from addons.ssrfguard import SsrfGuard, _purpose
from proxy.headers.navigation import is_navigation
from proxy.reach.policy import OUT_OF_REACH, ReachPolicy
from tests.make import a_flow

PERSON = [("Accept", "text/html"), ("Accept-Language", "es")]


def a_guard(*chosen, **reach):
    limits = {"ports": ("80", "443"), "connect_ports": ("443",)}
    return SsrfGuard(lambda: ReachPolicy(**{**limits, **reach}), chosen=lambda: chosen, portal=lambda: True)


def told(address, mode="regular", protocol="tcp"):
    client = SimpleNamespace(proxy_mode=ProxyMode.parse(mode))
    return SimpleNamespace(server=Server(address=address, transport_protocol=protocol), client=client)


def connected(guard, data, resolves_to):
    """What comes of a connection that mitmproxy opens after its hook, in the same task."""

    def look_up(host, port, *_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (resolves_to, port))]

    async def connect():
        loop = asyncio.get_running_loop()
        DnsLookups(look_up).install(loop)
        guard.install(loop)
        guard.server_connect(data)
        _, writer = await asyncio.open_connection(*data.server.address)
        writer.close()

    asyncio.run(connect())


@pytest.fixture(autouse=True)
def nobody_is_guarded_afterwards():
    """The hook marks the task that connects; here that is the test itself, and all tests after it."""
    yield
    _purpose.set("")


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "school.test"])
def test_what_counts_is_the_address_connected_to(listening, host):
    with pytest.raises(OSError, match=OUT_OF_REACH):
        connected(a_guard(), told((host, listening)), "127.0.0.1")


def test_what_may_be_reached_is_connected_to(listening):
    connected(a_guard(allowed=["127.0.0.0/8"]), told(("school.test", listening)), "127.0.0.1")


@pytest.mark.parametrize("mode", ["regular", "reverse:http://127.0.0.1:{}", "upstream:http://127.0.0.1:{}"])
def test_what_the_admin_has_chosen_is_not_asked_about(listening, mode):
    place = ("127.0.0.1", listening)
    chosen = [place] if mode == "regular" else []
    connected(a_guard(*chosen), told(place, mode.format(listening)), "127.0.0.1")


def test_connections_that_are_not_mitmproxys_are_left_alone(listening):
    async def connect():
        a_guard().install(asyncio.get_running_loop())
        _, writer = await asyncio.open_connection("127.0.0.1", listening)
        writer.close()

    asyncio.run(connect())


def test_only_tcp_is_spoken():
    data = told(("93.184.216.34", 443), protocol="udp")
    a_guard().server_connect(data)
    assert OUT_OF_REACH in data.server.error


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://2130706433/", "http://localhost/", "http://school.test:25/"]
)
def test_a_person_who_asks_for_it_gets_a_page_in_their_language(url):
    flow = a_flow(url, headers=PERSON)
    a_guard().request(flow)
    assert flow.response.status_code == 403
    assert flow.response.headers["content-language"] == "es"
    assert "destination_ip_prohibited" in flow.response.headers["proxy-status"]
    assert state_of(flow).answered_by is AnsweredBy.REFUSED
    assert is_navigation("GET", PERSON)


def test_a_program_gets_a_line():
    flow = a_flow("http://127.0.0.1/")
    a_guard().request(flow)
    assert flow.response.headers["content-type"].startswith("text/plain")


def test_others_go_on():
    for url in ("http://school.test/", "http://10.0.0.1/", "https://school.test/"):
        flow = a_flow(url)
        a_guard().request(flow)
        assert flow.response is None


def test_an_upload_that_is_streamed_is_refused_before_it_begins():
    flow = a_flow("http://127.0.0.1/", method="POST")
    flow.request.stream = True
    a_guard().requestheaders(flow)
    assert flow.response.status_code == 403
    assert not flow.request.stream


def test_a_tunnel_to_a_port_of_another_protocol_is_refused():
    for port, refused in ((443, False), (25, True), (22, True)):
        flow = a_flow(f"http://school.test:{port}/", method="CONNECT")
        a_guard().http_connect(flow)
        assert (flow.response is not None) == refused


def test_nobody_asks_for_the_parent_itself():
    guard = a_guard(("squid.school.test", 3128), connect_ports=("1-65535",))
    for hook, method in ((guard.http_connect, "CONNECT"), (guard.request, "GET")):
        flow = a_flow("http://Squid.school.test:3128/", method=method)
        hook(flow)
        assert flow.response.status_code == 403


def test_a_connection_that_was_not_made_is_told_and_is_no_failure_of_the_site():
    flow = a_flow("http://rebound.test/", headers=PERSON)
    flow.error = Error(f"{OUT_OF_REACH}: 127.0.0.1")
    a_guard().error(flow)
    assert flow.response is None
    state_of(flow).is_answerable = True
    a_guard().error(flow)
    assert flow.response.status_code == 403
