"""Parses lists of captures, in any form that archives send, into one type. Garbage gives None, never an error.

    link-format      RFC 7089 section 5, also paged and as index of further TimeMaps
    JSON             MemGator's {"mementos": {"list": ...}}, the availability API's {"archived_snapshots": ...},
                     the CDX API's [[header], [row], ...], lists of objects
    lines            one JSON object a line (pywb), CDXJ (a key, a timestamp, an object), plain CDX

Content types are often wrong, so the start of the text decides the form. The work is bounded by the size of the text,
which the caller bounds, and by `limit`; of more captures than that the latest are kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from repair.memento.datetimes import any_date
from repair.memento.weblinks import WebLink, weblinks

_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)
_MAX_PAGES = 64
_MAX_ENTRIES = 50_000  # parsed at most; a second of work
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
# The columns of CDX files and of the CDX API when no header names them.
_COLUMNS = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One entry of a list: `url` is the memento, or `original` the archived address, from which to make it."""

    at: datetime
    url: str = ""
    original: str = ""
    status: int | None = None
    media_type: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureList:
    """The captures of one document, and the addresses of further parts, both latest first."""

    captures: tuple[Capture, ...] = ()
    pages: tuple[str, ...] = ()


def listing(text: str, *, limit: int) -> CaptureList | None:
    """Parse a TimeMap or the answer of an archive's index; None when the form is unknown."""
    start = text.lstrip("\ufeff \t\r\n")
    if not start:
        return CaptureList()  # how the CDX API says that there is nothing
    if start[0] == "<":
        return _from_links(start, limit)
    if start[0] in "[{":
        return _from_json(start, limit)
    return _from_lines(start, limit)


def _from_links(text: str, limit: int) -> CaptureList | None:
    captures: list[Capture] = []
    pages: list[WebLink] = []
    known = False
    for link in islice(weblinks(text), _MAX_ENTRIES):
        rels = link.rels
        known = known or bool(rels & {"original", "self", "timegate", "timemap", "memento"})
        if "memento" in rels:
            at = any_date(link.parameters.get("datetime", ""))
            if at is not None:
                captures.append(Capture(at=at, url=link.target))
        elif "timemap" in rels and "self" not in rels and len(pages) < _MAX_PAGES:
            pages.append(link)
    if not known:
        return None  # an HTML page begins with < as well
    return CaptureList(captures=_latest(captures, limit), pages=tuple(_pages(pages, alone=not captures)))


def _pages(links: Iterable[WebLink], *, alone: bool) -> Iterator[str]:
    """The other parts of a paged TimeMap, but not its other formats: parts give a time range, or are all there is."""
    parts = []
    for link in links:
        since, until = (any_date(link.parameters.get(name, "")) for name in ("from", "until"))
        form = link.parameters.get("type", "application/link-format")
        if (since or until or alone) and form.startswith("application/link-format"):
            parts.append((until or since or _LONG_AGO, link.target))
    yield from (target for _, target in sorted(parts, key=lambda part: part[0], reverse=True))


def _from_json(text: str, limit: int) -> CaptureList | None:
    try:
        found = msgspec.json.decode(text)
    except _NO_JSON:
        return _from_lines(text, limit)
    if isinstance(found, list):
        return CaptureList(captures=_latest(_from_rows(found), limit)) if _are_rows(found) else None
    if not isinstance(found, dict):
        return None
    for name, read in _OBJECTS.items():
        if name in found:
            return CaptureList(captures=_latest(read(found[name]), limit))
    capture = _from_object(found)
    return CaptureList(captures=(capture,)) if capture else None


def _from_memgator(found: Any) -> Iterator[Capture]:
    """`{"list": [{"datetime", "uri"}], "first": ..., "last": ..., "closest": ...}`; the list may be left out."""
    if not isinstance(found, dict):
        return
    listed = found.get("list")
    for each in (
        *(listed if isinstance(listed, list) else ()),
        *map(found.get, ("first", "closest", "last")),
    ):
        capture = _from_object(each)
        if capture is not None:
            yield capture


def _from_availability(found: Any) -> Iterator[Capture]:
    closest = found.get("closest") if isinstance(found, dict) else None
    if isinstance(closest, dict) and closest.get("available") is True:
        capture = _from_object(closest)
        if capture is not None:
            yield capture


_OBJECTS = {"mementos": _from_memgator, "archived_snapshots": _from_availability}


def _are_rows(found: list[Any]) -> bool:
    return all(isinstance(row, list | dict) for row in found[:10])


def _from_rows(rows: list[Any]) -> Iterator[Capture]:
    columns: tuple[str, ...] = _COLUMNS
    for row in (*rows[:1], *rows[1:][-_MAX_ENTRIES:]):  # the first may be the header
        if isinstance(row, list):
            if "timestamp" in row:
                columns = tuple(map(str, row))
                continue
            row = dict(zip(columns, row, strict=False))
        capture = _from_object(row)
        if capture is not None:
            yield capture


def _from_lines(text: str, limit: int) -> CaptureList | None:
    captures, lines, read = [], 0, 0
    for line in text.splitlines()[-_MAX_ENTRIES:]:
        line = line.strip()
        if not line or line[0] in "!@":  # CDXJ metadata
            read += bool(line)
            continue
        lines += 1
        capture = _from_line(line)
        if capture is not None:
            captures.append(capture)
    # A list may have some broken lines; a text with only some lines like captures is no list.
    if 2 * len(captures) < lines or not (captures or read):
        return None
    return CaptureList(captures=_latest(captures, limit))


def _from_line(line: str) -> Capture | None:
    before, brace, rest = line.partition("{")
    keys = before.split(maxsplit=8)
    if not brace:
        return _from_object(dict(zip(_COLUMNS, keys, strict=False)))
    try:
        found = msgspec.json.decode(brace + rest)
    except _NO_JSON:
        return None
    if not isinstance(found, dict):
        return None
    # pywb: key and timestamp; MemGator: the timestamp alone.
    return _from_object({"timestamp": keys[-1], **found} if keys else found)


def _from_object(found: Any) -> Capture | None:
    """A capture from the field names that pywb, MemGator, OutbackCDX and the Internet Archive use."""
    if not isinstance(found, Mapping):
        return None
    at = any_date(_text(found, "datetime", "timestamp"))
    uri, address = _text(found, "uri"), _text(found, "url")
    # "url" is the memento for the availability API ("available") and the archived address for pywb and CDX servers.
    where, original = (uri or address, "") if uri or "available" in found else ("", address)
    original = _text(found, "original") or original
    if at is None or not (where or original):
        return None
    status = _text(found, "statuscode", "status")
    return Capture(
        at=at,
        url=where,
        original=original,
        status=int(status) if len(status) == 3 and status.isascii() and status.isdigit() else None,
        media_type=_text(found, "mimetype", "mime")[:100],
        digest=_text(found, "digest")[:100],
    )


def _text(found: Mapping[str, Any], *names: str) -> str:
    """The first of the named values that exists, as text; CDX writes "-" for none."""
    for name in names:
        value = found.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "-":
            return str(value) if isinstance(value, str) or abs(value) < 10**15 else ""
    return ""


def _latest(captures: Iterable[Capture], limit: int) -> tuple[Capture, ...]:
    return tuple(sorted(captures, key=lambda capture: capture.at, reverse=True)[:limit])
