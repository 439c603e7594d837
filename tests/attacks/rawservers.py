"""Origins that speak HTTP byte by byte and read no bodies, and clients that keep one connection to the proxy."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events

from tests.attacks.attackers import connection_to
from tests.integration.processes import Linkmend

Pieces = Iterable[bytes | float]
"""What is sent, in order; a number is a pause in seconds."""


@dataclass(frozen=True)
class Head:
    """One request as the origin parsed it, and on which of its connections."""

    method: str
    path: str
    raw: bytes
    connection: int

    def field(self, name: str) -> str | None:
        found = [value for key, value in self.fields() if key == name.lower()]
        return ", ".join(found) if found else None

    def fields(self) -> list[tuple[str, str]]:
        pairs = (line.decode("latin-1").partition(":") for line in self.raw.split(b"\r\n")[1:] if line)
        return [(name.lower(), value.strip()) for name, _, value in pairs]


Respond = Callable[[Head], bytes | Pieces | None]
"""What is answered to a head; None closes the connection."""


def page(
    body: str | bytes, *fields: str, status: str = "200 OK", cache: str = "Cache-Control: max-age=600"
) -> bytes:
    """A whole response that everybody may store."""
    content = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html",
        f"Content-Length: {len(content)}",
        cache,
        *fields,
    ]
    return "\r\n".join(line for line in lines if line).encode() + b"\r\n\r\n" + content


@dataclass
class HeadsOnly:
    """An origin that parses every header section as a request, also one within a body, unless it `reads_bodies`."""

    respond: Respond
    tls: ssl.SSLContext | None = None
    reads_bodies: bool = False
    heads: list[Head] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> "HeadsOnly":
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}"

    def asked(self, path: str) -> list[Head]:
        return [head for head in self.heads if head.path == path]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                self._answer_all(connection, number)

    def _answer_all(self, connection: socket.socket, number: int) -> None:
        waiting = b""
        while True:
            while b"\r\n\r\n" not in waiting:
                piece = connection.recv(65536)
                if not piece:
                    return
                waiting += piece
            raw, _, waiting = waiting.lstrip(b"\r\n").partition(b"\r\n\r\n")
            line = raw.split(b"\r\n")[0].decode("latin-1").split(" ")
            if len(line) < 3:
                continue  # the rest of a body that had no head in it
            head = Head(method=line[0], path=line[1], raw=raw, connection=number)
            self.heads.append(head)
            if self.reads_bodies:
                waiting = _past_body(connection, waiting, int(head.field("content-length") or 0))
            said = self.respond(head)
            if said is None:
                return
            for part in [said] if isinstance(said, bytes) else said:
                if isinstance(part, float):
                    time.sleep(part)
                else:
                    connection.sendall(part)


def _past_body(connection: socket.socket, waiting: bytes, length: int) -> bytes:
    while len(waiting) < length:
        waiting += connection.recv(65536)
    return waiting[length:]


class Relay:
    """A proxy that hands on each connection to where its first request goes, and counts the bytes of the answers."""

    def __enter__(self) -> "Relay":
        self.passed = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._relay, args=(self._socket.accept()[0],), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            method, target = head.decode("latin-1").split(" ")[:2]
            host, _, port = target.removeprefix("http://").partition("/")[0].partition(":")
            with socket.create_connection((host, int(port or 80)), 5) as origin:
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                else:
                    origin.sendall(head)
                threading.Thread(target=self._pass_on, args=(client, origin), daemon=True).start()
                self._pass_on(origin, client, counts=True)

    def _pass_on(self, source: socket.socket, target: socket.socket, *, counts: bool = False) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
                self.passed += len(piece) if counts else 0


class Kept:
    """One connection to the proxy that is used for one request after the other."""

    def __init__(self, connection: socket.socket, base: str, host: str) -> None:
        self._connection = connection
        self._base = base
        self._host = host
        self._waiting = b""

    def ask(
        self, path: str, *fields: str, method: str = "GET", body: bytes = b"", version: str = "1.1"
    ) -> tuple[int, bytes, bytes]:
        """Status, head and body of the response; (0, b"", the bytes) when there is none."""
        self.send(path, *fields, method=method, body=body, version=version)
        return self.read(method)

    def send(
        self, path: str, *fields: str, method: str = "GET", body: bytes = b"", version: str = "1.1"
    ) -> None:
        """Send a request and read nothing yet."""
        lines = [f"{method} {self._base}{path} HTTP/{version}", f"Host: {self._host}", *fields]
        self._connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def read(self, method: str = "GET") -> tuple[int, bytes, bytes]:
        while b"\r\n\r\n" not in self._waiting:
            if not self._more():
                return 0, b"", self._waiting
        head, _, self._waiting = self._waiting.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if method == "HEAD" or status in (204, 304):
            return status, head, b""
        if status < 200 and status != 101:
            return self.read(method)
        return status, head, self._body(head.lower())

    def _body(self, head: bytes) -> bytes:
        if b"transfer-encoding: chunked" in head:
            while not (self._waiting.startswith(b"0\r\n\r\n") or b"\r\n0\r\n\r\n" in self._waiting):
                if not self._more():
                    break
            body, self._waiting = self._waiting, b""
            return body
        if b"content-length: " not in head:
            while b" 101 " not in head and self._more():
                pass
            body, self._waiting = self._waiting, b""
            return body
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(self._waiting) < length and self._more():
            pass
        body, self._waiting = self._waiting[:length], self._waiting[length:]
        return body

    def _more(self) -> bool:
        with contextlib.suppress(TimeoutError, ConnectionError, ssl.SSLError):
            if piece := self._connection.recv(65536):
                self._waiting += piece
                return True
        return False


@contextlib.contextmanager
def kept_connection(
    running: Linkmend, origin: HeadsOnly, *, source: str = "127.0.1.71", timeout_s: float = 8
) -> Iterator[Kept]:
    """To an origin through the proxy, in a tunnel where the origin has TLS."""
    with connection_to(running, source=source, timeout_s=timeout_s) as connection:
        if origin.tls is None:
            yield Kept(connection, origin.url, origin.host)
            return
        with _tunnelled(running, origin, connection, "http/1.1") as secured:
            yield Kept(secured, "", origin.host)


def ask_by_http2(
    running: Linkmend,
    origin: HeadsOnly,
    fields: list[tuple[bytes, bytes]],
    body: bytes = b"",
    *,
    announces_end: bool = False,
) -> tuple[int, bytes]:
    """One HTTP/2 request, exactly as given: status and body; 0 when the stream or connection was closed."""
    with (
        connection_to(running, timeout_s=8) as connection,
        _tunnelled(running, origin, connection, "h2") as secured,
    ):
        speaker = h2.connection.H2Connection(
            h2.config.H2Configuration(
                header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
        speaker.initiate_connection()
        speaker.send_headers(1, fields, end_stream=announces_end or not body)
        if body and not announces_end:
            speaker.send_data(1, body, end_stream=True)
        secured.sendall(speaker.data_to_send())
        return _read_http2(speaker, secured)


def _read_http2(speaker: h2.connection.H2Connection, secured: ssl.SSLSocket) -> tuple[int, bytes]:
    status, got = 0, b""
    with contextlib.suppress(TimeoutError, ConnectionError):
        while piece := secured.recv(65536):
            for event in speaker.receive_data(piece):
                if isinstance(event, h2.events.ResponseReceived):
                    status = int(dict(event.headers)[b":status"])
                elif isinstance(event, h2.events.DataReceived):
                    got += event.data
                elif isinstance(event, h2.events.StreamReset | h2.events.ConnectionTerminated):
                    return 0, got
                elif isinstance(event, h2.events.StreamEnded):
                    return status, got
            secured.sendall(speaker.data_to_send())
    return status, got


@contextlib.contextmanager
def _tunnelled(
    running: Linkmend, origin: HeadsOnly, connection: socket.socket, alpn: str
) -> Iterator[ssl.SSLSocket]:
    connection.sendall(f"CONNECT {origin.host} HTTP/1.1\r\nHost: {origin.host}\r\n\r\n".encode())
    answered = b""
    while b"\r\n\r\n" not in answered:
        answered += connection.recv(1)
    assert b" 200 " in answered, answered
    context = ssl.create_default_context(cafile=str(running.ca))
    context.set_alpn_protocols([alpn])
    with context.wrap_socket(connection, server_hostname="127.0.0.1") as secured:
        yield secured
