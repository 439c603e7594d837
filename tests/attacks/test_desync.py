"""Leftover bytes of one exchange with an origin never become the response to another URL."""

import threading
import time

import pytest

from tests.attacks.rawservers import HeadsOnly, Kept, ask_by_http2, kept_connection, page
from tests.integration.client import Client
from tests.integration.origin import certificate
from tests.integration.processes import serving

EVIL = page("evil", "X-Evil: 1")


@pytest.fixture(scope="module")
def pages():
    """The responses of the origins of this module by path, beside the honest page of each."""
    return {}


@pytest.fixture(scope="module")
def plain(pages):
    with HeadsOnly(_responder(pages)) as origin:
        yield origin


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    return certificate(folder, "127.0.0.1")


@pytest.fixture(scope="module")
def secure(pages, secured):
    with HeadsOnly(_responder(pages), tls=secured[1]) as origin:
        yield origin


@pytest.fixture(scope="module")
def running(tmp_path_factory, secured):
    data = tmp_path_factory.mktemp("desync") / "data"
    with serving(data, settings=f'[proxy]\ntrusted_ca = "{secured[0]}"\nhttp2 = true\n') as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, running.ca, source="127.0.2.72")


@pytest.fixture(params=["http", "https"])
def origin(request, plain, secure):
    return plain if request.param == "http" else secure


def _responder(pages):
    def respond(head):
        if head.path.endswith("/smuggled"):
            return EVIL
        return pages.get(head.path) or page(f"honest {head.path}")

    return respond


def _smuggled(origin, path):
    return f"GET {path}/smuggled HTTP/1.1\r\nHost: {origin.host}\r\n\r\n".encode()


def _assert_kept_and_stored(running, origin, bob, path):
    """The control: plain requests share one connection to the origin, and their responses are stored for others."""
    with kept_connection(running, origin) as client:
        for number in (1, 2, 3):
            assert client.ask(f"{path}/control{number}")[2] == f"honest {path}/control{number}".encode()
    used = {origin.asked(f"{path}/control{number}")[0].connection for number in (1, 2, 3)}
    assert len(used) == 1
    assert bob.get(f"{origin.url}{path}/control3").text == f"honest {path}/control3"
    assert len(origin.asked(f"{path}/control3")) == 1


def _assert_not_poisoned(client: Kept, origin, bob, path):
    """The next URL on the attacker's connection, for the attacker and for everybody."""
    status, _, body = client.ask(f"{path}/victim")
    assert (status, body) in ((200, f"honest {path}/victim".encode()), (0, b""))
    assert bob.get(f"{origin.url}{path}/victim").text == f"honest {path}/victim"


CHUNKED = ("Transfer-Encoding: chunked",)


@pytest.mark.parametrize(
    ("method", "chunked"),
    [
        *(("GET", False), ("GET", True), ("HEAD", False), ("DELETE", False), ("OPTIONS", False)),
        *(("POST", False), ("POST", True), ("PUT", False), ("PROPFIND", False)),
        *(("get", False), ("Post", False), ("FOO", False), ("TRACE", False)),
    ],
)
def test_unread_request_body_does_not_answer_the_next_url(running, origin, bob, path, method, chunked):
    body = _smuggled(origin, path)
    framing = CHUNKED if chunked else (f"Content-Length: {len(body)}",)
    with kept_connection(running, origin) as client:
        assert client.ask(f"{path}/warm")[0] == 200
        sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
        assert client.ask(f"{path}/odd", *framing, method=method, body=sent)[0] == 200
        _assert_not_poisoned(client, origin, bob, path)
    assert bob.get(f"{origin.url}{path}/odd").text == f"honest {path}/odd"
    _assert_kept_and_stored(running, origin, bob, path)


def test_streamed_upload_does_not_answer_the_next_url(running, plain, bob, path):
    body = _smuggled(plain, path) * 30_000  # more than is buffered
    with kept_connection(running, plain) as client:
        client.ask(f"{path}/odd", f"Content-Length: {len(body)}", method="POST", body=body)
        _assert_not_poisoned(client, plain, bob, path)
    _assert_kept_and_stored(running, plain, bob, path)


@pytest.mark.parametrize("method", ["hEaD", "Head", "head"])
def test_method_is_forwarded_and_framed_as_spelt(running, origin, pages, bob, path, method):
    pages[f"{path}/odd"] = page(EVIL)
    with kept_connection(running, origin) as client:
        assert client.ask(f"{path}/odd", method=method)[2] == EVIL
        _assert_not_poisoned(client, origin, bob, path)
    assert origin.asked(f"{path}/odd")[0].method == method
    _assert_kept_and_stored(running, origin, bob, path)


