"""Trailers after a body: the body arrives in every combination of HTTP versions, and no error is logged."""

import asyncio
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor

import h2.config
import h2.connection
import h2.events
import pytest

from tests.attacks.attackers import read_until, send_raw
from tests.integration.origin import Origin, certificate
from tests.integration.processes import serving

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n"
    b"Trailer: X-Sum\r\nCache-Control: %s\r\n\r\n"
)
BODY = b"5\r\nhello\r\n0\r\nX-Sum: 1234\r\nX-Other: a\r\n\r\n"


class Http2Origin:
    """A site that speaks HTTP/2 only: it echoes uploads, with trailers; `requests` are the headers."""

    def __init__(self, context):
        self.requests, self.bodies, self.trailers = [], [], []
        context.set_alpn_protocols(["h2"])
        self._context = context

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self._server = self._loop.run_until_complete(starting)
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    async def _serve(self, reader, writer):
        h2_connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        h2_connection.initiate_connection()
        bodies = {}
        writer.write(h2_connection.data_to_send())
        while data := await reader.read(65536):
            for event in h2_connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.requests.append(dict(event.headers))
                    bodies[event.stream_id] = b""
                elif isinstance(event, h2.events.DataReceived):
                    bodies[event.stream_id] += event.data
                elif isinstance(event, h2.events.TrailersReceived):
                    self.trailers.append(dict(event.headers))
                elif isinstance(event, h2.events.StreamEnded):
                    self._answer(h2_connection, event.stream_id, bodies[event.stream_id])
            writer.write(h2_connection.data_to_send())
        writer.close()

    def _answer(self, h2_connection, stream, body):
        self.bodies.append(body)
        h2_connection.send_headers(stream, [(":status", "200"), ("content-type", "text/html")])
        h2_connection.send_data(stream, b"hello " + body)
        h2_connection.send_headers(stream, [("x-sum", "1234")], end_stream=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")


@pytest.fixture(scope="module")
def second(made):
    with Http2Origin(made[1]) as running:
        yield running


@pytest.fixture(scope="module")
def secure(tmp_path_factory, made):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made[0], made[0].with_suffix(".key"))
    with Origin(tls=context) as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, made):
    settings = f'[proxy]\nhttp2 = true\ntrusted_ca = "{made[0]}"\n'
    with serving(tmp_path_factory.mktemp("trailers") / "data", settings=settings) as proxy:
        yield proxy


def tunnel(running, port, alpn):
    plain = socket.create_connection(("127.0.0.1", running.port), timeout=30)
    plain.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert b" 200 " in read_until(plain, b"\r\n\r\n")
    context = ssl.create_default_context(cafile=running.ca)
    context.set_alpn_protocols([alpn])
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def ask_by_http2(running, port, *, path="/", body=b"", fields=(), method="POST", trailers=True):
    """The status (None: the stream was reset), body and trailers of the response to an upload with trailers."""
    h2_connection = h2.connection.H2Connection(
        h2.config.H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
    )
    h2_connection.initiate_connection()
    head = [
        (":method", method),
        (":scheme", "https"),
        (":path", path),
        (":authority", f"127.0.0.1:{port}"),
        *fields,
    ]
    h2_connection.send_headers(1, head, end_stream=not body)
    if body:
        h2_connection.send_data(1, body, end_stream=not trailers)
        if trailers:
            h2_connection.send_headers(1, [("x-sent", "1")], end_stream=True)
    status, got, after = None, b"", {}
    with tunnel(running, port, "h2") as connection:
        connection.sendall(h2_connection.data_to_send())
        while data := connection.recv(65536):
            for event in h2_connection.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    status = dict(event.headers)[b":status"]
                elif isinstance(event, h2.events.DataReceived):
                    got += event.data
                elif isinstance(event, h2.events.TrailersReceived):
                    after = dict(event.headers)
                elif isinstance(
                    event, h2.events.StreamEnded | h2.events.StreamReset | h2.events.ConnectionTerminated
                ):
                    return status, got, after
            connection.sendall(h2_connection.data_to_send())
    return status, got, after


