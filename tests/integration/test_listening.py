"""linkmend is reached by IPv4 and IPv6 where it should be, with one worker and with several."""

import socket
import sys

import pytest

from tests.integration.origin import reply
from tests.integration.processes import Running, free_port, surroundings


@pytest.fixture
def serve(tmp_path):
    """Starts `linkmend serve` on an address of the test's choice."""
    started = []

    def start(*arguments, workers):
        command = [sys.executable, "-m", "proxy.main", "serve", "--data", tmp_path / "data", *arguments]
        also = {"LINKMEND_PROXY_WORKERS": str(workers), "LINKMEND_PROXY_BALLAST_BYTES": "0"}
        running = Running(command, env={**surroundings(), **also})
        started.append(running)
        return running.wait_for_line("linkmend ready on ")

    yield start
    for running in started:
        running.stop()


def says(host, port, request):
    with socket.create_connection((host, port), timeout=20) as client:
        client.sendall(request)
        return client.recv(65536)


@pytest.fixture
def port():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    return free_port()


@pytest.mark.parametrize("workers", [1, 2])
def test_listening_on_ipv6_any_includes_ipv4(serve, origin, port, workers):
    origin.pages["/page"] = reply("hello")
    assert serve("--listen", f"[::]:{port}", workers=workers) == f"linkmend ready on http://[::]:{port}"
    request = f"GET {origin.url}/page HTTP/1.1\r\nHost: 127.0.0.1:{origin.port}\r\n\r\n".encode()
    for host in ("127.0.0.1", "::1"):
        assert says(host, port, request).startswith(b"HTTP/1.1 200 OK"), host


@pytest.mark.parametrize("workers", [1, 2])
def test_transparent_mode_listens_on_ipv4_and_ipv6(serve, port, workers):
    """nft redirects both; without a redirect it closes the connection, but it listens."""
    ready = serve("--listen", f"0.0.0.0:{port}", "--mode", "transparent", workers=workers)
    assert ready == f"linkmend ready on http://0.0.0.0:{port}"
    for host in ("127.0.0.1", "::1"):
        socket.create_connection((host, port), timeout=20).close()


def test_listening_on_one_address_excludes_others(serve, port):
    serve("--listen", f"127.0.0.1:{port}", workers=1)
    socket.create_connection(("127.0.0.1", port), timeout=20).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("::1", port), timeout=20)
