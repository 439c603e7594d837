"""Encodes stored responses: msgpack with a version and a checksum, never pickle.

A record holds the length of its body. A small body is part of the record and of its checksum. A larger one is in a
file: with a checksum of its own if it is read whole, checked by its length only if it is streamed.
"""

import zlib
from hashlib import blake2b

import msgspec

from proxy.messages import FileBody, HeaderFields, Headers, StoredResponse

_VERSION = b"\x01"
_CHECKSUM_BYTES = 4


class DamagedRecord(ValueError):
    """The bytes are not a complete record of this version."""


class StoredRecord(msgspec.Struct, frozen=True, array_like=True):
    """One response. `body` is None when it is in a file; `body_crc` is None when that file is only streamed."""

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
_decoder = msgspec.msgpack.Decoder(StoredRecord)


def record_of(response: StoredResponse, *, in_record_bytes: int) -> StoredRecord:
    """The record of a response; bodies longer than `in_record_bytes` go to a file."""
    body = response.body
    length = body.size if isinstance(body, FileBody) else len(body)
    return StoredRecord(
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


def response_of(record: StoredRecord, body: bytes | FileBody) -> StoredResponse:
    """The response of a record; `body` is the record's own or comes from its file."""
    return StoredResponse(
        status=record.status,
        reason=record.reason,
        headers=HeaderFields(record.headers),
        body=body,
        vary=record.vary,
        requested_at=record.requested_at,
        received_at=record.received_at,
        pinned=record.pinned,
    )


def encode(record: StoredRecord) -> bytes:
    """Raises ValueError for text that cannot be encoded, such as lone surrogates."""
    payload = _encoder.encode(record)
    return _VERSION + zlib.crc32(payload).to_bytes(_CHECKSUM_BYTES) + payload


def decode(data: object) -> StoredRecord:
    """Raises DamagedRecord."""
    if not isinstance(data, bytes) or data[:1] != _VERSION:
        raise DamagedRecord("not a record of this version")
    payload = memoryview(data)[1 + _CHECKSUM_BYTES :]
    if zlib.crc32(payload) != int.from_bytes(data[1 : 1 + _CHECKSUM_BYTES]):
        raise DamagedRecord("checksum does not match")
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise DamagedRecord(str(error)) from error


def variant_name(vary: Headers) -> bytes:
    """Sixteen bytes that identify a variant of a URL."""
    return blake2b(_encoder.encode(vary), digest_size=16).digest()
