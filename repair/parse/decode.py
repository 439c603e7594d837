"""Decode a page's bytes: content codings removed, character encoding detected. Garbage gives None, never an error.

A decompressed size past the limit gives None as well: half a bomb is no text worth reading.

Labels are often wrong. So the order is: a byte order mark; then UTF-8 whenever the bytes are valid UTF-8 with
something beyond ASCII in them (no text in another encoding is so by chance); then what header and meta declare, if
the bytes agree; then what the bytes look like.
"""

import codecs
import re
import zlib
from collections.abc import Iterator

import brotli  # type: ignore[import-untyped]
import zstandard
from resiliparse.parse.encoding import EncodingDetector, map_encoding_to_html5

from repair.model import Page

MAX_CODINGS = 3
"""Content codings stacked on one body; more is an attack."""
MAX_ZSTD_WINDOW = 8 * 1024 * 1024
"""What RFC 9659 allows on the web."""

MAX_IMPORTED_BYTES = 64 * 1024 * 1024
"""The largest file or page of an import, as sent and decompressed."""

# These two decoders have no limit, so they get small pieces: ten bytes of Brotli may expand to 16 MB, four
# bytes of Zstandard to 128 KB.
_BROTLI_STEP = 32
_ZSTD_STEP = 1024
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET = re.compile(r"(?i)charset\s*=\s*[\"']?\s*([\w.:\-]{1,40})")
_META = re.compile(rb"(?i)<meta\s[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:\-]{1,40})")
_XML = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:\-]{1,40})")
# Python's decoders of the narrow standards reject characters that pages in these encodings do use.
_WIDER = {"shift_jis": "cp932", "euc_kr": "cp949", "gbk": "gb18030", "big5": "big5hkscs"}


class _CutShort(Exception):
    """A compressed body that ends early."""


def identity_body(page: Page, limit: int) -> bytes | None:
    """The body without its content codings; None when one is unknown, broken or cut short, or over `limit` bytes."""
    declared = (page.header("content-encoding") or "").lower().split(",")
    codings = [name for coding in declared if (name := coding.strip()) not in ("", "identity")]
    body = page.body
    if not body:
        return b""
    if len(codings) > MAX_CODINGS:
        return None
    for coding in reversed(codings):
        decoded = _remove_coding(body, coding, limit)
        if decoded is None:
            return None
        body = decoded
    return body if len(body) <= limit else None


def first_bytes(page: Page, count: int) -> bytes | None:
    """The first bytes of a body without its content coding; None when that is not gzip, or broken."""
    coding = (page.header("content-encoding") or "").strip().lower()
    if coding in ("", "identity"):
        return page.body[:count]
    if coding != "gzip":
        return None
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(page.body, count)
    except zlib.error:
        return None


def body_text(page: Page, limit: int) -> str | None:
    """The body as text; None where `identity_body` is None. What cannot be decoded becomes U+FFFD."""
    body = identity_body(page, limit)
    return None if body is None else _text(body, page.header("content-type") or "")


def _remove_coding(body: bytes, coding: str, limit: int) -> bytes | None:
    try:
        match coding:
            case "gzip" | "x-gzip":
                return _join_up_to(_inflate(body, 16 + zlib.MAX_WBITS, limit), limit)
            case "deflate":
                # The standard asks for zlib's format; some servers send raw deflate.
                wbits = zlib.MAX_WBITS if body[:1] and body[0] & 0x0F == 8 else -zlib.MAX_WBITS
                return _join_up_to(_inflate(body, wbits, limit), limit)
            case "br":
                return _join_up_to(_decompress_brotli(body), limit)
            case "zstd":
                return _join_up_to(_decompress_zstd(body), limit)
            case _:
                return None
    except (_CutShort, zlib.error, brotli.error, zstandard.ZstdError):
        return None


def _join_up_to(pieces: Iterator[bytes], limit: int) -> bytes | None:
    joined: list[bytes] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            return None
        joined.append(piece)
    return b"".join(joined)


def _inflate(body: bytes, wbits: int, limit: int) -> Iterator[bytes]:
    """At most a little over `limit` bytes; several gzip members one after another are one body (RFC 1952)."""
    rest = body
    while rest:
        decoder = zlib.decompressobj(wbits)
        yield decoder.decompress(rest, limit + 1)
        if not decoder.eof:  # cut short, or stopped at the limit: either way the result is discarded
            raise _CutShort
        # Padding after the last member is not another member.
        rest = (
            decoder.unused_data
            if decoder.unused_data.startswith(b"\x1f\x8b") and wbits > zlib.MAX_WBITS
            else b""
        )


def _decompress_brotli(body: bytes) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    for start in range(0, len(body), _BROTLI_STEP):
        yield decoder.process(body[start : start + _BROTLI_STEP])
    if not decoder.is_finished():
        raise _CutShort


def _decompress_zstd(body: bytes) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=MAX_ZSTD_WINDOW).decompressobj()
    for start in range(0, len(body), _ZSTD_STEP):
        yield decoder.decompress(body[start : start + _ZSTD_STEP])
        if decoder.eof:
            return
    raise _CutShort


def _text(body: bytes, content_type: str) -> str:
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    if not body.isascii():
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            pass
    for name in _declared_encodings(body, content_type):
        text = body.decode(name, "replace")
        # A stray byte is the author's slip; one wrong character in fifty is a wrong label.
        if text.count("\ufffd") * 50 <= len(text):
            return text
    return body.decode(_detect_encoding(body), "replace")


def _declared_encodings(body: bytes, content_type: str) -> Iterator[str]:
    """Encodings declared by header and page, the more credible first."""
    head = body[:4096]
    names = [_codec(found[1]) for found in _CHARSET.finditer(content_type[:1000])]
    for pattern in (_META, _XML):
        if found := pattern.search(head):
            name = _codec(found[1].decode("ascii", "replace"))
            # Read as ASCII, it cannot be UTF-16 (WHATWG HTML, "prescan a byte stream").
            names.append("utf-8" if name and name.startswith("utf-16") else name)
    # Servers send Latin-1 by default for every file: a page that declares another encoding knows better.
    yield from sorted(dict.fromkeys(filter(None, names)), key=lambda name: name == "cp1252")


def _codec(label: str) -> str | None:
    """Python's name for a label of the web, None when browsers do not know it."""
    mapped = map_encoding_to_html5(label, fallback_utf8=False) if label else None
    if not mapped:
        return None
    try:
        return codecs.lookup(_WIDER.get(mapped, mapped)).name
    except LookupError:
        return None


def _detect_encoding(body: bytes) -> str:
    detector = EncodingDetector()  # one per call: the shared one is not thread-safe
    detector.update(body[:65_536])
    return _codec(detector.encoding() or "") or "cp1252"
