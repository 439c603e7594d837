"""addons.deadlines: an origin that does not connect, answer or go on in time is given up."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from mitmproxy.connection import Server

from addons.deadlines import Deadlines
from addons.flowstate import state_of
from proxy.settings import ProxySettings
from proxy.timers import HELD_UP_S
from tests import make

SOON = ProxySettings(connect_timeout_s=0.05, first_byte_timeout_s=0.05)


def a_flow(**known):
    """A page that a person opens."""
    return make.a_flow(**{"headers": (("Accept", "text/html"),), **known})


class Connection:
    """What mitmproxy knows of one client's connection and of the one to the origin that its request waits for."""

    def __init__(self, *, connected=True, active_at=0.0):
        self.given_up = asyncio.Event()
        task = SimpleNamespace(cancel=lambda why: self.given_up.set())
        io = SimpleNamespace(writer=object() if connected else None, handler=task)
        self.transports = {Server(address=("school.test", 80)): io}
        self.timeout_watchdog = SimpleNamespace(last_activity=active_at)


def watched(connection, settings=SOON):
    return Deadlines(settings, lambda flow: connection)


async def gave_up(connection):
    await asyncio.wait_for(connection.given_up.wait(), 10)


@pytest.mark.parametrize("connected", [True, False])
async def test_an_origin_that_does_not_answer_or_connect_is_given_up(connected):
    connection, flow = Connection(connected=connected), a_flow()
    watched(connection).request(flow)
    await gave_up(connection)
    assert state_of(flow).timed_out


async def test_every_one_of_several_is_given_up():
    connections = {}
    deadlines = Deadlines(SOON, lambda flow: connections[flow.id])
    for _ in range(5):
        flow = a_flow()
        connections[flow.id] = Connection()
        deadlines.request(flow)
        await asyncio.sleep(0.005)
    for connection in connections.values():
        await gave_up(connection)


async def test_a_body_that_stops_on_its_way_is_given_up():
    connection, flow = Connection(active_at=time.monotonic()), a_flow()
    deadlines = watched(connection)
    deadlines.request(flow)
    flow.response = a_flow(response=(200, (), b"")).response
    deadlines.responseheaders(flow)
    await gave_up(connection)


@pytest.mark.parametrize("ending", ["response", "error"])
async def test_who_was_answered_is_not_given_up(ending):
    slow, answered, flow = Connection(), Connection(), a_flow()
    deadlines = Deadlines(SOON, lambda asked: answered if asked is flow else slow)
    deadlines.request(flow)
    getattr(deadlines, ending)(flow)
    deadlines.request(a_flow())
    await gave_up(slow)  # who came later is done with by now
    assert not answered.given_up.is_set()
    assert not state_of(flow).timed_out


async def test_a_body_that_is_passed_on_as_it_comes_may_rest():
    slow, streaming, flow = Connection(), Connection(), a_flow(response=(200, (), b""))
    streamed, flow.response = flow.response, None
    streamed.stream = True
    deadlines = Deadlines(SOON, lambda asked: streaming if asked is flow else slow)
    deadlines.request(flow)
    flow.response = streamed
    deadlines.responseheaders(flow)
    deadlines.request(a_flow())
    await gave_up(slow)
    assert not streaming.given_up.is_set()


async def test_a_script_waits_for_as_long_as_the_site_takes():
    page, poll, flow = Connection(), Connection(), a_flow(headers=(("Accept", "*/*"),))
    deadlines = Deadlines(SOON, lambda asked: poll if asked is flow else page)
    deadlines.request(flow)
    deadlines.request(a_flow())
    await gave_up(page)
    assert not poll.given_up.is_set()
    deadlines.settings = ProxySettings(connect_timeout_s=0.05, first_byte_timeout_s=0.05, idle_timeout_s=0.1)
    deadlines.request(flow)
    await gave_up(poll)  # within a bound


async def test_a_connection_that_was_made_late_has_its_time_from_then_on():
    connection, flow = Connection(), a_flow()
    deadlines = watched(connection, ProxySettings(connect_timeout_s=0.02, first_byte_timeout_s=0.2))
    deadlines.request(flow)
    await asyncio.sleep(0.1)
    deadlines.server_connected(SimpleNamespace(server=flow.server_conn))
    connected_at = time.monotonic()
    await gave_up(connection)
    assert time.monotonic() - connected_at > 0.15


async def test_shorter_times_count_for_those_under_way_too():
    connection, flow = Connection(), a_flow()
    deadlines = watched(connection, ProxySettings(connect_timeout_s=60, first_byte_timeout_s=60))
    deadlines.request(flow)
    deadlines.settings = SOON
    await gave_up(connection)


async def test_what_an_origin_said_while_the_process_was_held_up_is_read_before_it_is_given_up():
    connection, flow = Connection(), a_flow()
    watched(connection).request(flow)
    time.sleep(0.05 + 2 * HELD_UP_S)  # noqa: ASYNC251  all of the process is held up
    await asyncio.sleep(0.01)
    assert not connection.given_up.is_set()
    await gave_up(connection)


async def test_after_the_end_nobody_is_looked_at():
    connection = Connection()
    deadlines = watched(connection)
    deadlines.request(a_flow())
    deadlines.done()
    await asyncio.sleep(0.1)
    assert not connection.given_up.is_set()
