"""Web sockets pass byte by byte: nothing in them is read, held, answered or made anew, and rules hold for them."""

import contextlib
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest

from tests.integration.origin import certificate
from tests.integration.processes import eventually, serving

ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
GREETING = b"\x81\x05hello"
INVALID = b"\xf1\x03bad"  # with bits that nobody has agreed on
CLOSE = b"\x88\x82\x00\x00\x00\x00\x03\xe8"
QUICK = "request_timeout_s = 1.0\nkeep_alive_s = 1.0\nfirst_byte_timeout_s = 1.0\nidle_timeout_s = 1.0\n"


class Peer:
    """A server that greets at once, and keeps what it is sent; what it says is said by the test."""

    def __init__(self, tls):
        self._tls = tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.got, self.size, self.connection = b"", 0, None
        self.ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += connection.recv(1)
            self.got, self.size, self.connection = b"", 0, connection
            self.ended.clear()
            connection.sendall(ACCEPTED + GREETING)
            while piece := connection.recv(1 << 20):
                self.size += len(piece)
                self.got = (self.got + piece)[:100]
        self.ended.set()

    def close(self):
        self._socket.close()


@pytest.fixture(scope="module", params=["http", "https"])
def peer(request, tmp_path_factory):
    pem, context = certificate(tmp_path_factory.mktemp("peer"), "127.0.0.1")
    with contextlib.closing(Peer(context if request.param == "https" else None)) as running:
        running.scheme, running.pem = request.param, pem
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, peer):
    data = tmp_path_factory.mktemp("sockets") / "data"
    (data / "rules.d").mkdir(parents=True)
    rules = '[[rule]]\nurl = "*/blocked"\naction = "block"\n'
    (data / "rules.d" / "10.toml").write_text(rules, encoding="utf-8")
    settings = f'[proxy]\ntrusted_ca = "{peer.pem}"\n{QUICK}'
    with serving(data, settings=settings) as proxy:
        yield proxy


@contextlib.contextmanager
def opened(running, peer, path="/chat"):
    """A connection that has asked for a web socket, and what it was answered."""
    host = f"127.0.0.1:{peer.port}"
    with contextlib.ExitStack() as stack:
        connection = socket.create_connection(("127.0.0.1", running.port), timeout=30)
        stack.enter_context(connection)
        target = f"http://{host}{path}"
        if peer.scheme == "https":
            connection.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            context = ssl.create_default_context(cafile=str(running.ca))
            connection = stack.enter_context(context.wrap_socket(connection, server_hostname="127.0.0.1"))
            target = path
        lines = (
            f"GET {target} HTTP/1.1",
            f"Host: {host}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        )
        connection.sendall("\r\n".join((*lines, "", "")).encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(65536)
        yield connection, answer


def read(connection, waiting, length):
    while len(waiting) < length:
        piece = connection.recv(65536)
        assert piece, "the connection has ended"
        waiting += piece
    return waiting


def test_what_is_said_passes_as_it_is_in_both_directions(running, peer):
    with opened(running, peer) as (connection, answer):
        head, _, said = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert read(connection, said, len(GREETING)) == GREETING
        peer.connection.sendall(INVALID)
        assert read(connection, b"", len(INVALID)) == INVALID
        connection.sendall(CLOSE)
        eventually(lambda: peer.got == CLOSE, "the end is not passed on")
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):  # only the other end may answer that
            connection.recv(1)
        connection.settimeout(20)
        peer.connection.sendall(b"\x88\x02\x03\xe8")
        assert read(connection, b"", 4) == b"\x88\x02\x03\xe8"
    assert peer.ended.wait(10)


def test_a_socket_may_rest_for_longer_than_any_request(running, peer):
    with opened(running, peer) as (connection, answer):
        read(connection, answer.partition(b"\r\n\r\n")[2], len(GREETING))
        time.sleep(3.5)
        connection.sendall(b"after a rest")
        eventually(lambda: peer.got == b"after a rest", "the socket was ended")


def test_a_message_without_an_end_is_not_held(running, peer):
    with opened(running, peer) as (connection, answer):
        read(connection, answer.partition(b"\r\n\r\n")[2], len(GREETING))
        before, piece = memory(running), b"\x00\xff" + (1 << 20).to_bytes(8, "big") + b"\0" * (4 + (1 << 20))
        connection.sendall(b"\x02" + piece[1:])
        for _ in range(149):
            connection.sendall(piece)
        eventually(lambda: peer.size == 150 * len(piece), "not all has arrived")
        assert memory(running) - before < 30 * 1024 * 1024


def memory(running):
    pages = Path(f"/proc/{running.process.pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def test_a_rule_that_blocks_an_address_blocks_its_sockets(running, peer):
    peer.connection = None
    with opened(running, peer, "/blocked") as (_, answer):
        assert answer.startswith(b"HTTP/1.1 403 ")
    assert peer.connection is None
