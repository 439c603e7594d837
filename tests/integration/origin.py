"""An origin that behaves as configured, well or badly, over http and https; it runs in a thread of the test."""

import asyncio
import contextlib
import ssl
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Reply = bytes | Callable[["Exchange"], Awaitable[None]]


@dataclass
class Exchange:
    """One request as the origin got it, and the way to answer it byte by byte."""

    method: str
    path: str
    headers: dict[str, str]
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


def reply(
    body: bytes | str = b"", *, status: str = "200 OK", kind: str = "text/html; charset=utf-8", **headers: str
) -> bytes:
    """A whole response; header names are written with underscores."""
    payload = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(payload)}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + payload


async def hang(exchange: Exchange) -> None:
    """Send nothing for longer than any test lasts."""
    await asyncio.sleep(120)


async def cut(exchange: Exchange) -> None:
    """Announce more than is sent, then close."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>half")
    exchange.writer.close()


async def babble(exchange: Exchange) -> None:
    """Send something that is not HTTP, then close."""
    await exchange.send(b"\x00\x01\x02 nothing like HTTP\r\n\r\n")
    exchange.writer.close()


async def close(exchange: Exchange) -> None:
    """Close the connection without a response."""
    exchange.writer.close()


@dataclass
class Origin:
    """A server on loopback: `pages[path]` is its response, everything else is a 404; `asked` counts requests."""

    tls: ssl.SSLContext | None = None
    pages: dict[str, Reply] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    seen: list[Exchange] = field(default_factory=list)
    port: int = 0
    host: str = "127.0.0.1"

    def __enter__(self) -> "Origin":
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    def down(self) -> None:
        """Stop listening: connections are refused from now on."""
        self._run(self._shut())

    def up(self) -> None:
        """Listen again, on the same port."""
        self._run(self._open())

    def _run(self, work: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)  # type: ignore[arg-type]

    async def _open(self) -> None:
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = await asyncio.start_server(self._serve, self.host, self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            while not writer.is_closing() and (line := await reader.readline()):
                await self._answer(line.decode("latin-1"), reader, writer)
        self._writers.discard(writer)
        writer.close()

    async def _answer(self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, path, _ = line.split(" ", 2)
        headers: dict[str, str] = {}
        while (field_line := (await reader.readline()).decode("latin-1").strip()) != "":
            name, _, value = field_line.partition(":")
            headers[name.strip().lower()] = value.strip()
        await reader.readexactly(int(headers.get("content-length", 0)))
        exchange = Exchange(method=method, path=path, headers=headers, writer=writer)
        self.asked[path] += 1
        self.seen.append(exchange)
        answer = self.pages.get(path, reply("<h1>Not here</h1>", status="404 Not Found"))
        if isinstance(answer, bytes):
            await exchange.send(
                answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else answer
            )
        else:
            await answer(exchange)


def certificate(
    folder: Path, *names: str, days: tuple[int, int] = (-1, 1), issuer: str = ""
) -> tuple[Path, ssl.SSLContext]:
    """A certificate for `names`: its file, for others to trust, and a server context that uses it.

    It is valid between two days from today, and self-signed unless an issuer is named, whose certificate is not
    saved.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named(names[0])
    now = datetime.now(UTC)
    shown = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(_named(issuer) if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.SubjectAlternativeName([_general_name(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ec.generate_private_key(ec.SECP256R1()) if issuer else key, hashes.SHA256())
    )
    pem = folder / f"{names[0]}.pem"
    private = folder / f"{names[0]}.key"
    pem.write_bytes(shown.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, private)
    return pem, context


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
