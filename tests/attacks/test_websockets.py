"""Web sockets: only a whole handshake makes a tunnel, and what passes through is not held."""

import base64
import hashlib
import socket
import threading

import pytest

from tests.attacks.attackers import connection_to, read_until

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
MEGABYTE = 1024 * 1024


class SocketServer:
    """Answers each connection's first request with `says`, and counts what comes after it."""

    def __init__(self):
        self.says, self.got, self.first = OPENED, 0, b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with connection:
            head = b""
            while b"\r\n\r\n" not in head and (piece := connection.recv(65536)):
                head += piece
            self.got, self.first = 0, head.partition(b"\r\n\r\n")[2]
            connection.sendall(self.says)
            while piece := connection.recv(65536):
                self.first = self.first or piece
                self.got += len(piece)

    def close(self):
        self._listening.close()


@pytest.fixture(scope="module")
def server():
    serving = SocketServer()
    yield serving
    serving.close()


def asking(server, path, fields=ASKED):
    place = b"127.0.0.1:%d" % server.port
    return b"GET http://%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (place, path.encode(), place, fields)


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
        with connection_to(running, timeout_s=3) as client:
            client.sendall(asking(server, path, asked) + smuggled)
            assert read_until(client, b"\r\n\r\n").split(b" ")[1] == status
            if status == b"502":
                assert read_until(client, b"") == b""
                assert b"past-the-rules" not in server.first


def test_a_message_is_passed_on_while_it_comes(running, server, path):
    """A frame may say that it has any length; one that is held until it is whole takes all the memory there is."""
    server.says = OPENED
    before = running.peak_memory()
    with connection_to(running, timeout_s=10) as client:
        client.sendall(asking(server, path))
        assert read_until(client, b"\r\n\r\n").startswith(b"HTTP/1.1 101")
        client.sendall(b"\x82\xff" + (2**40).to_bytes(8, "big") + b"\0\0\0\0")
        for _ in range(48):
            client.sendall(b"x" * MEGABYTE)
        client.shutdown(socket.SHUT_WR)
        read_until(client)
    assert server.got > 40 * MEGABYTE
    assert running.peak_memory() - before < 24 * MEGABYTE
