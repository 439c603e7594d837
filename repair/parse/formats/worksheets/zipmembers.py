"""A zip file with some members replaced: every other member keeps its bytes, compressed as they are (APPNOTE 4.3).

Python's zipfile would compress all members again. Here the local records are copied as they lie in the file, and the
central directory gets new offsets.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from repair.parse.formats.extraction import Unreadable

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_MOST = 0xFFFF_FFFF
_DESCRIPTOR_FLAG = 0x8


def replace_members(data: bytes, fresh: Mapping[str, bytes]) -> bytes:
    """The archive with the members named in `fresh` replaced. Raises Unreadable for what cannot be copied safely."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries, directory, comment = archive.infolist(), archive.start_dir, archive.comment
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise Unreadable(f"not a zip file: {error}") from error
    starts = sorted(entry.header_offset for entry in entries)
    if len(set(starts)) != len(starts) or (starts and (starts[0] < 0 or starts[-1] >= directory)):
        raise Unreadable("members of the zip file overlap")
    ends = dict(zip(starts, [*starts[1:], directory], strict=True))
    written, moved = (
        bytearray(data[: starts[0] if starts else directory]),
        dict[int, tuple[int, bytes | None]](),
    )
    by_start = {entry.header_offset: entry for entry in entries}
    for start in starts:
        entry = by_start[start]
        body = fresh.get(entry.filename)
        moved[start] = (len(written), body)
        written += data[start : ends[start]] if body is None else _local_record(data, entry, body)
    at = len(written)
    place = directory
    for _ in entries:
        record, place = _central_record(data, place, moved)
        written += record
    size = len(written) - at
    if len(written) > _MOST or len(entries) > 0xFFFF:
        raise Unreadable("too large for a plain zip file")
    written += _END.pack(b"PK\5\6", 0, 0, len(entries), len(entries), size, at, len(comment)) + comment
    return bytes(written)


def _pack(entry: zipfile.ZipInfo, body: bytes) -> bytes:
    if entry.compress_type == zipfile.ZIP_STORED:
        return body
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def _local_record(data: bytes, entry: zipfile.ZipInfo, body: bytes) -> bytes:
    start = entry.header_offset
    mark, version, flags, method, time, date, _, _, _, name_size, extra_size = _unpack(_LOCAL, data, start)
    if mark != b"PK\3\4":
        raise Unreadable("damaged zip file")
    names = data[start + _LOCAL.size : start + _LOCAL.size + name_size + extra_size]
    packed = _pack(entry, body)
    sizes = (zlib.crc32(body), len(packed), len(body))
    head = _LOCAL.pack(
        mark, version, flags & ~_DESCRIPTOR_FLAG, method, time, date, *sizes, name_size, extra_size
    )
    return head + names + packed


def _central_record(
    data: bytes, place: int, moved: Mapping[int, tuple[int, bytes | None]]
) -> tuple[bytes, int]:
    """The next record of the directory with its new offset, and where the one after it begins."""
    fields = list(_unpack(_CENTRAL, data, place))
    after = place + _CENTRAL.size + fields[10] + fields[11] + fields[12]
    if fields[0] != b"PK\1\2" or fields[16] not in moved or after > len(data):
        raise Unreadable("a zip file of an unusual kind")  # such as ZIP64
    offset, body = moved[fields[16]]
    fields[16] = offset
    if body is not None:
        stored = fields[4] == zipfile.ZIP_STORED
        entry = zipfile.ZipInfo()
        entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        fields[3] &= ~_DESCRIPTOR_FLAG
        fields[7:10] = [zlib.crc32(body), len(_pack(entry, body)), len(body)]
    return _CENTRAL.pack(*fields) + data[place + _CENTRAL.size : after], after


def _unpack(form: struct.Struct, data: bytes, at: int) -> tuple[Any, ...]:
    try:
        return form.unpack_from(data, at)
    except struct.error as error:
        raise Unreadable("damaged zip file") from error
