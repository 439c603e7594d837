import asyncio
import time

from mitmproxy.proxy import server

from addons.mitm import watchdog
from addons.mitm.watchdog import SteadyWatchdog


async def test_a_connection_is_closed_once_nothing_has_happened_for_long_enough():
    closed = asyncio.Event()

    async def close():
        closed.set()

    watching = asyncio.create_task(SteadyWatchdog(0.05, close).watch())
    await asyncio.wait_for(closed.wait(), 10)
    await watching


def test_it_does_not_go_by_the_time_of_day():
    before = time.monotonic()
    assert before <= SteadyWatchdog(600, None).last_activity <= time.monotonic()


def test_mitmproxy_uses_it():
    watchdog.install()
    assert server.TimeoutWatchdog is SteadyWatchdog
