"""Messages as bytes and back: msgpack behind its length, never pickle, and never more than a fixed size."""

import asyncio
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

MAX_BYTES = 32 * 1024**2
"""Of one message: a page of `collection.max_document_bytes`, with room to spare."""
_LENGTH = 4


def _plain(value: object) -> object:
    """Scores are numpy's numbers now and then."""
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"{type(value).__name__} is not said on the line")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)


class TooLong(ValueError):
    """A message longer than MAX_BYTES: not sent, or not from one of us."""


def encoded(value: object) -> bytes:
    """A value as msgpack. Halves of surrogate pairs, which odd URLs and headers may hold, become question marks."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, builtin_types=(bytes, datetime), enc_hook=_plain)
        return _encoder.encode(_sound(plain))


def frame(message: object) -> bytes:
    """A message ready to be sent. Raises TooLong."""
    payload = encoded(message)
    if len(payload) > MAX_BYTES:
        raise TooLong(f"a message of {len(payload)} bytes")
    return len(payload).to_bytes(_LENGTH) + payload


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next message's payload. Raises TooLong, or IncompleteReadError or OSError when the other side is gone."""
    length = int.from_bytes(await reader.readexactly(_LENGTH))
    if length > MAX_BYTES:
        raise TooLong(f"a message of {length} bytes is announced")
    return await reader.readexactly(length)


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_sound(key): _sound(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sound(part) for part in value]
    return value
