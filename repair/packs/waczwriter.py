"""Writes a pack as WACZ 1.1.1: a zip of a WARC, its index, a list of pages, and digests of them all.

Pages and files go straight into the zip, so that a pack of any size needs little memory. The file has its name only
when it is whole.
"""

import gzip
import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from repair.crawling.topics import Topic
from repair.packs import packmodel
from repair.packs.packmodel import ManifestBuilder, PackItem, PackOrigin, link_lines
from repair.packs.surt import surt_key

WACZ_VERSION = "1.1.1"
FOLDER = "linkmend/"
"""Where our own lists are."""
_WARC = "archive/data.warc.gz"
_INDEX = "index.cdx.gz"
_BLOCK = 3_000  # lines of the index in one gzip member, as other writers have it
_PIECE = 1024**2
_IN_MEMORY = 8 * 1024**2


class WaczWriter:
    """A WACZ that is being written; a context manager. Raises OSError when the disk fails."""

    def __init__(self, path: Path, origin: PackOrigin, topics: Iterable[Topic], *, software: str) -> None:
        self._path, self._origin, self._software = path, origin, software
        self._partial = path.with_name(path.name + ".part")
        self._manifest = ManifestBuilder(origin, topics)
        self._resources: list[dict[str, Any]] = []
        self._index: list[str] = []
        self._open = ExitStack()
        self._zip = self._open.enter_context(zipfile.ZipFile(self._partial, "w", zipfile.ZIP_STORED))
        self._pages, self._list, self._links = (
            self._open.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
            for _ in range(3)
        )
        self._pages.write(_line({"format": "json-pages-1.0", "id": "pages", "title": origin.title}))
        self._warc = _Member(self._zip, _WARC)
        self._writer = WARCWriter(self._warc, gzip=True, warc_version="1.1")
        about = {"software": software, "format": "WARC File Format 1.1", "isPartOf": origin.title}
        self._writer.write_record(self._writer.create_warcinfo_record("data.warc.gz", about))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._warc.close()
            self._open.close()
            if error is not None:
                self._partial.unlink(missing_ok=True)
        if error is None:
            os.replace(self._partial, self._path)

    def add(self, item: PackItem) -> None:
        """Add a page or file."""
        at = item.fetched_at.astimezone(UTC)
        offset = self._warc.size
        record = self._writer.create_warc_record(
            item.url,
            "response",
            payload=io.BytesIO(item.body),
            http_headers=StatusAndHeaders(
                "200 OK",
                [("Content-Type", item.content_type), ("Content-Length", str(len(item.body)))],
                protocol="HTTP/1.1",
            ),
            warc_headers_dict={"WARC-Date": _iso(at)},
        )
        self._writer.write_record(record)
        entry = {
            "url": item.url,
            "mime": item.content_type.partition(";")[0].strip().lower(),
            "status": "200",
            "digest": record.rec_headers.get_header("WARC-Payload-Digest"),
            "length": str(self._warc.size - offset),
            "offset": str(offset),
            "filename": "data.warc.gz",
        }
        self._index.append(f"{surt_key(item.url)} {at:%Y%m%d%H%M%S} {msgspec.json.encode(entry).decode()}\n")
        self._list.write(self._manifest.page_line(item))
        if item.is_page:
            name = hashlib.sha256(item.url.encode()).hexdigest()[:24]
            self._pages.write(_line({"id": name, "url": item.url, "ts": _iso(at), "title": item.title}))
            self._links.writelines(link_lines(item))

    def _finish(self) -> None:
        self._resources.append(self._warc.close())
        self._index.sort()
        self._write_index()
        self._copy("pages/pages.jsonl", self._pages)
        self._put(FOLDER + packmodel.HEADER, self._manifest.header())
        self._copy(FOLDER + packmodel.FILES, self._list)
        self._copy(FOLDER + packmodel.LINKS, self._links)
        created = _iso(self._origin.created_at)
        package = {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "title": self._origin.title,
            "software": self._software,
            "created": created,
            "contributors": [{"title": self._origin.sender, "role": "publisher"}],
            "resources": self._resources,
        }
        if self._origin.licence:
            package["description"] = f"Licence: {self._origin.licence}"
        about = msgspec.json.format(msgspec.json.encode(package), indent=2)
        self._zip.writestr("datapackage.json", about)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(about).hexdigest()}"}
        self._zip.writestr("datapackage-digest.json", msgspec.json.encode(digest))

    def _write_index(self) -> None:
        """The index in blocks that can be read by themselves, and the list of the blocks."""
        blocks = [_line_meta({"format": "cdxj-gzip-1.0", "filename": _INDEX})]
        packed = io.BytesIO()
        for start in range(0, len(self._index), _BLOCK):
            lines = self._index[start : start + _BLOCK]
            block = gzip.compress("".join(lines).encode(), mtime=0)
            place = {
                "offset": packed.tell(),
                "length": len(block),
                "digest": f"sha256:{hashlib.sha256(block).hexdigest()}",
                "filename": _INDEX,
            }
            packed.write(block)
            key = " ".join(lines[0].split(" ", 2)[:2])
            blocks.append(f"{key} {msgspec.json.encode(place).decode()}\n")
        self._put(f"indexes/{_INDEX}", packed.getvalue())
        self._put("indexes/index.idx", "".join(blocks).encode())

    def _put(self, path: str, content: bytes) -> None:
        self._copy(path, io.BytesIO(content))

    def _copy(self, path: str, source: IO[bytes]) -> None:
        member = _Member(self._zip, path)
        source.seek(0)
        while piece := source.read(_PIECE):
            member.write(piece)
        self._resources.append(member.close())


class _Member:
    """A file in the zip that is being written: its size and digest so far."""

    def __init__(self, archive: zipfile.ZipFile, path: str) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self.size = 0
        entry = zipfile.ZipInfo(path, datetime.now(UTC).timetuple()[:6])
        packed = path.endswith((".gz", ".idx"))  # players read these in pieces
        entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
        self._stream = archive.open(entry, "w", force_zip64=True)

    def write(self, data: bytes) -> int:
        self._stream.write(data)
        self._digest.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        pass

    def tell(self) -> int:
        return self.size

    def close(self) -> dict[str, Any]:
        """Its entry in datapackage.json."""
        self._stream.close()
        return {
            "name": self._path.rpartition("/")[2],
            "path": self._path,
            "hash": f"sha256:{self._digest.hexdigest()}",
            "bytes": self.size,
        }


def _line(value: dict[str, str]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _line_meta(value: dict[str, str]) -> str:
    return f"!meta 0 {msgspec.json.encode(value).decode()}\n"


def _iso(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
