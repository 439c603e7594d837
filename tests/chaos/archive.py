"""A web archive that answers well, or not at all, as its `mood` says."""

import asyncio
import contextlib
import random
from dataclasses import dataclass

from tests.chaos.site import head
from tests.integration.processes import free_port

MOODS = ("is well", "hangs", "drips", "babbles", "knows nothing", "has no time", "never ends")
_MOMENT, _DATE = "20200102030405", "Thu, 02 Jan 2020 03:04:05 GMT"


@dataclass(slots=True)
class Archive:
    """A web archive with one capture of every address."""

    luck: random.Random
    mood: str = "is well"
    port: int = 0

    async def serve(self) -> None:
        self.port = free_port()
        await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
            asked = await reader.readuntil(b"\r\n\r\n")
            await self._answer(asked.split(b" ")[1].decode("latin-1"), writer)
        writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        match self.mood:
            case "is well":
                writer.write(self._well(path))
            case "hangs":
                await asyncio.sleep(30)
            case "drips":
                for byte in b"HTTP/1.1 200 OK\r\n":
                    writer.write(bytes([byte]))
                    await asyncio.sleep(1)
            case "babbles":
                writer.write(head("200 OK", 99) + b"<http://[>; rel=memento")
            case "knows nothing":
                writer.write(head("404 Not Found", 0))
            case "has no time":
                writer.write(head("429 Too Many Requests", 0, Retry_After="2"))
            case "never ends":
                writer.write(head("200 OK", 10**9, Content_Type="application/link-format"))
                for _ in range(1000):
                    writer.write(f'<http://a.test/>; rel="memento"; datetime="{_DATE}",\n'.encode() * 200)
                    await writer.drain()

    def _well(self, path: str) -> bytes:
        fields = {"Connection": "close"}
        if path.startswith("/timemap/link/"):
            original = path.removeprefix("/timemap/link/")
            memento = f"http://127.0.0.1:{self.port}/{_MOMENT}/{original}"
            body = f'<{original}>; rel="original",\n<{memento}>; rel="memento"; datetime="{_DATE}"\n'.encode()
            return head("200 OK", len(body), Content_Type="application/link-format", **fields) + body
        body = b"<!doctype html><title>As it was</title><p>All that there was to read here in 2020.</html>"
        fields["Memento-Datetime"] = _DATE
        return head("200 OK", len(body), Content_Type="text/html", **fields) + body
