"""A worker's end of the calls to the backend.

A backend that is gone or silent costs users nothing but what it would have known: a request then raises
`BackendUnavailable` at once (or returns what its declaration names), notifications wait in a bounded queue, and the
client connects again by itself.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import aiohttp
import msgspec

from proxy.rpc import wire
from proxy.rpc.methods import RAISE, RemoteMethod, methods_of
from proxy.rpc.protocol import VERSION
from proxy.rpc.wire import (
    TO_WORKER,
    Batch,
    Broadcast,
    Call,
    Cancel,
    Leave,
    MessageTooLarge,
    Outbox,
    Welcome,
    as_encoded,
    as_raw,
    encode,
)
from repair.logs import RateLimitedLogger

log = logging.getLogger(__name__)

UNSENT_BYTES = 8 * 1024**2
"""What may wait for a slow backend; past it, notifications are dropped ..."""
KEPT_BYTES = 2 * 1024**2
"""... and for one that is not there."""
_SILENCE_S = 2.0  # a backend that let a request time out in silence is not asked again for so long
_GATHER_S = 0.02
_GATHER_MOST, _GATHER_BYTES, _GATHER_LARGEST = 100, 512 * 1024, 64 * 1024
_RETRY_S = 0.1
_MOST_RETRY_S = 1.0

T = TypeVar("T")


class BackendUnavailable(TimeoutError):
    """The backend is not there, too slow, or failed to answer."""


class RpcClient:
    """One connection to the backend, made again whenever it breaks. For one event loop."""

    def __init__(
        self,
        path: Path,
        *,
        on_welcome: Callable[[Welcome], None] = lambda welcome: None,
    ) -> None:
        self._path = path
        self._receivers: dict[str, tuple[RemoteMethod, object]] = {}
        self._on_welcome = on_welcome
        self._outbox = Outbox()
        self._pending: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._ids = itertools.count(1)
        self._gathered: dict[type[Broadcast | Batch], list[bytes]] = {Broadcast: [], Batch: []}
        self._gathered_bytes = 0
        self._gathering: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._silent_until = 0.0
        self._connecting: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._dropping = RateLimitedLogger(log)
        self._missing = RateLimitedLogger(log)
        self.dropped = 0

    async def start(self, *, wait_s: float) -> None:
        """Connect, and wait for the backend, but not for ever: it may come later."""
        self._connecting = asyncio.create_task(self._keep_connected())
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._up.wait()

    @property
    def is_connected(self) -> bool:
        return self._up.is_set()

    def stub(self, service: type[T]) -> T:
        """An object with the methods of a service that calls the backend's."""
        return cast(
            T, SimpleNamespace(**{each.attribute: self._calling(each) for each in methods_of(service)})
        )

    def receive(self, service: type, receiver: object) -> None:
        """Have the broadcasts of other workers call the methods of an implementation of their service."""
        self._receivers.update({each.name: (each, receiver) for each in methods_of(service)})

    def leave(self) -> None:
        """Tell the backend that this worker accepts no more clients."""
        self._send(Leave())

    async def close(self) -> None:
        """Send what waits, then disconnect."""
        self._send_gathered()
        if self._connecting is None:
            return
        if self.is_connected:
            with suppress(TimeoutError):
                async with asyncio.timeout(wire.CLOSE_S):
                    await self._outbox.wait_sent()
        self._connecting.cancel()
        await asyncio.gather(self._connecting, return_exceptions=True)

    # Calling

    def _calling(self, method: RemoteMethod) -> Callable[..., Any]:
        async def request(*args: Any, **kwargs: Any) -> Any:
            try:
                return await self._request(method, method.bind(args, kwargs))
            except BackendUnavailable as error:
                if method.kind.otherwise is RAISE:
                    raise
                self._missing.warning("backend not reachable: %s: %s", method.name, error)
                return method.kind.otherwise

        def notify(*args: Any, **kwargs: Any) -> bool:
            call = Call(method.name, as_raw(method.bind(args, kwargs)))
            if not method.kind.may_wait:
                return self._send(call)
            return self._gather(Batch, call, may_wait=True)

        def broadcast(*args: Any, **kwargs: Any) -> None:
            call = Call(method.name, as_raw(method.bind(args, kwargs)))
            self._gather(Broadcast, call, may_wait=method.kind.may_wait)

        return {"request": request, "notify": notify, "broadcast": broadcast}[method.kind.name]

    async def _request(self, method: RemoteMethod, arguments: tuple[Any, ...]) -> Any:
        now, within_s = time.monotonic(), method.within_s(arguments)
        if not self.is_connected or now < self._silent_until:
            raise BackendUnavailable("not connected" if not self.is_connected else "it is silent")
        number = next(self._ids)
        pending = self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            data = encode(Call(method.name, as_raw(arguments), number, within_s))
            if not self._outbox.put(data, limit=UNSENT_BYTES):
                raise BackendUnavailable("it is behind")
            async with asyncio.timeout(within_s):
                return method.read_result(await pending)
        except asyncio.CancelledError:
            self._send(Cancel(number))
            raise
        except BackendUnavailable:
            raise
        except TimeoutError as error:
            if self._heard_at < now:
                self._silent_until = time.monotonic() + _SILENCE_S
            raise BackendUnavailable(f"no answer within {within_s:.1f} s") from error
        except (MessageTooLarge, msgspec.MsgspecError) as error:
            raise BackendUnavailable(str(error)) from error
        finally:
            del self._pending[number]

    def _send(self, message: msgspec.Struct) -> bool:
        """Queue a message; False when it is dropped."""
        try:
            is_queued = self._outbox.put(
                encode(message), limit=UNSENT_BYTES if self.is_connected else KEPT_BYTES
            )
        except MessageTooLarge:
            is_queued = False
        if not is_queued:
            self.dropped += 1
            self._dropping.warning("backend cannot keep up: %d notifications dropped so far", self.dropped)
        return is_queued

    def _gather(self, kind: type[Broadcast | Batch], call: Call, *, may_wait: bool) -> bool:
        """Send a call: at once, since a browser may be on its way to another worker, unless it may wait.

        What is large goes at once, too. False when it is dropped.
        """
        try:
            data = encode(call)
        except MessageTooLarge:
            data = b""
        if not 0 < len(data) <= _GATHER_LARGEST:
            self._send_gathered()
            return self._send(kind((as_encoded(data) if data else call,)))
        gathered = self._gathered[kind]
        gathered.append(data)
        self._gathered_bytes += len(data)
        if not may_wait or len(gathered) >= _GATHER_MOST or self._gathered_bytes > _GATHER_BYTES:
            self._send_gathered()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER_S, self._send_gathered)
        return True

    def _send_gathered(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._gathered_bytes = 0
        for kind, calls in self._gathered.items():
            if calls:
                self._send(kind(tuple(map(as_encoded, calls))))
                calls.clear()

    # The connection

    async def _keep_connected(self) -> None:
        retry_s = _RETRY_S
        while True:
            was_up = False
            try:
                was_up = await self._connect()
                log.warning("backend not reachable: it closed the connection")
            except aiohttp.WSServerHandshakeError as error:
                why = "it uses another protocol version" if error.status == wire.CONFLICT else error.message
                log.warning("backend not reachable: %s", why)
            except (OSError, aiohttp.ClientError, msgspec.MsgspecError) as error:
                log.warning("backend not reachable: %s", error)
            retry_s = _RETRY_S if was_up else min(2 * retry_s, _MOST_RETRY_S)
            await asyncio.sleep(retry_s)

    async def _connect(self) -> bool:
        """Stay connected as long as it lasts; whether the backend was ready at all."""
        was_up = False
        session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(self._path)), timeout=aiohttp.ClientTimeout(total=None)
        )
        async with (
            session,
            session.ws_connect(
                f"http://backend/rpc/{VERSION}",
                max_msg_size=wire.MAX_BYTES,
                timeout=aiohttp.ClientWSTimeout(ws_close=wire.CLOSE_S),
            ) as socket,
        ):
            try:
                async for message in socket:
                    if message.type is not aiohttp.WSMsgType.BINARY:
                        break
                    received = TO_WORKER.decode(message.data)
                    self._heard_at, self._silent_until = time.monotonic(), 0.0
                    if isinstance(received, Welcome):
                        was_up = True
                        self._on_welcome(received)
                        self._up.set()
                        self._outbox.attach(socket.send_bytes)
                    else:
                        self._receive(received)
            finally:
                self._up.clear()
                self._outbox.detach()
                for pending in self._pending.values():
                    if not pending.done():
                        pending.set_exception(BackendUnavailable("the connection broke"))
        return was_up

    def _receive(self, message: wire.Reply | Broadcast) -> None:
        if isinstance(message, Broadcast):
            for call in message.calls:
                if call.method in self._receivers:
                    method, receiver = self._receivers[call.method]
                    method.call(receiver, call.arguments)
            return
        pending = self._pending.get(message.id)
        if pending is None or pending.done():
            return  # the caller has given up
        if message.error:
            pending.set_exception(BackendUnavailable(message.error))
        else:
            pending.set_result(message.value)
