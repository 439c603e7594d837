"""Stored responses as bytes and back: msgpack behind a version and a checksum, never pickle.

A record says how long its body is. A small body lies in the record and shares its checksum; a larger one lies in
a file beside it, with a checksum of its own if it is read whole, by its length alone if it is only streamed.
"""

import zlib
from hashlib import blake2b

import msgspec

from proxy.cache.entry import FileBody, Headers, StoredResponse

_VERSION = b"\x01"
_CHECKSUM_BYTES = 4


class Damaged(ValueError):
    """These bytes are no record of ours, or not one of this version, or not whole."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """One response. `body` is None when it lies in a file; `body_crc` is None when that file is only streamed."""

    status: int
    reason: str
    headers: Headers
    vary: Headers
    requested_at: float
    received_at: float
    pinned: bool
    length: int
    body: bytes | None
    body_crc: int | None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


def record_of(response: StoredResponse, *, in_record_bytes: int) -> Record:
    """The record of a response; bodies longer than `in_record_bytes` are left to a file."""
    body = response.body
    length = body.size if isinstance(body, FileBody) else len(body)
    return Record(
        status=response.status,
        reason=response.reason,
        headers=response.headers,
        vary=response.vary,
        requested_at=response.requested_at,
        received_at=response.received_at,
        pinned=response.pinned,
        length=length,
        body=None if isinstance(body, FileBody) or length > in_record_bytes else body,
        body_crc=None if isinstance(body, FileBody) or length <= in_record_bytes else zlib.crc32(body),
    )


def response_of(record: Record, body: bytes | FileBody) -> StoredResponse:
    """The way back; `body` is the record's own or what was found in its file."""
    return StoredResponse(
        status=record.status,
        reason=record.reason,
        headers=record.headers,
        body=body,
        vary=record.vary,
        requested_at=record.requested_at,
        received_at=record.received_at,
        pinned=record.pinned,
    )


def encode(record: Record) -> bytes:
    """Raises ValueError for text that cannot be written, such as lone surrogates."""
    payload = _encoder.encode(record)
    return _VERSION + zlib.crc32(payload).to_bytes(_CHECKSUM_BYTES) + payload


def decode(data: object) -> Record:
    """Raises Damaged."""
    if not isinstance(data, bytes) or data[:1] != _VERSION:
        raise Damaged("not a record of this version")
    payload = memoryview(data)[1 + _CHECKSUM_BYTES :]
    if zlib.crc32(payload) != int.from_bytes(data[1 : 1 + _CHECKSUM_BYTES]):
        raise Damaged("checksum does not match")
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise Damaged(str(error)) from error


def variant_name(vary: Headers) -> bytes:
    """Sixteen bytes that tell one variant of a URL from another."""
    return blake2b(_encoder.encode(vary), digest_size=16).digest()
