"""Web sockets: only a complete handshake makes a tunnel, rules apply to it, and messages are neither read nor
buffered.
"""

import base64
import contextlib
import hashlib
import socket
import threading
import time

import pytest

from tests.attacks.attackers import read_until
from tests.integration.client import connection_to_site
from tests.integration.origin import certificate
from tests.integration.processes import eventually, serving

KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
ASKED = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY + b"\r\n"
)
ACCEPT = base64.b64encode(hashlib.sha1(KEY + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
OPENED = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Accept: " + ACCEPT + b"\r\n\r\n"
)
GREETING = b"\x81\x05hello"
INVALID = b"\xf1\x03bad"  # with reserved bits
CLOSE = b"\x88\x82\x00\x00\x00\x00\x03\xe8"
SETTINGS = """[proxy]
trusted_ca = "{pem}"
request_timeout_s = 1.0
keep_alive_s = 1.0
first_byte_timeout_s = 1.0
idle_timeout_s = 1.0
"""
MEGABYTE = 1024 * 1024


class Peer:
    """A server that answers a first request with `says` and records what follows; the test sends the rest."""

    def __init__(self, tls):
        self.tls = tls
        self.says, self.got, self.size, self.connection = OPENED, b"", 0, None
        self.ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            head = b""
            while not head.endswith(b"\r\n\r\n") and (piece := connection.recv(1)):
                head += piece
            self.got, self.size, self.connection = b"", 0, connection
            self.ended.clear()
            connection.sendall(self.says)
            while piece := connection.recv(MEGABYTE):
                self.size += len(piece)
                self.got = (self.got + piece)[:100]
            connection.close()
        self.ended.set()

    def close(self):
        self._listening.close()


@pytest.fixture(scope="module")
def trusted(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("peer"), "127.0.0.1")


@pytest.fixture(scope="module")
def running(tmp_path_factory, trusted):
    data = tmp_path_factory.mktemp("sockets") / "data"
    (data / "rules.d").mkdir(parents=True)
    rules = '[[rule]]\nurl = "*/blocked"\naction = "block"\n'
    (data / "rules.d" / "10.toml").write_text(rules, encoding="utf-8")
    with serving(data, settings=SETTINGS.format(pem=trusted[0])) as proxy:
        yield proxy


@pytest.fixture(scope="module", params=["http", "https"])
def server(request, trusted):
    with contextlib.closing(Peer(trusted[1] if request.param == "https" else None)) as peer:
        yield peer


@pytest.fixture
def peer(server):
    """A server that sends a greeting on each new web socket."""
    server.says, server.connection = OPENED + GREETING, None
    return server


def asking(peer, path, fields=ASKED):
    place = b"127.0.0.1:%d" % peer.port
    target = b"" if peer.tls else b"http://" + place
    return b"GET %s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, path.encode(), place, fields)


@contextlib.contextmanager
def opened(running, peer, path="/chat"):
    """A connection with an open web socket, after the greeting."""
    with connection_to_site(running, peer.port, tls=bool(peer.tls)) as connection:
        connection.sendall(asking(peer, path))
        answer = read(connection, GREETING)
        assert answer.startswith(b"HTTP/1.1 101 ")
        assert answer.partition(b"\r\n\r\n")[2] == GREETING
        yield connection


def read(connection, end):
    """What comes up to `end`; fails if the connection ends before."""
    got = b""
    while not got.endswith(end):
        piece = connection.recv(65536)
        assert piece, f"the connection has ended after {got!r}"
        got += piece
    return got


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (ASKED.replace(b"13", b"99"), OPENED),
        (ASKED.replace(b"Sec-WebSocket-Version: 13\r\n", b""), OPENED),
        (ASKED.replace(b"Sec-WebSocket-Key: " + KEY + b"\r\n", b""), OPENED),
        (ASKED, OPENED.replace(ACCEPT, b"AAAA")),
        (ASKED, OPENED.replace(b"Upgrade: websocket", b"Upgrade: h2c")),
    ],
    ids=["another version", "no version", "no key", "wrong accept", "another protocol"],
)
def test_a_tunnel_needs_the_whole_handshake(running, server, path, fields, said):
    smuggled = b"GET /past-the-rules HTTP/1.1\r\nHost: x\r\n\r\n"
    for asked, answer, status in ((ASKED, OPENED, b"101"), (fields, said, b"502")):
        server.says = answer
        with connection_to_site(running, server.port, tls=bool(server.tls)) as client:
            client.settimeout(3)
            client.sendall(asking(server, path, asked) + smuggled)
            assert read_until(client, b"\r\n\r\n").split(b" ")[1] == status
            if status == b"502":
                assert read_until(client, b"") == b""
                assert b"past-the-rules" not in server.got


def test_web_socket_messages_pass_unchanged_in_both_directions(running, peer):
    with opened(running, peer) as connection:
        peer.connection.sendall(INVALID)
        assert read(connection, INVALID) == INVALID
        connection.sendall(CLOSE)
        eventually(lambda: peer.got == CLOSE, "the end is not passed on")
        connection.settimeout(0.5)
        with pytest.raises(TimeoutError):  # only the other end may answer that
            connection.recv(1)
        connection.settimeout(20)
        peer.connection.sendall(b"\x88\x02\x03\xe8")
        assert read(connection, b"\x88\x02\x03\xe8") == b"\x88\x02\x03\xe8"
    assert peer.ended.wait(10)


def test_web_socket_may_be_idle_longer_than_a_request(running, peer):
    with opened(running, peer) as connection:
        time.sleep(3.5)
        connection.sendall(b"after a rest")
        eventually(lambda: peer.got == b"after a rest", "the socket was ended")


@pytest.mark.parametrize(
    ("frame", "count"),
    [
        # A frame may say that it has any length; one that is held until it is whole takes all the memory there is.
        (b"\x82\xff" + (2**40).to_bytes(8, "big") + b"\0" * 4, 1),
        (b"\x00\xff" + MEGABYTE.to_bytes(8, "big") + b"\0" * 4, 150),
    ],
    ids=["one endless frame", "many frames of one message"],
)
def test_endless_web_socket_message_is_not_buffered(running, peer, frame, count):
    with opened(running, peer) as connection:
        before, piece = running.memory(), bytes(150 // count * MEGABYTE)
        for number in range(count):
            connection.sendall((frame if number else b"\x02" + frame[1:]) + piece)
        eventually(lambda: peer.size == count * len(frame + piece), "not all has arrived")
        assert running.memory() - before < 24 * MEGABYTE


def test_block_rule_applies_to_web_sockets(running, peer):
    with connection_to_site(running, peer.port, tls=bool(peer.tls)) as connection:
        connection.sendall(asking(peer, "/blocked"))
        assert read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 403 ")
    assert peer.connection is None
