"""Hop-by-hop fields are not forwarded, and Connection cannot remove fields that others decide by."""

import pytest

from tests.attacks.rawservers import HeadsOnly, kept_connection, page
from tests.integration.client import Client
from tests.integration.origin import certificate
from tests.integration.processes import serving


@pytest.fixture(scope="module")
def pages():
    return {}


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("certificate"), "127.0.0.1")


@pytest.fixture(scope="module", params=["http", "https"])
def origin(request, pages, secured):
    def respond(head):
        told = pages.get(head.path)
        return told(head) if callable(told) else told or page(f"honest {head.path}")

    with HeadsOnly(respond, tls=secured[1] if request.param == "https" else None) as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory, secured):
    data = tmp_path_factory.mktemp("hops") / "data"
    with serving(data, settings=f'[proxy]\ntrusted_ca = "{secured[0]}"\n') as proxy:
        yield proxy


@pytest.fixture(scope="module")
def bob(running):
    return Client(running.url, running.ca, source="127.0.2.72")


def test_fields_of_the_clients_connection_do_not_reach_the_origin(running, origin, path):
    sent = (
        *("Connection: keep-alive, X-Private, Keep-Alive", "X-Private: 1", "Keep-Alive: timeout=5"),
        *("Proxy-Connection: keep-alive", "TE: trailers, deflate", "HTTP2-Settings: AAMAAABkAAQAAP__"),
        *("Upgrade: h2c", "Proxy-Authorization: Basic YTpi", "X-Kept: 1"),
    )
    with kept_connection(running, origin) as client:
        assert client.ask(path, *sent)[0] == 200
    got = dict(origin.asked(path)[0].fields())
    assert got["x-kept"] == "1"  # the control
    assert got["connection"] == "keep-alive"
    gone = (
        "x-private",
        "keep-alive",
        "proxy-connection",
        "te",
        "http2-settings",
        "upgrade",
        "proxy-authorization",
    )
    assert not set(gone) & set(got)


def test_proxy_connection_alone_is_dropped_and_the_page_is_stored(running, origin, bob, path):
    with kept_connection(running, origin) as client:
        assert client.ask(path, "Proxy-Connection: keep-alive", "Connection: keep-alive")[0] == 200
    got = dict(origin.asked(path)[0].fields())
    assert "proxy-connection" not in got
    assert got["connection"] == "keep-alive"
    bob.get(f"{origin.url}{path}")
    assert len(origin.asked(path)) == 1


def test_uploads_lose_hop_by_hop_fields_too(running, origin, path):
    fields = ("Connection: X-Private", "X-Private: 1", "Proxy-Connection: close", "Content-Length: 3")
    with kept_connection(running, origin) as client:
        assert client.ask(path, *fields, method="POST", body=b"abc")[0] == 200
    got = dict(origin.asked(path)[0].fields())
    assert got["content-length"] == "3"
    assert not {"x-private", "proxy-connection"} & set(got)


@pytest.mark.parametrize(
    ("named", "value"),
    [
        *(("Host", None), ("Cookie", "a=b"), ("Authorization", "Basic YTpi"), ("Cache-Control", "max-age=5")),
        *(
            ("If-None-Match", '"x"'),
            ("Range", "bytes=0-1"),
            ("Sec-Fetch-Mode", "navigate"),
            ("Origin", "http://a"),
        ),
    ],
)
def test_connection_header_cannot_remove_end_to_end_fields(running, origin, path, named, value):
    fields = (f"Connection: {named}", *((f"{named}: {value}",) if value else ()))
    with kept_connection(running, origin) as client:
        assert client.ask(path, *fields)[0] == 200
    got = dict(origin.asked(path)[0].fields())
    assert got[named.lower()] == (value or origin.host)


def test_connection_header_cannot_remove_content_length(running, origin, path):
    with kept_connection(running, origin) as client:
        status = client.ask(
            path, "Connection: Content-Length", "Content-Length: 3", method="POST", body=b"abc"
        )[0]
    assert status == 200
    assert dict(origin.asked(path)[0].fields())["content-length"] == "3"


@pytest.mark.parametrize(
    ("name", "value"),
    [("Accept-Language", "fr"), ("Accept-Encoding", "br"), ("User-Agent", "gold"), ("X-Variant", "gold")],
)
def test_variant_of_a_field_removed_by_connection_is_not_stored(
    running, origin, pages, bob, path, name, value
):
    """Named in Connection, the field does not reach the origin, which sends the default variant."""
    pages[path] = lambda head: page(f"for {head.field(name)}", f"Vary: {name}")
    asked = {name.replace("-", "_"): value}
    with kept_connection(running, origin) as client:
        assert client.ask(path, f"Connection: {name}", f"{name}: {value}")[2] == b"for None"
    assert bob.get(f"{origin.url}{path}", **asked).text == f"for {value}"
    assert bob.get(f"{origin.url}{path}", **asked).text == f"for {value}"
    assert len(origin.asked(path)) == 2  # the control: the second is stored


def test_fields_of_the_origins_connection_do_not_reach_the_client(running, origin, pages, bob, path):
    pages[path] = page(
        "x",
        *(
            "Connection: keep-alive, X-Private, Set-Cookie, Content-Type",
            "X-Private: 1",
            "Keep-Alive: timeout=5",
        ),
        *("Upgrade: h2,h2c", 'Proxy-Authenticate: Basic realm="proxy"', "Set-Cookie: a=b", "X-Kept: 1"),
    )
    with kept_connection(running, origin) as client:
        _, head, _ = client.ask(path)
    got = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert {b"x-kept", b"content-type", b"set-cookie"} <= got
    assert not {b"x-private", b"keep-alive", b"upgrade", b"proxy-authenticate"} & got
    asked = len(origin.asked(path))
    bob.get(f"{origin.url}{path}")
    assert len(origin.asked(path)) == asked + 1  # it sets a cookie, whatever its directives say


def test_a_field_that_the_origin_names_is_not_stored_but_the_page_is(running, origin, pages, bob, path):
    pages[path] = page("x", "Connection: X-Private", "X-Private: 1", "X-Kept: 1")
    with kept_connection(running, origin) as client:
        assert client.ask(path)[0] == 200
    answer = bob.get(f"{origin.url}{path}")
    assert len(origin.asked(path)) == 1
    assert answer.headers["X-Kept"] == "1"
    assert "X-Private" not in answer.headers


def test_a_web_socket_is_still_opened(running, origin, pages, path):
    pages[path] = lambda head: (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
    )
    asked = ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    with kept_connection(running, origin) as client:
        status, head, _ = client.ask(path, "Connection: keep-alive, Upgrade", "Upgrade: websocket", *asked)
    assert status == 101
    assert b"upgrade: websocket" in head.lower()
    got = dict(origin.asked(path)[0].fields())
    assert (got["connection"], got["upgrade"]) == ("Upgrade", "websocket")
