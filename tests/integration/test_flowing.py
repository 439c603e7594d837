"""Responses are streamed while the site produces them: slow pages, early responses to uploads."""

import asyncio
import subprocess
import threading

import pytest

from tests.attacks.attackers import connection_to, read_until
from tests.integration.client import NAVIGATION, Client
from tests.integration.origin import Origin, reply
from tests.integration.processes import serving

BEGIN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n"
    b"Cache-Control: max-age=600\r\n\r\n"
)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("flowing") / "data") as proxy:
        yield proxy


@pytest.fixture(scope="module")
def site():
    with Origin() as here:
        yield here


def test_slowly_generated_page_is_streamed(running, site):
    """The site continues only once the user has received the first part."""
    has_come = threading.Event()

    async def slow(exchange):
        await exchange.send(BEGIN + b"9\r\n<h1>first\r\n")
        await asyncio.to_thread(has_come.wait, 60)
        await exchange.send(b"a\r\n<h1>second\r\n0\r\n\r\n" if has_come.is_set() else b"0\r\n\r\n")

    site.pages["/slow"] = slow
    fields = "".join(f"{name}: {value}\r\n" for name, value in NAVIGATION.items())
    with connection_to(running, timeout_s=60) as connection:
        head = f"GET {site.url}/slow HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n{fields}\r\n"
        connection.sendall(head.encode())
        assert b"<h1>first" in read_until(connection, b"<h1>first")
        has_come.set()
        assert b"<h1>second" in read_until(connection, b"0\r\n\r\n")
    assert "<h1>first<h1>second" in Client(running.url).open_page(site.url + "/slow").text
    assert site.asked["/slow"] == 1  # it was stored all the same


def test_page_cut_off_at_its_start_is_repaired(running, site):
    async def cut(exchange):
        await exchange.send(BEGIN + b"9\r\n<h1>first\r\n")
        exchange.writer.close()

    site.pages["/cut"] = cut
    assert Client(running.url).open_page(site.url + "/cut").miss == "unreachable"


class Impatient:
    """A site that answers an upload before it has read it, and closes."""

    async def serve(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        self.expected = b"expect: 100-continue" in head.lower()
        if b"/large" in head:
            writer.write(
                b"HTTP/1.1 413 Too Large\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ntoo large\r\n0\r\n\r\n"
            )
        else:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" if self.expected else b"")
            await reader.readexactly(3_000_000)
            writer.write(reply("taken"))
        await writer.drain()
        writer.close()

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        server = self._loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)


@pytest.mark.parametrize("expects", [True, False])
def test_an_early_answer_to_an_upload_reaches_the_client(running, program, tmp_path, expects):
    """By curl, which sends Expect: 100-continue for a large upload unless it is switched off."""
    upload = tmp_path / "upload"
    upload.write_bytes(b"u" * 3_000_000)
    curl = [program("curl"), "-sS", "-x", running.url, "--data-binary", f"@{upload}", "-w", " %{http_code}"]
    if not expects:
        curl += ["-H", "Expect:"]
    with Impatient() as site:
        for path, said in (("large", "too large 413"), ("small", "taken 200")):
            url = f"http://127.0.0.1:{site.port}/{path}"
            # The site closes while the upload still comes: on a busy machine the reset may overtake its answer.
            for _ in range(4):
                done = subprocess.run([*curl, url], capture_output=True, text=True, timeout=60)
                if "502" not in done.stdout:
                    break
            assert (done.stdout, done.returncode) == (said, 0), done.stderr
            assert site.expected == expects
