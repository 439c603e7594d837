"""The backend's end of the calls: answers requests, takes notifications, passes broadcasts on to the other workers.

Whatever blocks runs in the threads of the service that is called, so that the server itself always answers. Past so
many requests of one worker at once, a request fails at once.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import msgspec
from aiohttp import WSMsgType, web

from proxy.eventloops import stop_accepting
from proxy.rpc.methods import methods_of
from proxy.rpc.protocol import VERSION
from proxy.rpc.wire import (
    CONFLICT,
    MAX_BYTES,
    TO_BACKEND,
    Batch,
    Broadcast,
    Call,
    Leave,
    Outbox,
    Reply,
    Welcome,
    as_raw,
    encode,
)

log = logging.getLogger(__name__)

MOST_REQUESTS = 500
"""Of one worker at the same time."""
_REPLAYED = 20_000  # broadcasts that are sent again to a worker that connects later
_REPLAYED_BYTES = 4 * 1024**2
_UNSENT_BYTES = 4 * 1024**2  # a worker that does not read is not told broadcasts for now
_ANSWERS_BYTES = 2**40  # answers are few, and none is dropped
_CLOSE_S = 5.0


class _Connection:
    """One worker."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.answering: dict[int, asyncio.Task[None]] = {}
        self.is_leaving = False


class RpcServer:
    """Serves every worker that connects to a listening unix socket."""

    def __init__(
        self,
        services: Mapping[type, object],
        listener: socket.socket,
        *,
        ports: Callable[[], Collection[int]] = tuple,
    ) -> None:
        """`services` maps each service of the protocol to its implementation; `ports` are sent to each worker."""
        self._methods = {
            method.name: (method, implementation)
            for service, implementation in services.items()
            for method in methods_of(service)
        }
        self._listener = listener
        self._ports = ports
        app = web.Application()
        app.router.add_get("/rpc/{version}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self._server: asyncio.Server | None = None
        self._workers: dict[asyncio.Task[Any], _Connection] = {}
        self._history: deque[bytes] = deque()
        self._history_bytes = 0

    async def start(self) -> None:
        await self._runner.setup()
        handlers = cast(web.Server, self._runner.server)
        self._server = await asyncio.get_running_loop().create_unix_server(handlers, sock=self._listener)

    def has_workers(self) -> bool:
        """Whether any worker accepts clients."""
        return not all(worker.is_leaving for worker in self._workers.values())

    async def close(self) -> None:
        """Take what workers still send, until they disconnect or it takes too long."""
        if self._server is not None:
            await stop_accepting(self._server)
        if self._workers:
            await asyncio.wait(tuple(self._workers), timeout=_CLOSE_S)
        for task in tuple(self._workers):
            task.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["version"] != VERSION:
            log.error("a worker uses another protocol version: %s", request.match_info["version"][:40])
            return web.Response(status=CONFLICT)
        stream = web.WebSocketResponse(max_msg_size=MAX_BYTES, compress=False)
        await stream.prepare(request)
        worker, task = _Connection(), cast("asyncio.Task[Any]", asyncio.current_task())
        worker.outbox.attach(stream.send_bytes)
        for data in (encode(Welcome(tuple(self._ports()))), *self._history):
            worker.outbox.put(data, limit=_ANSWERS_BYTES)
        self._workers[task] = worker
        try:
            async for message in stream:
                if message.type is not WSMsgType.BINARY:
                    break
                self._receive(message.data, worker)
        except msgspec.MsgspecError as error:
            log.error("a worker sent what is not a message: %s", error)
        finally:
            del self._workers[task]
            worker.outbox.detach()
            for answering in worker.answering.values():
                answering.cancel()
        return stream

    def _receive(self, data: bytes, worker: _Connection) -> None:
        message = TO_BACKEND.decode(data)
        if isinstance(message, Broadcast):
            self._pass_on(data, worker)
        elif isinstance(message, Leave):
            worker.is_leaving = True
        elif isinstance(message, Batch):
            for call in message.calls:
                self._take(call)
        elif not isinstance(message, Call):
            if message.id in worker.answering:
                worker.answering[message.id].cancel()
        elif message.id:
            self._begin(message, worker)
        else:
            self._take(message)

    def _take(self, notification: Call) -> None:
        try:
            self._call(notification)
        except Exception:  # costs this notification, and no other
            log.exception("notification of a worker failed: %s", notification.method[:80])

    def _begin(self, request: Call, worker: _Connection) -> None:
        if len(worker.answering) >= MOST_REQUESTS:
            self._reply(worker, Reply(request.id, as_raw(None), "too many requests at once"))
            return
        task = worker.answering[request.id] = asyncio.create_task(self._answer(request, worker))
        task.add_done_callback(lambda done: worker.answering.pop(request.id, None))

    async def _answer(self, request: Call, worker: _Connection) -> None:
        try:
            async with asyncio.timeout(request.within_s):
                value = await self._call(request)
            self._reply(worker, Reply(request.id, as_raw(value)))
        except Exception as error:  # whatever failed costs this request its answer, nothing more
            if not isinstance(error, TimeoutError):
                log.exception("request of a worker failed: %s", request.method[:80])
            self._reply(worker, Reply(request.id, as_raw(None), f"{type(error).__name__} {error}"[:500]))

    def _reply(self, worker: _Connection, reply: Reply) -> None:
        """Raises MessageTooLarge."""
        worker.outbox.put(encode(reply), limit=_ANSWERS_BYTES)

    def _call(self, message: Call) -> Any:
        method, implementation = self._methods[message.method]
        return method.call(implementation, message.arguments)

    def _pass_on(self, data: bytes, sender: _Connection) -> None:
        for worker in self._workers.values():
            if worker is not sender:
                worker.outbox.put(data, limit=_UNSENT_BYTES)
        self._history.append(data)
        self._history_bytes += len(data)
        while len(self._history) > _REPLAYED or self._history_bytes > _REPLAYED_BYTES:
            self._history_bytes -= len(self._history.popleft())
