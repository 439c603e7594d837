"""The clock is set while linkmend runs, as on machines that get the time some minutes after they start."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest

from tests.integration.client import Client
from tests.integration.clock import Clock, faketime
from tests.integration.origin import hang, reply

HOUR_S = 3600


@pytest.fixture
def clock(tmp_path, pytestconfig):
    if faketime() is None:
        reason = "libfaketime is not installed"
        pytest.fail(reason) if pytestconfig.getoption("--require-real") else pytest.skip(reason)
    return Clock(tmp_path / "clock")


def test_faked_clock_does_not_break_sleep(clock):
    """About the fake clock itself: diskcache and others wait for a database by `time.sleep`."""
    words = "import time; began = time.monotonic(); time.sleep(0.2); assert time.monotonic() - began >= 0.2"
    done = subprocess.run([sys.executable, "-c", words], env={**os.environ, **clock.environment})
    assert done.returncode == 0


def test_hanging_origin_times_out_whatever_the_clock_says(origin, start_linkmend, clock):
    origin.pages["/hangs"] = hang
    settings = "[proxy]\nconnect_timeout_s = 3.0\nfirst_byte_timeout_s = 3.0\n"
    client = Client(start_linkmend(settings=settings, also=clock.environment).url)
    threading.Timer(1.0, clock.set, [-HOUR_S]).start()
    began = time.monotonic()
    assert client.open_page(origin.url + "/hangs").miss == "timeout"
    assert time.monotonic() - began < 20


def test_setting_the_clock_ahead_closes_no_connection(origin, start_linkmend, clock):
    go_on = threading.Event()

    async def two_halves(exchange):
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\nhalf")
        await asyncio.to_thread(go_on.wait, 20)
        await exchange.send(b"half")

    origin.pages["/two-halves"] = two_halves
    origin.pages["/page"] = reply("hello")
    client = Client(start_linkmend(also=clock.environment).url)
    assert client.get(origin.url + "/page").text == "hello"
    threading.Timer(1.0, clock.set, [24 * HOUR_S]).start()
    threading.Timer(3.0, go_on.set).start()
    assert client.open_page(origin.url + "/two-halves").text == "halfhalf"
