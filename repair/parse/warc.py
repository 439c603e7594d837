"""WARC and ARC files, and WACZ, which is a zip of them: every HTTP response as a page.

All content types are yielded: an importer may want pictures too. Bodies are as sent, without chunking; a *revisit*
(the same bytes fetched again) gets the bytes of the record it repeats, when the file has that.
"""

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader
from warcio.exceptions import ArchiveLoadFailed

from repair.errors import ImportFailed
from repair.model import Page
from repair.parse.decode import MAX_IMPORTED_BYTES
from repair.parse.problems import ImportProblems
from repair.text import urls

SUFFIXES = (".warc", ".warc.gz", ".arc", ".arc.gz")

_MAX_BODY_BYTES = MAX_IMPORTED_BYTES
_MAX_HEAD_BYTES = 256 * 1024  # the header lines of a record, and of the response in it
_MAX_OFFSETS = 1_000_000  # responses that a revisit may refer to
_MAX_RATIO = 1_000  # deflate cannot do much better on honest data, and a WARC is compressed already
_HOP_BY_HOP = frozenset({"transfer-encoding", "connection", "keep-alive", "content-length", "trailer"})
_MAGIC = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_PIECE = 1024**2
# The exceptions of warcio and the libraries under it on broken input; it uses headers that may be missing.
_BROKEN = (ArchiveLoadFailed, OSError, EOFError, ValueError, AttributeError, zlib.error, zipfile.BadZipFile)
_ENDS_EARLY = "the file ends early"


@dataclass(slots=True)
class _File:
    """One open WARC, and the offset of each response body by its digest."""

    name: str
    stream: IO[bytes]
    problems: ImportProblems
    offsets: dict[str, int] = field(default_factory=dict)


def warc(path: Path, problems: ImportProblems) -> Iterator[Page]:
    """The responses of a WARC or ARC file."""
    size = max(1, path.stat().st_size)
    with path.open("rb") as stream:
        for page in _pages(_File(path.name, stream, problems)):
            problems.share = stream.tell() / size
            yield page


