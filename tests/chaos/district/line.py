"""A school's line to the district: TCP forwarders on one event loop, which can drop everything at once."""

import asyncio
import contextlib
import threading
from collections.abc import Callable

_PIECE = 64 * 1024


class Line:
    """Forwards each of its ports to a place that may move. Cut, it swallows what is sent, and nobody is told."""

    def __init__(self, places: dict[str, Callable[[], int]]) -> None:
        """`places` give the port of each engine at the moment; `ports` are those to use instead."""
        self.ports: dict[str, int] = {}
        self._places = places
        self._open = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._forwarding: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)

    def cut(self) -> None:
        """Pass nothing on from now on."""
        self._open = False

    def mend(self) -> None:
        """Pass on again. Connections that lived through the cut are reset, as routers do that forgot them."""
        self._open = True
        self._loop.call_soon_threadsafe(self._reset)

    def close(self) -> None:
        """Close all ports and connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    async def _listen(self) -> None:
        for name, place in self._places.items():
            server = await asyncio.start_server(
                lambda r, w, place=place: self._forward(place, r, w), "127.0.0.1", 0
            )
            self._servers.append(server)
            self.ports[name] = server.sockets[0].getsockname()[1]

    async def _forward(
        self, place: Callable[[], int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._writers.add(writer)
        task = asyncio.current_task()
        self._forwarding.add(task)
        far: asyncio.StreamWriter | None = None
        try:
            if self._open:
                answers, far = await asyncio.open_connection("127.0.0.1", place())
                self._writers.add(far)
                await asyncio.gather(self._pump(reader, far), self._pump(answers, writer))
            else:
                await asyncio.sleep(3600)  # until the line is mended, which closes the connection
        except (OSError, asyncio.CancelledError):
            pass  # reset
        finally:
            self._forwarding.discard(task)
            for each in filter(None, (writer, far)):
                self._writers.discard(each)
                each.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE):
                if not self._open:
                    await asyncio.sleep(3600)
                writer.write(piece)
                await writer.drain()
        writer.close()

    def _reset(self) -> None:
        for writer in tuple(self._writers):
            writer.transport.abort()
        for task in self._forwarding:
            task.cancel()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        self._reset()
