"""The parts of a zip file, none of which may be larger than is sensible, nor all of them together."""

import zipfile
import zlib
from io import BytesIO

from repair.parse.formats.extraction import Unreadable

MAX_ENTRIES = 10_000
MAX_PART_BYTES = 16 * 1024**2
"""Unpacked, of one part."""
MAX_TOTAL_BYTES = 64 * 1024**2
"""Unpacked, of all parts that are read."""
_CODINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those of EPUB, DOCX and ODT; others need much memory
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError)


class ZipParts:
    """Reads parts by name; what the file says of their sizes is not believed."""

    def __init__(self, data: bytes) -> None:
        """Raises Unreadable when it is no zip file, or has too many entries."""
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except _BROKEN as error:
            raise Unreadable(f"not a zip file: {error}") from error
        entries = self._archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise Unreadable(f"more than {MAX_ENTRIES} files in it")
        self._entries = {entry.filename: entry for entry in entries}
        self._left = MAX_TOTAL_BYTES

    def find(self, name: str) -> bytes | None:
        """A part; None when it is missing, encrypted, damaged or too large."""
        entry = self._entries.get(name)
        if entry is None or entry.compress_type not in _CODINGS or entry.flag_bits & _ENCRYPTED:
            return None
        limit = min(MAX_PART_BYTES, self._left)
        try:
            with self._archive.open(entry) as stream:
                data = stream.read(limit + 1)
        except _BROKEN:
            return None
        self._left -= len(data)
        return data if len(data) <= limit else None

    def read(self, name: str) -> bytes:
        """A part; raises Unreadable where `find` has none."""
        data = self.find(name)
        if data is None:
            raise Unreadable(f"no readable {name[:100]!r} in it")
        return data