def wacz(path: Path, problems: ImportProblems) -> Iterator[Page]:
    """The responses of all WARC files in a WACZ; raises ImportFailed when it is no zip file."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise ImportFailed(f"{path.name}: expected a WACZ (zip) file: {error}") from error
    with archive:
        members = [info for info in archive.infolist() if info.filename.lower().endswith(SUFFIXES)]
        if not members:
            raise ImportFailed(f"{path.name}: expected WARC files in archive/, found none")
        for number, info in enumerate(members):
            problems.share = number / len(members)
            name = f"{path.name}: {info.filename}"
            if info.file_size > _MAX_RATIO * max(info.compress_size, 1):
                problems.add(name, "", f"expected less than {_MAX_RATIO} times its compressed size")
                continue
            try:
                with archive.open(info) as stream:
                    yield from _pages(_File(name, stream, problems))
            except (*_BROKEN, NotImplementedError, RuntimeError) as error:  # the last two: coding, encryption
                problems.add(name, "", f"unreadable: {error}", is_damage=True)


def _pages(file: _File) -> Iterator[Page]:
    number = found = last_at = 0
    record: Any = None
    try:
        # warcio turns ARC records into WARC ones; `number` counts all records, as other tools do.
        records = _limit_headers(ArchiveIterator(file.stream, arc2warc=True))
        for number, record in enumerate(records, 1):
            last_at = records.offset
            page = _page(file, number, record, records)
            if page is not None:
                found += 1
                yield page
        if record is not None:
            _check_end(file, record, last_at, records.offset)
    except _BROKEN as error:
        what = " ".join(str(error).split())[:200]
        place = f"record {number}" if str(error) == _ENDS_EARLY else f"record {number + 1}"
        file.problems.add(file.name, place, f"unreadable; stopped here: {what}", is_damage=True)
        return
    if not found:
        file.problems.add(file.name, "", f"expected http responses, found none in {number} records")


def _check_end(file: _File, last: Any, last_at: int, end_at: int) -> None:
    """Raise ArchiveLoadFailed when the last record is not whole, or something follows that is none.

    warcio notices neither.
    """
    if _is_cut_short(last) or end_at < file.stream.tell():
        raise ArchiveLoadFailed(_ENDS_EARLY)
    file.stream.seek(last_at)
    data = file.stream.read(_PIECE)
    unpacker: Any = None
    while data and (unpacker is not None or data.startswith(_MAGIC["gzip"])):
        unpacker = unpacker or zlib.decompressobj(16 + zlib.MAX_WBITS)
        unpacker.decompress(data, _PIECE)
        if unpacker.eof:
            data, unpacker = unpacker.unused_data or file.stream.read(_PIECE), None
        else:
            data = unpacker.unconsumed_tail or file.stream.read(_PIECE)
    if unpacker is not None:
        raise ArchiveLoadFailed(_ENDS_EARLY)


def _is_cut_short(record: Any) -> bool:
    """Whether less came of a record than it says; to be asked when it has been read to its end."""
    headers = record.rec_headers
    return headers.get_header("Content-Length") is None or getattr(record.raw_stream, "limit", 0) > 0


def _limit_headers(records: Any) -> Any:
    """The same records; endless headers raise an error before they fill the memory."""
    reader, spent = records.reader, 0
    read, readline = reader.read, reader.readline

    def bounded_read(length: int | None = None) -> bytes:
        nonlocal spent
        spent = 0
        return bytes(read(length))

    def bounded_readline(length: int | None = None) -> bytes:
        nonlocal spent
        most = _MAX_HEAD_BYTES + 1
        line = bytes(readline(most if length is None else min(length, most)))
        spent += len(line)
        if spent > _MAX_HEAD_BYTES:
            raise ArchiveLoadFailed(f"expected at most {_MAX_HEAD_BYTES} bytes of headers")
        return line

    reader.read, reader.readline = bounded_read, bounded_readline
    return records


def _page(file: _File, number: int, record: Any, records: Any) -> Page | None:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    url = url.strip("<>")  # some writers take WARC 1.0 literally
    if record.rec_type not in ("response", "revisit") or not urls.is_web_url(url):
        return None
    place = f"record {number}"
    if record.http_headers is None and record.rec_type == "response":
        file.problems.add(file.name, place, "expected an http response")
        return None
    if record.rec_type == "revisit":
        return _resolve_revisit(file, place, url, record)
    digest = record.rec_headers.get_header("WARC-Payload-Digest")
    if digest and len(file.offsets) < _MAX_OFFSETS:
        # Not get_record_offset(), which reads the record to its end first.
        file.offsets.setdefault(digest, records.offset)
    return _response(file, place, url, record, record)


def _resolve_revisit(file: _File, place: str, url: str, record: Any) -> Page | None:
    offset = file.offsets.get(record.rec_headers.get_header("WARC-Payload-Digest") or "")
    if offset is None:
        file.problems.add(file.name, place, "refers to a record that is not in this file")
        return None
    position = file.stream.tell()
    try:
        file.stream.seek(offset)
        original = next(iter(_limit_headers(ArchiveIterator(file.stream, arc2warc=True))))
        return _response(file, place, url, record, original)
    finally:
        file.stream.seek(position)


def _response(file: _File, place: str, url: str, record: Any, original: Any) -> Page | None:
    """A page with the time of one record and the body of another, usually the same."""
    body = _body(original)
    status = str(original.http_headers.get_statuscode())
    if body is None or not (status.isascii() and status.isdigit() and len(status) == 3):
        what = f"more than {_MAX_BODY_BYTES} bytes" if body is None else f"status {status[:20]!r}"
        file.problems.add(file.name, place, what)
        return None
    headers = _headers(original.http_headers.headers, body)
    fetched_at = _parse_date(record.rec_headers.get_header("WARC-Date") or "")
    return Page(url=url, status=int(status), headers=headers, body=body, fetched_at=fetched_at)


def _body(record: Any) -> bytes | None:
    """The body as sent, without chunking; None when it is too large."""
    coding = (record.http_headers.get_header("transfer-encoding") or "").lower()
    # The reader passes through what is not chunked after all: some crawlers store bodies de-chunked but keep
    # the header.
    stream = ChunkedDataReader(record.raw_stream) if "chunked" in coding else record.raw_stream
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(_PIECE):
        size += len(piece)
        if size > _MAX_BODY_BYTES:
            return None
        pieces.append(piece)
    if _is_cut_short(record):
        raise ArchiveLoadFailed(_ENDS_EARLY)
    return b"".join(pieces)


def _headers(fields: list[tuple[str, str]], body: bytes) -> tuple[tuple[str, str], ...]:
    """The headers that apply to the body as stored; browser-based recorders store it decoded."""
    kept = [(name, value) for name, value in fields if name.lower() not in _HOP_BY_HOP]
    for name, value in tuple(kept):
        magic = _MAGIC.get(value.strip().lower(), b"")
        if name.lower() == "content-encoding" and not body.startswith(magic):
            kept.remove((name, value))
    return (*kept, ("Content-Length", str(len(body))))


def _parse_date(date: str) -> datetime:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
