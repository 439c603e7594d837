"""What passes between the two processes: a head, then so many bytes. Both sides read no more than the head allows."""

import socket
import struct
import time

import msgspec

from repair.parse.formats.extraction import Extraction, Refusal
from repair.parse.formats.kinds import FileKind
from repair.parse.formats.worksheets.model import RewrittenWorksheet, WorksheetContent

Reply = Extraction | WorksheetContent | RewrittenWorksheet | Refusal

MAX_REPLY_BYTES = 24 * 1024**2
"""As large as a worksheet may be, with room for longer addresses."""
KINDS = tuple(FileKind)
WORKSHEET = len(KINDS)
"""The number that stands for a worksheet's job."""
REQUEST = struct.Struct("!BI")
"""The number of the format, and the size of the file."""
REPLY = struct.Struct("!I")
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_PIECE = 256 * 1024


class Ended(Exception):
    """The other side is gone, takes too long, or sends what it should not."""


def receive(connection: socket.socket, size: int, *, until: float | None = None) -> bytes:
    """Exactly so many bytes, by a time on the clock `time.monotonic`. Raises Ended."""
    pieces, left = list[bytes](), size
    while left:
        if until is not None:
            connection.settimeout(max(0.001, until - time.monotonic()))
        try:
            piece = connection.recv(min(left, _PIECE))
        except OSError as error:
            raise Ended(str(error)) from error
        if not piece:
            raise Ended("closed")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def encode_reply(reply: Reply) -> bytes:
    """A reply with its head; lone surrogates, which some files have, become question marks."""
    try:
        data = msgspec.msgpack.encode(reply)
    except UnicodeEncodeError:
        return encode_reply(Refusal(reason="text that is no Unicode"))
    return REPLY.pack(len(data)) + data


def decode_reply(data: bytes) -> Reply:
    """A reply; raises Ended when it is none."""
    try:
        return _REPLIES.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Ended(f"not a reply: {error}") from error
