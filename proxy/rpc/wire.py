"""Messages between workers and the backend as bytes (msgpack, never pickle), and the queue of those to be sent."""

import asyncio
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from datetime import datetime
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import Raw, Struct
from msgspec.msgpack import Decoder

MAX_BYTES = 32 * 1024**2
"""Of one message: a page of `collection.max_document_bytes`, with room to spare."""
CONFLICT = 409
"""The HTTP status with which a worker of another protocol version is refused."""
CLOSE_S = 2.0
"""How long the other side may take to end a connection."""


class MessageTooLarge(ValueError):
    """A message longer than MAX_BYTES is not sent."""


class Call(Struct, frozen=True, array_like=True, tag=1):
    """A method and its arguments; a request has an id and a time limit, a notification or broadcast has not."""

    method: str
    arguments: Raw
    id: int = 0
    within_s: float = 0.0


class Cancel(Struct, frozen=True, array_like=True, tag=2):
    """The caller of a request has given up."""

    id: int


class Broadcast(Struct, frozen=True, array_like=True, tag=3):
    calls: tuple[Call, ...]


class Leave(Struct, frozen=True, array_like=True, tag=4):
    """The worker accepts no more clients, and ends once the requests in flight are answered."""


class Welcome(Struct, frozen=True, array_like=True, tag=5):
    """The backend is ready; it listens on these ports of this machine."""

    ports: tuple[int, ...] = ()


class Reply(Struct, frozen=True, array_like=True, tag=6):
    """The result of a request, or why there is none."""

    id: int
    value: Raw
    error: str = ""


class Batch(Struct, frozen=True, array_like=True, tag=7):
    """Notifications that were gathered."""

    calls: tuple[Call, ...]


ToBackend = Call | Cancel | Broadcast | Leave | Batch
ToWorker = Welcome | Reply | Broadcast
TO_BACKEND: Decoder[ToBackend] = Decoder(ToBackend)
TO_WORKER: Decoder[ToWorker] = Decoder(ToWorker)


def encode(message: Struct) -> bytes:
    """A message as bytes; its arguments or result may be plain values. Raises MessageTooLarge.

    Halves of surrogate pairs, which odd URLs and headers may hold, become question marks.
    """
    try:
        data = _encoder.encode(message)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(message, builtin_types=(bytes, datetime), enc_hook=_plain)
        data = _encoder.encode(_without_surrogates(plain))
    if len(data) > MAX_BYTES:
        raise MessageTooLarge(f"a message of {len(data)} bytes")
    return data


def as_raw(value: object) -> Raw:
    """What is sent as it is and arrives as Raw."""
    return cast(Raw, value)


def as_encoded(call: bytes) -> Call:
    """A call that `encode` has encoded, as a part of a message."""
    return cast(Call, Raw(call))


def _plain(value: object) -> object:
    """Scores are sometimes numpy's numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(part) for part in value]
    return value


Send = Callable[[bytes], Coroutine[Any, Any, None]]


class Outbox:
    """Messages for the other side, sent in order: at once, or when it has read what came before."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._send: Send | None = None
        self._sending: asyncio.Task[None] | None = None
        self.size = 0
        """Bytes that are not sent yet."""

    def attach(self, send: Send) -> None:
        """Send from now on, first what has waited."""
        self._send = send
        if self._messages:
            self._sending = asyncio.create_task(self._send_waiting(send, None, 0))

    def detach(self) -> None:
        """Keep what comes from now on for the next connection."""
        self._send = None
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def put(self, data: bytes, *, limit: int) -> bool:
        """Send a message, or have it wait; False when more than `limit` bytes would wait."""
        if self.size + len(data) > limit:
            return False
        if self._send is None or self._sending is not None:
            self._messages.append(data)
            self.size += len(data)
        else:
            self._send_now(self._send, data)
        return True

    def _send_now(self, send: Send, data: bytes) -> None:
        """Begin to send in this very moment: a browser may be on its way to a worker that has to know.

        aiohttp writes first and then waits, if the other side is slow. TODO: from Python 3.12 on, an eager task.
        """
        sending = send(data)
        try:
            awaited = sending.send(None)
        except StopIteration:
            return
        except OSError:
            return  # the connection broke; the receiving side notices it as well
        self.size += len(data)
        self._sending = asyncio.create_task(self._send_waiting(send, _resume(sending, awaited), len(data)))

    async def _send_waiting(self, send: Send, begun: Awaitable[None] | None, size: int) -> None:
        try:
            if begun is not None:
                await begun
            while self._messages:
                self.size -= size
                data = self._messages.popleft()
                size = len(data)
                await send(data)
            self._sending = None
        except OSError:
            pass  # as above; what is left waits for the next connection
        finally:
            self.size -= size

    async def wait_sent(self) -> None:
        if self._sending is not None:
            await asyncio.wait((self._sending,))


@types.coroutine
def _resume(begun: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """The rest of a coroutine that has begun and waits for something."""
    yield awaited
    yield from begun
