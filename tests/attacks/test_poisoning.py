"""What one client, or one site, must not be able to do to another client's responses; end to end, byte by byte."""

import pytest

from tests.attacks.attackers import connection_to, read_until
from tests.integration.origin import Exchange, Origin, reply
from tests.integration.processes import eventually

FRESH = "max-age=600"
LARGE = b"B" * (2 * 1024 * 1024)
EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPWNED!"


class Reading(Origin):
    """An origin that reads chunked bodies; `bodies` has what was sent with each request."""

    async def _answer(self, line, reader, writer):
        head = line.encode("latin-1") + await reader.readuntil(b"\r\n\r\n")
        body = b""
        if b"chunked" in head.lower():
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:size]
            await reader.readline()
        method, path, _ = line.split(" ", 2)
        lines = (field.partition(":") for field in head.decode("latin-1").split("\r\n")[1:] if field)
        headers = {name.lower(): value.strip() for name, _, value in lines}
        exchange = Exchange(method=method, path=path, headers=headers, writer=writer)
        self.seen.append(exchange)
        exchange.body = body
        answer = self.pages.get(path, reply("not here", status="404 Not Found"))
        await (exchange.send(answer) if isinstance(answer, bytes) else answer(exchange))


@pytest.fixture(scope="module")
def site():
    with Reading() as running:
        yield running


def chunked_get(site, path, *headers, chunks=b"4\r\nevil\r\n"):
    lines = (f"GET {site.url}{path} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", "Transfer-Encoding: chunked")
    return "\r\n".join((*lines, *headers, "", "")).encode() + chunks + b"0\r\n\r\n"


def store(client, url):
    """Fetch a large page until it is stored: that happens only after its last byte has passed."""

    def is_hit():
        return "hit" in client.download(url).headers["Cache-Status"]

    eventually(is_hit, "it is never stored")


def by_header(name, **said):
    """A page that repeats what it was sent in one header."""

    async def answer(exchange):
        await exchange.send(reply(f"for {exchange.headers.get(name)}", **said))

    return answer


def test_shared_etag_does_not_leak_personal_pages(site, alice, bob, path):
    async def answer(exchange):
        told = {"Cache_Control": "public, max-age=600", "Vary": "Cookie", "ETag": '"v1"'}
        if exchange.headers.get("if-none-match") == '"v1"':
            await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\nVary: Cookie\r\n\r\n')
        else:
            await exchange.send(reply(f"for {exchange.headers.get('cookie')}", **told))

    site.pages[path] = answer
    assert alice.get(site.url + path, Cookie="alice").text == "for alice"
    assert bob.get(site.url + path, Cookie="bob").text == "for bob"
    assert bob.get(site.url + path).text == "for None"


def test_a_304_that_contradicts_itself_is_followed_by_a_plain_request(site, alice, bob, path):
    async def answer(exchange):
        if "if-none-match" in exchange.headers:
            await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "other"\r\n\r\n')
        else:
            body = f"for {exchange.headers.get('foo')}"
            await exchange.send(reply(body, Cache_Control=FRESH, Vary="Foo", ETag='"v1"'))

    site.pages[path] = answer
    assert alice.get(site.url + path, Foo="1").text == "for 1"
    answer = bob.get(site.url + path, Foo="2")
    assert (answer.status, answer.text) == (200, "for 2")


def test_response_to_a_chunked_get_does_not_mix_with_others(site, alice, running, path):
    async def answer(exchange):
        sent = b"0123456789" + EVIL if "transfer-encoding" in exchange.headers else LARGE
        await exchange.send(reply(sent, kind="application/octet-stream", Cache_Control=FRESH))

    site.pages[path] = answer
    site.pages["/victim"] = reply("the victim's own", Cache_Control="no-store")
    store(alice, site.url + path)
    with connection_to(running) as connection:
        connection.sendall(chunked_get(site, path, "Range: bytes=0-9", chunks=b""))
        first = read_until(connection, EVIL)
        assert f"Content-Length: {10 + len(EVIL)}".encode() in first
        victim = f"GET {site.url}/victim HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n"
        connection.sendall(victim.encode())
        assert read_until(connection).endswith(b"the victim's own")
    assert alice.download(site.url + path).size == len(LARGE)


def test_get_with_a_body_is_not_stored(site, alice, running, path):
    async def answer(exchange):
        await exchange.send(reply(b"said: " + exchange.body, Cache_Control=FRESH))

    site.pages[path] = answer
    with connection_to(running) as connection:
        connection.sendall(chunked_get(site, path))
        assert b"said: evil" in read_until(connection, b"said: evil")
    assert alice.get(site.url + path).text == "said: "


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("X_Auth_Token", {"Last_Modified": "Mon, 04 May 2020 12:00:00 GMT"}),
        ("X_Auth_Token", {"Cache_Control": FRESH}),
        ("X_Api_Key", {"Cache_Control": FRESH}),
        ("Cookie", {"Cache_Control": FRESH}),
    ],
)
def test_response_to_an_api_key_is_not_shared(name, said, site, alice, bob, path):
    site.pages[path] = by_header(name.lower().replace("_", "-"), kind="application/json", **said)
    assert alice.get(site.url + path, **{name: "alice"}).text == "for alice"
    assert bob.get(site.url + path, **{name: "bob"}).text == "for bob"


def test_page_altered_by_x_forwarded_proto_is_not_stored(site, alice, bob, path):
    site.pages[path] = by_header("x-forwarded-proto", Cache_Control=FRESH)
    assert alice.get(site.url + path, X_Forwarded_Proto="evil").text == "for evil"
    assert bob.get(site.url + path).text == "for None"


def test_a_fragment_reaches_no_origin(site, running, path):
    site.pages[path] = reply("the page", Cache_Control=FRESH)
    with connection_to(running) as connection:
        asked = (
            f"GET {site.url}{path}#evil HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(asked.encode())
        assert read_until(connection).endswith(b"the page")
    assert site.seen[-1].path == path


def test_cookie_set_by_a_304_reaches_only_its_client(site, alice, bob, path):
    async def answer(exchange):
        if "if-none-match" in exchange.headers:
            await exchange.send(
                b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nSet-Cookie: a=1\r\n\r\n"
            )
        else:
            await exchange.send(reply("page", Cache_Control="max-age=0", ETag='"v1"'))

    site.pages[path] = answer
    alice.get(site.url + path)
    asked = alice.get(site.url + path)
    assert (asked.text, asked.headers["Set-Cookie"]) == ("page", "a=1")
    after = bob.get(site.url + path)
    assert (after.text, after.headers["Set-Cookie"]) == ("page", None)


def test_large_hit_is_unaffected_by_a_large_request(site, alice, path):
    site.pages[path] = reply(LARGE, kind="application/octet-stream", Cache_Control=FRESH)
    store(alice, site.url + path)
    hit = alice.download(site.url + path, X_Big="a" * 100_000)
    assert (hit.status, hit.size) == (200, len(LARGE))
    assert "hit" in hit.headers["Cache-Status"]


def test_large_get_body_is_refused(site, running, path):
    with connection_to(running) as connection:
        size = 1024 * 1024 + 1
        connection.sendall(
            f"GET {site.url}{path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nContent-Length: {size}\r\n\r\n".encode()
            + b"x" * size
        )
        assert read_until(connection).startswith(b"HTTP/1.1 413 ")
    assert path not in [exchange.path for exchange in site.seen]
