import asyncio
import os
from contextlib import suppress

import pytest

from proxy.messages import FileBody
from proxy.store.bodyserver import BodyServer

CONTENT = os.urandom(3_000_000)


@pytest.fixture
async def server():
    server = BodyServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def body(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(CONTENT)
    return FileBody(path=path, size=len(CONTENT))


async def connected(server):
    return await asyncio.open_connection("127.0.0.1", server.port)


async def asked(connection, path, method="GET", extra=""):
    """Status line and headers of the answer; the body is read by the caller."""
    reader, writer = connection
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{extra}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *lines = head.strip().split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines)


async def fetched(server, path, method="GET"):
    connection = await connected(server)
    status, headers = await asked(connection, path, method)
    reader, writer = connection
    body = b"" if method == "HEAD" else await reader.readexactly(int(headers["Content-Length"]))
    writer.close()
    return status, headers, body


async def test_an_offered_body_is_served_with_its_headers(server, body):
    offer = await server.offer(body, status=200, headers=(("Content-Type", "video/mp4"), ("ETag", '"é"')))
    status, headers, content = await fetched(server, offer.path)
    assert status == "HTTP/1.1 200 OK"
    assert headers == {"Content-Type": "video/mp4", "ETag": '"é"', "Content-Length": "3000000"}
    assert content == CONTENT


async def test_only_loopback_is_listened_on(server, body):
    offer = await server.offer(body, status=200, headers=())
    assert (offer.host, offer.port) == ("127.0.0.1", server.port)


async def test_a_part_is_served_alone(server, body):
    offer = await server.offer(
        body, status=206, headers=(("Content-Range", "bytes 10-99/3000000"),), start=10, stop=100
    )
    status, headers, content = await fetched(server, offer.path)
    assert status == "HTTP/1.1 206 Partial Content"
    assert headers["Content-Range"] == "bytes 10-99/3000000"
    assert content == CONTENT[10:100]


async def test_head_gets_the_headers_alone_and_the_connection_can_go_on(server, body):
    connection = await connected(server)
    first = await server.offer(body, status=200, headers=())
    second = await server.offer(body, status=200, headers=(), stop=5)
    _, headers = await asked(connection, first.path, "HEAD")
    assert headers["Content-Length"] == "3000000"
    _, headers = await asked(connection, second.path)
    assert await connection[0].readexactly(5) == CONTENT[:5]
    connection[1].close()


async def test_one_connection_fetches_one_body_after_another(server, body):
    connection = await connected(server)
    for _ in range(3):
        offer = await server.offer(body, status=200, headers=())
        await asked(connection, offer.path)
        assert await connection[0].readexactly(len(CONTENT)) == CONTENT
    connection[1].close()


async def test_an_offer_is_good_once(server, body):
    offer = await server.offer(body, status=200, headers=())
    await fetched(server, offer.path)
    assert (await fetched(server, offer.path))[0] == "HTTP/1.1 404 Not Found"


@pytest.mark.parametrize("path", ["/", "/nonsense", "/../etc/passwd", "*", "/a b", "http://127.0.0.1/x"])
async def test_anything_else_is_not_found_and_says_nothing(server, path):
    status, headers, content = await fetched(server, path)
    assert status == "HTTP/1.1 404 Not Found"
    assert headers == {"Content-Length": "0", "Connection": "close"}
    assert content == b""


async def test_other_methods_are_not_found_and_leave_the_offer(server, body):
    offer = await server.offer(body, status=200, headers=())
    assert (await fetched(server, offer.path, "POST"))[0] == "HTTP/1.1 404 Not Found"
    assert (await fetched(server, offer.path))[2] == CONTENT


async def test_the_absolute_form_that_proxies_send_is_understood(server, body):
    offer = await server.offer(body, status=200, headers=())
    assert (await fetched(server, f"http://{offer.host}:{offer.port}{offer.path}"))[2] == CONTENT


async def test_a_file_removed_after_the_offer_is_still_served(server, body):
    offer = await server.offer(body, status=200, headers=())
    body.path.unlink()
    assert (await fetched(server, offer.path))[2] == CONTENT


async def test_a_file_that_is_gone_or_of_another_length_is_not_offered(server, body):
    assert await server.offer(FileBody(path=body.path, size=5), status=200, headers=()) is None
    body.path.unlink()
    assert await server.offer(body, status=200, headers=()) is None


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (6, 5), (0, 3_000_001)])
async def test_a_part_that_is_not_there_is_not_offered(server, body, start, stop):
    assert await server.offer(body, status=206, headers=(), start=start, stop=stop) is None


async def test_an_empty_body_is_served(server, tmp_path):
    (tmp_path / "empty").touch()
    offer = await server.offer(FileBody(path=tmp_path / "empty", size=0), status=200, headers=())
    status, headers, content = await fetched(server, offer.path)
    assert (status, headers, content) == ("HTTP/1.1 200 OK", {"Content-Length": "0"}, b"")


async def test_headers_cannot_break_out_nor_contradict_the_length(server, body):
    hostile = (
        ("X-A", "1\r\nX-Injected: yes"),
        ("X-B\r\nX-Injected", "yes"),
        ("content-length", "7"),
        ("Transfer-Encoding", "chunked"),
        ("X-C", "kept"),
    )
    offer = await server.offer(body, status=200, headers=hostile)
    _, headers, _ = await fetched(server, offer.path)
    assert headers == {"X-C": "kept", "Content-Length": "3000000"}


async def test_an_unused_offer_expires_and_closes_its_file(body):
    server = BodyServer(unused_after_s=0)
    await server.start()
    offer = await server.offer(body, status=200, headers=())
    while server._offers:
        await asyncio.sleep(0)
    assert (await fetched(server, offer.path))[0] == "HTTP/1.1 404 Not Found"
    await server.stop()


async def test_a_client_that_leaves_in_the_middle_harms_no_other(server, body):
    offer = await server.offer(body, status=200, headers=())
    connection = await connected(server)
    await asked(connection, offer.path)
    connection[1].transport.abort()
    offer = await server.offer(body, status=200, headers=())
    assert (await fetched(server, offer.path))[2] == CONTENT


async def test_a_request_with_a_body_of_its_own_ends_the_connection(server, body):
    connection = await connected(server)
    offer = await server.offer(body, status=200, headers=(), stop=5)
    await asked(connection, offer.path, extra="Content-Length: 3\r\n")
    assert await connection[0].read() == CONTENT[:5]
    connection[1].close()


async def test_an_endless_head_is_cut_off(server):
    reader, writer = await connected(server)
    writer.write(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000)
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()


async def test_twenty_clients_at_once(server, body):
    offers = [await server.offer(body, status=200, headers=()) for _ in range(20)]
    answers = await asyncio.gather(*(fetched(server, offer.path) for offer in offers))
    assert all(content == CONTENT for _, _, content in answers)


async def test_after_stopping_nothing_is_offered_and_no_file_stays_open(body):
    server = BodyServer()
    await server.start()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await server.offer(body, status=200, headers=())
    await server.stop()
    assert await server.offer(body, status=200, headers=()) is None
    assert len(os.listdir("/proc/self/fd")) <= before
