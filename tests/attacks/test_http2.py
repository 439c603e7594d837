"""HTTP/2, of clients and of origins: nobody is delayed, memory stays bounded, responses are correct."""

import asyncio
import contextlib
import hashlib
import ssl
import struct
import threading
import time
from types import SimpleNamespace

import h2.config
import h2.connection
import h2.errors
import h2.events
import hpack
import pytest

from tests.integration.client import NAVIGATION, Client, connection_to_site
from tests.integration.origin import Origin, certificate, reply
from tests.integration.processes import eventually, serving

LONG = {"Cache_Control": "max-age=600"}
BIG_BYTES = 32 * 1024 * 1024
PIECE = bytes(range(256)) * 256
MOST_AHEAD_BYTES = 20 * 1024 * 1024
"""What may lie in sockets, windows and in us of an answer that nobody reads."""
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PING, GOAWAY = 0, 1, 2, 3, 4, 6, 7
UNFIT_STATUSES = ("99", "-1")


class Origin2:
    """An origin that speaks HTTP/2 only: /big is very long, /status/N has that status, all else is a page."""

    def __init__(self, context: ssl.SSLContext) -> None:
        context.set_alpn_protocols(["h2"])
        self._context = context
        self.sent = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()

    def __enter__(self):
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        opening = asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(10)
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _serve(self, reader, writer):
        speaker = speak(client=False)
        left: dict[int, int] = {}
        speaker.initiate_connection()
        writer.write(speaker.data_to_send())
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while data := await reader.read(65536):
                for event in speaker.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        self._answer(speaker, event.stream_id, dict(event.headers)[b":path"].decode(), left)
                self._feed(speaker, left)
                writer.write(speaker.data_to_send())
                await writer.drain()
        writer.close()

    def _answer(self, speaker, stream, path, left):
        status = path.split("/")[2] if path.startswith("/status/") else "200"
        fields = [(":status", status), ("content-type", "text/html"), ("cache-control", "max-age=600")]
        speaker.send_headers(stream, fields)
        if path.startswith("/big"):
            left[stream] = BIG_BYTES
        else:
            speaker.send_data(stream, f"<p>page {path}".encode(), end_stream=True)

    def _feed(self, speaker, left):
        for stream in tuple(left):
            while left[stream] and (room := speaker.local_flow_control_window(stream)) > 0:
                piece = PIECE[: min(room, speaker.max_outbound_frame_size, left[stream])]
                left[stream] -= len(piece)
                self.sent += len(piece)
                speaker.send_data(stream, piece, end_stream=not left[stream])
            if not left[stream]:
                del left[stream]


def speak(*, client):
    """One end of a connection that sends whatever it is given."""
    return h2.connection.H2Connection(
        h2.config.H2Configuration(
            client_side=client,
            header_encoding=None,
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
    )


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + payload


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """`one` speaks HTTP/1, `two` HTTP/2; `trusted` makes both trusted."""
    folder = tmp_path_factory.mktemp("certificate")
    pem, context = certificate(folder, "127.0.0.1")
    again = tmp_path_factory.mktemp("certificate")
    pem2, context2 = certificate(again, "localhost", "127.0.0.1")
    trusted = folder / "both.pem"
    trusted.write_bytes(pem.read_bytes() + pem2.read_bytes())
    with Origin(tls=context) as one, Origin2(context2) as two:
        yield SimpleNamespace(one=one, two=two, trusted=trusted)


@pytest.fixture(scope="module")
def running(tmp_path_factory, sites):
    settings = f'[proxy]\ntrusted_ca = "{sites.trusted}"\nhttp2 = true\n'
    with serving(tmp_path_factory.mktemp("http2") / "data", settings=settings) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, running.ca, source="127.0.2.72")