@pytest.mark.parametrize("kind", [b"text/html", b"application/zip"], ids=["held back", "streamed"])
@pytest.mark.parametrize("accept", ["text/html", "*/*"])
def test_response_with_trailers_is_complete_and_stored(running, site, path, kind, accept):
    site.pages[path] = CHUNKED % (kind, b"max-age=600") + BODY
    request = (
        f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAccept: {accept}\r\n\r\n".encode()
    )
    for _ in range(2):
        got = send_raw(running, request, timeout_s=2)
        assert got.startswith(b"HTTP/1.1 200 OK")
        assert b"hello" in got
        assert b"1234" not in got
    assert site.asked[path] == 1


def test_connections_are_reused_after_trailers(running, site, path):
    site.pages[path] = CHUNKED % (b"text/html", b"no-store") + BODY
    request = f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n".encode()
    got = send_raw(running, request * 3, timeout_s=2)
    assert got.count(b"hello") == got.count(b"HTTP/1.1 200 OK") == site.asked[path] == 3


@pytest.mark.parametrize("size", [5, 2_000_000], ids=["small", "large"])
def test_an_upload_with_trailers_arrives(running, size):
    upload = b"%x\r\n%s\r\n0\r\nX-Sent: 1\r\n\r\n" % (size, b"u" * size)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        taken = pool.submit(take_upload, server)
        place = f"127.0.0.1:{server.getsockname()[1]}"
        head = (
            f"POST http://{place}/ HTTP/1.1\r\nHost: {place}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        got = send_raw(running, head + upload, timeout_s=10)
        assert got.endswith(b"hello")
        body = taken.result(10).partition(b"\r\n\r\n")[2]
    assert body.count(b"u") == size
    assert body.endswith(b"0\r\n\r\n")


def take_upload(server):
    """Reads one request up to its last chunk, answers it and closes."""
    server.settimeout(20)
    connection, _ = server.accept()
    with connection:
        connection.settimeout(20)
        got = read_until(connection, b"\r\n0\r\n\r\n", most=10_000_000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        return got


def test_trailers_pass_between_http2_and_http2(running, second):
    """gRPC needs them."""
    assert ask_by_http2(running, second.port, body=b"up") == (b"200", b"hello up", {b"x-sum": b"1234"})
    assert second.trailers[-1] == {b"x-sent": b"1"}


def test_an_upload_by_http2_arrives_framed_at_a_site_with_http1(running, secure, path):
    """Without its length it was sent unframed, and the site took it for its next request."""

    async def echo(exchange):
        exchange.framing = exchange.headers.get("transfer-encoding") or exchange.headers.get("content-length")
        await exchange.send(CHUNKED % (b"text/html", b"no-store") + BODY)
        exchange.writer.close()

    secure.pages[path] = echo
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    status, got, _ = ask_by_http2(running, secure.port, path=path, body=smuggled)
    assert (status, got) == (b"200", b"hello")
    assert secure.seen[-1].framing in ("chunked", str(len(smuggled)))
    fields = [("content-length", str(len(smuggled)))]
    status, got, _ = ask_by_http2(running, secure.port, path=path, body=smuggled, fields=fields)
    assert (status, got) == (b"200", b"hello")
    assert secure.seen[-1].framing == str(len(smuggled))
    assert secure.asked["/smuggled"] == 0


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/a HTTP/1.1\r\nX-Smuggled: 1\r\nX-Rest: ", ()),
        ("/a", (("x-a", "b\r\nX-Smuggled: 1"),)),
        ("/a", (("x-a", "b\nX-Smuggled: 1"),)),
        ("/a", (("x-a", "b\0c"),)),
        ("/a b", ()),
    ],
    ids=["path", "CRLF", "LF", "NUL", "space"],
)
def test_http2_request_cannot_become_another_http1_request(running, secure, path, fields):
    secure.pages["/a"] = CHUNKED % (b"text/html", b"no-store") + BODY
    before = len(secure.seen)
    status, _, _ = ask_by_http2(running, secure.port, path=path, fields=fields, method="GET")
    assert status in (None, b"400")
    assert len(secure.seen) == before
    assert ask_by_http2(running, secure.port, path="/a", fields=(("x-a", "b"),), method="GET")[0] == b"200"
