"""The ways in which a site answers badly. Each function gets a good answer and spoils it."""

import asyncio
import gzip

from tests.chaos.site import EVIL, Answering, Asked, Site, head

_FOR_EVER_S = 60.0  # longer than any timeout
_MEGABYTE = 1024 * 1024
_BOMB = gzip.compress(bytes(100 * _MEGABYTE), 9)


async def hang(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    await asked.linger(_FOR_EVER_S)


async def hang_up(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    asked.writer.close()


async def hang_midway(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    await asked.send(head + body[: len(body) // 2])
    await asked.linger(_FOR_EVER_S)


async def drip(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    """Send one byte a second."""
    await asked.send(head)
    for place in range(int(_FOR_EVER_S)):
        await asked.send(body[place : place + 1])
        await asyncio.sleep(1)
    asked.writer.close()


async def drip_head(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    for place in range(int(_FOR_EVER_S)):
        await asked.send(head[place : place + 1])
        await asyncio.sleep(1)
    asked.writer.close()


async def cut(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    await asked.send(head + body[: len(body) // 2])
    asked.writer.close()


async def cut_chunks(site: Site, asked: Asked, head: bytes, body: bytes) -> None:
    """End the connection in the middle of a chunked body."""
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length") and line]
    half = body[: len(body) // 2]
    await asked.send(b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b""]))
    await asked.send(b"%x\r\n%b\r\n" % (len(half), half) if half else b"")
    asked.writer.close()


async def too_long(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    """Send more than Content-Length; the rest looks like an answer to the next request."""
    await asked.send(good + body + EVIL)


async def two_lengths(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    """Send two lengths; a client that believes the smaller takes the end of the page for the next answer."""
    await asked.send(good.replace(b"\r\n", b"\r\nContent-Length: 7\r\n", 1) + body)
    asked.writer.close()


async def too_short(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    """Send less than Content-Length, and keep the connection open."""
    await asked.send(good + body[:-1])
    await asked.linger(_FOR_EVER_S)


async def bomb(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    await asked.send(
        head(
            "200 OK",
            len(_BOMB),
            Content_Type="text/html",
            Content_Encoding="gzip",
            Cache_Control="no-store",
            X_Chaos="bomb",
        )
        + _BOMB
    )


async def endless_head(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    """Send 100 MB of header fields."""
    await asked.send(b"HTTP/1.1 200 OK\r\n")
    for _ in range(100):
        await asked.send((b"X-A: " + b"a" * 1000 + b"\r\n") * 1000)
    asked.writer.close()


async def nonsense(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    await asked.send(site.luck.randbytes(2000))
    asked.writer.close()


async def server_error(site: Site, asked: Asked, good: bytes, body: bytes) -> None:
    await asked.send(head("503 Service Unavailable", 5, X_Chaos="error", Cache_Control="no-store") + b"sorry")


WAYS: dict[str, Answering] = {
    way.__name__: way
    for way in (
        *(hang, hang_up, hang_midway, drip, drip_head, cut, cut_chunks),
        *(too_long, two_lengths, too_short, bomb, endless_head, nonsense, server_error),
    )
}