class Speaking:
    """An HTTP/2 client connection through the proxy."""

    def __init__(self, secure, port):
        self.secure, self.port = secure, port
        self.end = speak(client=True)
        self.end.initiate_connection()
        self.flush()
        self.bodies: dict[int, bytearray] = {}
        self.statuses: dict[int, int] = {}
        self.ended: set[int] = set()
        self.error = None

    def fields(self, path, method="GET"):
        place = f"127.0.0.1:{self.port}"
        return [(":method", method), (":scheme", "https"), (":path", path), (":authority", place)]

    def flush(self):
        self.secure.sendall(self.end.data_to_send())

    def ask(self, stream, path, **headers):
        more = [(name.lower(), value) for name, value in headers.items()]
        self.end.send_headers(stream, [*self.fields(path), *more], end_stream=True)
        self.flush()

    def read(self, until=lambda: False, timeout_s=20.0, *, takes=True):
        """Read until a condition holds or the connection ends."""
        ends_at = time.monotonic() + timeout_s
        self.secure.settimeout(0.2)
        while not until() and self.error is None and time.monotonic() < ends_at:
            try:
                piece = self.secure.recv(1 << 18)
            except TimeoutError:
                continue
            except (ConnectionError, ssl.SSLError):
                piece = b""
            if not piece:
                self.error = "closed"
            for event in self.end.receive_data(piece):
                self._note(event, takes)
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                self.flush()
        return self

    def _note(self, event, takes):
        stream = getattr(event, "stream_id", 0)
        if isinstance(event, h2.events.ResponseReceived):
            self.statuses[stream] = int(dict(event.headers)[b":status"])
        elif isinstance(event, h2.events.DataReceived):
            self.bodies.setdefault(stream, bytearray()).extend(event.data)
            if takes:
                self.end.acknowledge_received_data(event.flow_controlled_length, stream)
        elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
            self.ended.add(stream)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.error = event.error_code


@contextlib.contextmanager
def speaking(running, site):
    with connection_to_site(running, site.port, alpn=["h2"], source="127.0.1.71") as secure:
        assert secure.selected_alpn_protocol() == "h2"
        yield Speaking(secure, site.port)


def resets(fields):
    encoder = hpack.Encoder()
    return b"".join(
        frame(HEADERS, 5, stream, encoder.encode(fields)) + frame(RESET, 0, stream, struct.pack(">I", 8))
        for stream in range(1, 8000, 2)
    )


FLOODS = {
    "resets": resets,
    "pings": lambda _: frame(PING, 0, 0, b"12345678") * 60_000,
    "settings": lambda _: frame(SETTINGS, 0, 0) * 60_000,
    "priorities": lambda _: frame(PRIORITY, 0, 3, struct.pack(">IB", 0, 5)) * 60_000,
    "empty data": lambda fields: (
        frame(HEADERS, 4, 1, hpack.Encoder().encode([(":method", "POST"), *fields[1:]]))
        + frame(DATA, 0, 1) * 60_000
    ),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_useless_http2_frames_delay_nobody(running, sites, bob, path, kind):
    sites.one.pages[path] = reply("<p>ordinary", **LONG)
    url = f"{sites.one.url}{path}"
    assert bob.get(url).status == 200
    with speaking(running, sites.one) as ordinary:
        ordinary.ask(1, path)
        ordinary.read(lambda: 1 in ordinary.ended)
        assert ordinary.statuses == {1: 200}
    with speaking(running, sites.one) as speaker:
        flood = FLOODS[kind](speaker.fields(path))
        sending = threading.Thread(target=lambda: _send_as_far_as_it_goes(speaker.secure, flood), daemon=True)
        sending.start()
        slowest_s = 0.0
        for _ in range(10):
            since = time.monotonic()
            assert "hit" in bob.get(url).headers["Cache-Status"]
            slowest_s = max(slowest_s, time.monotonic() - since)
        sending.join(20)
        # The proxy closes while frames are still on their way, so a reset may overtake its GOAWAY.
        data, is_closed = read_to_the_end(speaker.secure)
        assert is_closed
        assert set(farewells(data)) <= {h2.errors.ErrorCodes.ENHANCE_YOUR_CALM}
    assert slowest_s < 3


def read_to_the_end(secure):
    """What the proxy sent, and whether it has closed the connection."""
    got = b""
    try:
        while piece := secure.recv(65536):
            got += piece
    except ConnectionError:
        pass
    except TimeoutError:
        return got, False
    return got, True


def farewells(data):
    """The error codes of all GOAWAY frames from the proxy."""
    codes, at = [], 0
    while at + 9 <= len(data):
        size, kind = int.from_bytes(data[at : at + 3], "big"), data[at + 3]
        if kind == GOAWAY:
            codes.append(int.from_bytes(data[at + 13 : at + 17], "big"))
        at += 9 + size
    return codes


def _send_as_far_as_it_goes(secure, data):
    with contextlib.suppress(OSError):
        secure.sendall(data)


def test_http2_header_count_limit_equals_http1(running, sites, path):
    sites.one.pages[path] = reply("<p>ordinary", **LONG)
    for many, status in ((400, 200), (1500, 400)):
        with speaking(running, sites.one) as speaker:
            speaker.end.send_headers(1, [*speaker.fields(path), *[("x-a", "b")] * many], end_stream=True)
            speaker.flush()
            assert speaker.read(lambda: 1 in speaker.ended).statuses == {1: status}


@pytest.mark.parametrize("version", ["one", "two"])
def test_unread_http2_stream_stops_fetching(running, sites, path, version):
    site, sent = getattr(sites, version), SimpleNamespace(bytes=0)

    async def big(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: %d\r\n\r\n" % BIG_BYTES
        )
        for _ in range(BIG_BYTES // len(PIECE)):
            await exchange.send(PIECE)
            sent.bytes += len(PIECE)

    if version == "one":
        site.pages[f"/big{path}"], site.pages[f"{path}/small"] = big, reply("<p>small", **LONG)
    else:
        site.sent = 0
    fetched = lambda: sent.bytes + getattr(site, "sent", 0)  # noqa: E731
    with speaking(running, site) as speaker:
        speaker.ask(1, f"/big{path}")
        speaker.read(lambda: len(speaker.bodies.get(1, b"")) >= 65_535, takes=False)
        eventually(lambda: _stays(fetched), "more and more is fetched")
        assert 0 < fetched() < MOST_AHEAD_BYTES
        # Nothing else on the same connection waits for it.
        speaker.end.increment_flow_control_window(1_000_000)
        speaker.ask(3, f"{path}/small")
        assert speaker.read(lambda: 3 in speaker.ended).statuses[3] == 200
        # And a client that reads on gets it complete.
        speaker.end.increment_flow_control_window(BIG_BYTES)
        speaker.end.increment_flow_control_window(BIG_BYTES, 1)
        speaker.flush()
        speaker.read(lambda: 1 in speaker.ended, 60.0, takes=False)
        whole = hashlib.sha256(PIECE * (BIG_BYTES // len(PIECE))).digest()
        assert hashlib.sha256(speaker.bodies[1]).digest() == whole


def _stays(count):
    before = count()
    time.sleep(0.7)
    return count() == before


def test_negative_http2_window_is_handled(running, sites, path):
    go_on = threading.Event()

    async def in_two(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + b"a" * 5000
        )
        while not go_on.is_set():
            await asyncio.sleep(0.02)
        await exchange.send(b"b" * 4000)
        exchange.writer.close()

    sites.one.pages[path] = in_two
    with speaking(running, sites.one) as speaker:
        speaker.ask(1, path)
        speaker.read(lambda: len(speaker.bodies.get(1, b"")) == 5000, takes=False)
        speaker.secure.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 100)))
        speaker.read(timeout_s=0.5, takes=False)
        go_on.set()
        speaker.read(timeout_s=1, takes=False)
        speaker.secure.sendall(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65_535)))
        speaker.read(lambda: 1 in speaker.ended, takes=False)
        assert speaker.bodies[1] == b"a" * 5000 + b"b" * 4000
    assert "Traceback" not in running.output


