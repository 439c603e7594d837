"""Clients that speak HTTP byte by byte, for what a well-behaved client would never send."""

import contextlib
import socket
from collections.abc import Iterator

from tests.integration.processes import Linkmend


@contextlib.contextmanager
def connection_to(
    running: Linkmend, *, source: str = "127.0.1.71", timeout_s: float = 10
) -> Iterator[socket.socket]:
    """A plain connection to the proxy."""
    address = ("127.0.0.1", running.port)
    with socket.create_connection(address, timeout=timeout_s, source_address=(source, 0)) as connection:
        yield connection


def read_until(connection: socket.socket, end: bytes = b"", *, most: int = 1_000_000) -> bytes:
    """The bytes up to and including `end`, to the end of the connection, or until nothing more comes."""
    got = b""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while not (end and end in got) and len(got) < most and (piece := connection.recv(65536)):
            got += piece
    return got


def send_raw(running: Linkmend, data: bytes, *, timeout_s: float = 5, source: str = "127.0.1.71") -> bytes:
    """Everything the proxy answers to these bytes, until it closes or sends no more."""
    with connection_to(running, source=source, timeout_s=timeout_s) as connection:
        connection.sendall(data)
        return read_until(connection)
