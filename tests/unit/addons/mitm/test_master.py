"""addons.mitm.master: what the lean mitmproxy does when the system has no more to give."""

import asyncio
import errno

import pytest
from mitmproxy.proxy.layers.http import HttpRequestHook

from addons.mitm.master import LeanMaster
from proxy.settings import ProxySettings
from tests.make import a_flow


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_hundred_connections_that_cannot_be_accepted_are_one_line_in_the_log(number, tmp_path, caplog):
    async def exhausted():
        master = LeanMaster(ProxySettings(), str(tmp_path), [])
        loop = asyncio.get_running_loop()
        for _ in range(100):
            master._asyncio_exception_handler(loop, {"exception": OSError(number, "Too many open files")})

    asyncio.run(exhausted())
    (line,) = [record for record in caplog.records if record.name == "addons.mitm.master"]
    assert line.getMessage() == "cannot accept connections: Too many open files"
    assert line.exc_info is None


def test_other_errors_are_told_in_full(tmp_path, caplog):
    async def broken():
        master = LeanMaster(ProxySettings(), str(tmp_path), [])
        master._asyncio_exception_handler(asyncio.get_running_loop(), {"exception": ValueError("a bug")})

    asyncio.run(broken())
    assert "ValueError" in caplog.text


class Listener:
    def __init__(self, then=lambda: None):
        self.then = then
        self.heard = 0

    async def request(self, flow):
        self.heard += 1
        self.then()


def addons_with(listener, folder):
    """The addons of a master that is ready to serve; mitmproxy's own ask for its authority, from 12 on."""
    master = LeanMaster(ProxySettings(), str(folder), [listener])
    master._load_authority()
    return master.addons


async def test_once_it_has_ended_no_addon_is_called_and_nothing_goes_on_unseen(tmp_path):
    listener = Listener()
    addons = addons_with(listener, tmp_path)
    for end, heard in ((lambda: None, 1), (addons.end, 1)):
        end()
        flow = a_flow("http://school.test/")
        flow.live = True
        await addons.trigger_event(HttpRequestHook(flow))
        assert listener.heard == heard
    assert flow.error
    assert addons.begin(HttpRequestHook(flow))


async def test_what_fails_because_it_has_ended_is_no_error(tmp_path, caplog):
    def close_and_fail():
        addons.end()
        raise RuntimeError("cannot schedule new futures after shutdown")

    addons = addons_with(Listener(then=close_and_fail), tmp_path)
    await addons.trigger_event(HttpRequestHook(a_flow("http://school.test/")))
    assert "Traceback" not in caplog.text