@pytest.mark.parametrize("status", UNFIT_STATUSES)
def test_invalid_status_is_a_site_error(running, sites, bob, path, status):
    with speaking(running, sites.two) as speaker:
        speaker.ask(1, f"/status/{status}{path}")
        speaker.ask(3, path)
        speaker.read(lambda: speaker.ended >= {1, 3})
        assert speaker.statuses[1] == 502
    with speaking(running, sites.two) as speaker:
        speaker.ask(1, path)
        assert speaker.read(lambda: 1 in speaker.ended).statuses == {1: 200}


def test_unknown_status_is_passed_on(running, sites, path):
    with speaking(running, sites.two) as speaker:
        speaker.ask(1, f"/status/699{path}")
        assert speaker.read(lambda: 1 in speaker.ended).statuses == {1: 699}


def test_slowly_generated_page_is_streamed_through_a_tunnel(running, sites, bob, path):
    """Only pages that a person opens are buffered at first; the event that releases them has to pass the tunnel."""
    go_on = threading.Event()

    async def slowly(exchange):
        await exchange.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>first"
        )
        while not go_on.is_set():
            await asyncio.sleep(0.02)
        await exchange.send(b"<p>last")
        exchange.writer.close()

    sites.one.pages[path] = slowly
    with speaking(running, sites.one) as speaker:
        speaker.ask(1, path, **NAVIGATION)
        speaker.read(lambda: b"first" in speaker.bodies.get(1, b""), 8.0)
        assert speaker.bodies.get(1) == b"<p>first"
        go_on.set()
        speaker.read(lambda: 1 in speaker.ended)
        assert speaker.bodies[1] == b"<p>first<p>last"