def test_lower_case_get_is_neither_served_from_the_cache_nor_stored(running, plain, bob, path):
    with kept_connection(running, plain) as client:
        for _ in range(2):
            assert client.ask(f"{path}/page", method="get")[0] == 200
    assert [head.method for head in plain.asked(f"{path}/page")] == ["get", "get"]
    _assert_kept_and_stored(running, plain, bob, path)


@pytest.mark.parametrize("line", ["cOnNeCt /x HTTP/1.1", "GE(T /x HTTP/1.1", "G\x80T /x HTTP/1.1"])
def test_invalid_method_is_refused(running, plain, bob, path, line):
    from tests.attacks.attackers import send_raw

    said = send_raw(running, f"{line}\r\nHost: {plain.host}\r\n\r\n".encode("latin-1"), timeout_s=3)
    assert b" 400 " in said.split(b"\r\n")[0]
    assert not plain.asked("/x")
    _assert_kept_and_stored(running, plain, bob, path)


HEAD_OF = b"HTTP/1.1 %s\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n"
LEFT_OVER = {
    "a body to HEAD": ("HEAD", [HEAD_OF % (b"200 OK", len(EVIL)), EVIL]),
    "a body to HEAD, later": ("HEAD", [HEAD_OF % (b"200 OK", len(EVIL)), 0.2, EVIL]),
    "a body to HEAD that nothing tells of": ("HEAD", [b"HTTP/1.1 200 OK\r\n\r\n", 0.2, EVIL]),
    "a body to 204": ("GET", [HEAD_OF % (b"204 No Content", len(EVIL)), 0.2, EVIL]),
    "a body to 304": ("GET", [HEAD_OF % (b"304 Not Modified", len(EVIL)), 0.2, EVIL]),
    "more than its length": ("GET", [page("short") + EVIL]),
    "more than its chunks": (
        "GET",
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n" + EVIL],
    ),
    "an end in capitals": ("GET", [page("short", "Connection: Close"), 0.2, EVIL]),
    "an end for proxies": ("GET", [page("short", "Proxy-Connection: close"), 0.2, EVIL]),
    "chunks of an old server": (
        "GET",
        [b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n", EVIL],
    ),
    "two lengths": ("GET", [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\na", EVIL]),
    "a length and chunks": (
        "GET",
        [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", EVIL],
    ),
    "another protocol": (
        "GET",
        [b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 0.2, EVIL],
    ),
}


@pytest.mark.parametrize("what", LEFT_OVER)
def test_extra_response_bytes_do_not_answer_the_next_url(running, plain, pages, bob, path, what):
    method, pages[f"{path}/odd"] = LEFT_OVER[what]
    with kept_connection(running, plain) as client:
        client.ask(f"{path}/odd", method=method)
        _assert_not_poisoned(client, plain, bob, path)
    _assert_kept_and_stored(running, plain, bob, path)


def test_response_with_extra_bytes_is_not_stored(running, plain, pages, bob, path):
    pages[f"{path}/odd"] = page("short") + EVIL
    with kept_connection(running, plain) as client:
        assert client.ask(f"{path}/odd")[2] == b"short"
    pages[f"{path}/odd"] = page("honest")
    assert bob.get(f"{plain.url}{path}/odd").text == "honest"
    _assert_kept_and_stored(running, plain, bob, path)


def test_unsolicited_response_is_ignored(running, plain, pages, bob, path):
    pages[f"{path}/odd"] = [page("fine"), 0.2, EVIL]
    with kept_connection(running, plain) as client:
        assert client.ask(f"{path}/odd")[2] == b"fine"
        time.sleep(0.5)
        _assert_not_poisoned(client, plain, bob, path)
    _assert_kept_and_stored(running, plain, bob, path)


@pytest.mark.parametrize("first", ["client", "origin"])
def test_bytes_received_before_a_request_do_not_answer_it(running, origin, pages, bob, path, first):
    """Both are there when linkmend, busy until then, reads again: the next request, and the unsolicited bytes."""
    over, evil_sent = threading.Event(), threading.Event()

    def fine_then_evil():
        yield page("fine")
        over.wait(10)
        yield EVIL
        evil_sent.set()

    def send_evil():
        over.set()
        assert evil_sent.wait(30)

    pages[f"{path}/odd"] = fine_then_evil()
    with kept_connection(running, origin) as client:
        assert client.ask(f"{path}/odd")[2] == b"fine"
        with running.held_still():
            for who in (("client", "origin"), ("origin", "client"))[first == "origin"]:
                client.send(f"{path}/victim") if who == "client" else send_evil()
        assert client.read()[2] == f"honest {path}/victim".encode()
    assert bob.get(f"{origin.url}{path}/victim").text == f"honest {path}/victim"
    _assert_kept_and_stored(running, origin, bob, path)


@pytest.mark.parametrize("length", [None, b"3"])
def test_http2_body_does_not_become_an_http1_request(running, secure, bob, path, length):
    """HTTP/2 need not announce the length of a body; an HTTP/1 origin needs it."""
    body = _smuggled(secure, path)
    for method in (b"GET", b"POST"):
        fields = [
            *((b":method", method), (b":scheme", b"https"), (b":authority", secure.host.encode())),
            (b":path", f"{path}/{method.decode()}".encode()),
        ]
        if length is not None:  # promised, but none is sent
            fields.append((b"content-length", length))
        status, _ = ask_by_http2(running, secure, fields, body, announces_end=length is not None)
        head = secure.asked(f"{path}/{method.decode()}")[0]
        assert status == 200
        assert head.field("content-length") == ("0" if length else str(len(body)))
    assert bob.get(f"{secure.url}{path}/GET").text == f"honest {path}/GET"
    assert len(secure.asked(f"{path}/GET")) == 2
    _assert_kept_and_stored(running, secure, bob, path)


@pytest.mark.parametrize(
    "hidden",
    [(b"accept", b"*/*\r\nX-Forwarded-Host: evil"), (b":path", b"/x HTTP/1.1\r\nA: b"), (b":method", b"G T")],
)
def test_http2_field_does_not_become_two_http1_fields(running, secure, bob, path, hidden):
    honest = (b"GET", b"https", secure.host.encode(), f"{path}/odd".encode())
    fields = dict(zip((b":method", b":scheme", b":authority", b":path"), honest, strict=True)) | dict(
        [hidden]
    )
    before = len(secure.heads)
    assert ask_by_http2(running, secure, list(fields.items()))[0] in (0, 400)
    assert len(secure.heads) == before
    _assert_kept_and_stored(running, secure, bob, path)


def test_refused_web_socket_leaves_no_reusable_connection(running, plain, bob, path):
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: eA==",
    )
    with kept_connection(running, plain) as client:
        client.ask(f"{path}/odd", *upgrade)
        _assert_not_poisoned(client, plain, bob, path)
    asked = {plain.asked(f"{path}/{name}")[0].connection for name in ("odd", "victim")}
    assert len(asked) == 2
    _assert_kept_and_stored(running, plain, bob, path)


def test_get_body_poisons_nothing_behind_squid(tmp_path, start_linkmend, start_squid, plain, path):
    """Squid keeps connections to origins for everybody."""
    squid = start_squid()
    running = start_linkmend("--parent", squid.url)
    bob = Client(running.url, source="127.0.2.72")
    body = _smuggled(plain, path)
    with kept_connection(running, plain) as client:
        client.ask(f"{path}/warm")
        client.ask(f"{path}/odd", f"Content-Length: {len(body)}", body=body)
        _assert_not_poisoned(client, plain, bob, path)
    assert bob.get(f"{plain.url}{path}/other").text == f"honest {path}/other"
    assert bob.get(f"{plain.url}{path}/other").text == f"honest {path}/other"
    assert len(plain.asked(f"{path}/other")) == 1


def test_a_304_with_extra_bytes_does_not_change_the_stored_response(running, plain, pages, bob, path):
    tagged = page("first", 'ETag: "1"', cache="Cache-Control: max-age=0")
    for more in (b"", EVIL):  # the control comes first
        where = f"{path}/odd{len(more)}"
        with kept_connection(running, plain) as client:
            pages[where] = tagged
            client.ask(where)
            pages[where] = (
                b'HTTP/1.1 304 NM\r\nETag: "1"\r\nX-New: 1\r\nCache-Control: max-age=600\r\n\r\n' + more
            )
            assert client.ask(where)[2] == b"first"
        pages[where] = page("second")
        assert bob.get(f"{plain.url}{where}").text == ("second" if more else "first")
