"""addons.master: what the lean mitmproxy does when the system has no more to give."""

import asyncio
import errno

import pytest

from addons.master import LeanMaster
from proxy.settings import ProxySettings


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_hundred_connections_that_cannot_be_accepted_are_one_line_in_the_log(number, tmp_path, caplog):
    async def exhausted():
        master = LeanMaster(ProxySettings(), str(tmp_path), [])
        loop = asyncio.get_running_loop()
        for _ in range(100):
            master._asyncio_exception_handler(loop, {"exception": OSError(number, "Too many open files")})

    asyncio.run(exhausted())
    (line,) = caplog.records
    assert line.getMessage() == "cannot accept connections for now: Too many open files"
    assert line.exc_info is None


def test_other_errors_are_told_in_full(tmp_path, caplog):
    async def broken():
        master = LeanMaster(ProxySettings(), str(tmp_path), [])
        master._asyncio_exception_handler(asyncio.get_running_loop(), {"exception": ValueError("a bug")})

    asyncio.run(broken())
    assert "ValueError" in caplog.text
