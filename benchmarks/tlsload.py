"""Asks over https through a proxy, again and again over kept connections, or by a new connection each time.

Run as a process of its own (`measured_tls`), like load.py. New connections end with the handshake: to a site seen
before, to one never seen (another name in each), or resumed with the ticket of the last.
"""

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from load import FIELDS, Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsLoad:
    """`connect` is how connections are made: kept, seen, unseen or resumed; `salt` keeps names of turns apart."""

    port: int
    site: str
    path: str = "/"
    says: str = ""
    connect: str = "kept"
    salt: str = ""
    connections: int = 4
    seconds: float = 2.0


def measured_tls(load: TlsLoad) -> Measured:
    """Run a load in another process, on the cores this one may use; bounded in time."""
    command = [sys.executable, __file__, json.dumps(asdict(load))]
    ended = subprocess.run(command, capture_output=True, timeout=load.seconds + 30, check=True)
    return Measured(**json.loads(ended.stdout))


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = (
        False,
        ssl.CERT_NONE,
    )  # what is measured is not our own checking
    return context


async def _connected(load: TlsLoad) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    writer.write(f"CONNECT {load.site} HTTP/1.1\r\nHost: {load.site}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    await writer.start_tls(_context(), server_hostname="127.0.0.1")
    return reader, writer


async def _keep_asking(
    load: TlsLoad, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, told: Measured
) -> None:
    request = f"GET {load.path} HTTP/1.1\r\nHost: {load.site}\r\n{FIELDS}".encode()
    until = time.perf_counter() + load.seconds
    while time.perf_counter() < until:
        asked_at = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        told.asked += 1
        told.latencies_ms.append((time.perf_counter() - asked_at) * 1000)
        if load.says.encode() not in head or not head.startswith(b"HTTP/1.1 200 "):
            told.errors["wrong"] = told.errors.get("wrong", 0) + 1
    writer.transport.abort()


def _connect(load: TlsLoad, told: Measured, until: float) -> None:
    context, session, number = _context(), None, 0
    while time.perf_counter() < until:
        number += 1
        began_at = time.perf_counter()
        name = f"{load.salt}-{number}.test" if load.connect == "unseen" else "localhost"
        with socket.create_connection(("127.0.0.1", load.port), timeout=20) as plain:
            plain.sendall(f"CONNECT {load.site} HTTP/1.1\r\nHost: {load.site}\r\n\r\n".encode())
            plain.recv(65_536)
            with context.wrap_socket(plain, server_hostname=name, session=session) as secured:
                if load.connect == "resumed":
                    session = _ticket(secured, load) if session is None else session
                    if number > 1 and not secured.session_reused:
                        told.errors["not resumed"] = told.errors.get("not resumed", 0) + 1
        told.asked += 1
        told.latencies_ms.append((time.perf_counter() - began_at) * 1000)


def _ticket(secured: ssl.SSLSocket, load: TlsLoad) -> ssl.SSLSession | None:
    """Comes behind the handshake in TLS 1.3: it is there once anything has been read."""
    secured.sendall(f"GET {load.path} HTTP/1.1\r\nHost: {load.site}\r\n\r\n".encode())
    secured.recv(1)
    return secured.session


def _carried_out(load: TlsLoad) -> Measured:
    told = Measured(seconds=load.seconds)

    async def kept() -> None:
        connections = [await _connected(load) for _ in range(load.connections)]
        await asyncio.gather(*(_keep_asking(load, *each, told) for each in connections))

    if load.connect == "kept":
        asyncio.run(kept())
    else:
        _connect(load, told, time.perf_counter() + load.seconds)
    return told


if __name__ == "__main__":
    json.dump(asdict(_carried_out(TlsLoad(**json.loads(sys.argv[1])))), sys.stdout)
