"""MissRecord, one break, and its forms: a row of the database, a line of JSON, a line of CSV (pure)."""

import csv
import io
import json
import secrets
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from repair.model import MissKind
from repair.secreturls import has_secret, without_secret

COLUMNS = (
    "id",
    "at",
    "url",
    "site",
    "kind",
    "source_url",
    "rule",
    "client",
    "offered",
    "chosen",
    "status",
    "latency_ms",
    "query",
    "language",
    "copy",
)

_MAX_TEXT = 4_000
_MAX_OFFERED = 50
# What a spreadsheet takes for the beginning of a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissRecord:
    """One break. `client` is a hash; `offered` are the alternatives in order, then any shortened addresses;
    `copy` tells that a held copy was offered; `chosen` is what was opened last, the `url` itself for that copy."""

    id: str
    at: datetime
    url: str
    kind: MissKind
    source_url: str | None = None
    rule: str = ""
    client: str = ""
    offered: tuple[str, ...] = ()
    chosen: str | None = None
    status: int = 0
    latency_ms: float = 0.0
    query: str = ""
    language: str = ""
    copy: bool = False


def new_miss_id() -> str:
    """An id that cannot be guessed: who knows it has seen the page."""
    return secrets.token_urlsafe(16)


def without_secrets(record: MissRecord) -> MissRecord:
    """The record as it may be kept: no address in it carries a secret, and of a page behind one nothing is told."""
    source = record.source_url
    is_secret = has_secret(record.url)
    return replace(
        record,
        url=without_secret(record.url),
        source_url=None if source is None else without_secret(source),
        offered=() if is_secret else tuple(url for url in record.offered if not has_secret(url)),
        query="" if is_secret else record.query,
    )


def event_of(record: MissRecord) -> dict[str, object]:
    """The record under the names of the columns, every text bounded and free of what SQLite cannot hold."""
    return {
        "id": record.id,
        "at": iso(record.at),
        "url": _sound(record.url),
        "site": site_of(record.url),
        "kind": record.kind.value,
        "source_url": None if record.source_url is None else _sound(record.source_url),
        "rule": _sound(record.rule),
        "client": record.client,
        "offered": [_sound(url) for url in record.offered[:_MAX_OFFERED]],
        "chosen": None if record.chosen is None else _sound(record.chosen),
        "status": record.status,
        "latency_ms": round(record.latency_ms, 1),
        "query": _sound(record.query),
        "language": _sound(record.language),
        "copy": record.copy,
    }


def record_of(row: sqlite3.Row) -> MissRecord:
    known = {name: row[name] for name in COLUMNS if name not in ("at", "kind", "offered", "site", "copy")}
    return MissRecord(
        at=datetime.fromtimestamp(row["at"], UTC),
        kind=MissKind(row["kind"]),
        offered=tuple(json.loads(row["offered"])),
        copy=bool(row["copy"]),
        **known,
    )


def site_of(url: str) -> str:
    """The host of a URL without `www.`; empty when it has none."""
    try:
        host = urlsplit(url[:_MAX_TEXT]).hostname or ""
    except ValueError:
        return ""
    return _sound(host).removeprefix("www.")


def _sound(text: str) -> str:
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode("utf-8")


def iso(moment: datetime) -> str:
    """Always in UTC and of one length, so that texts compare as times do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def cells(event: dict[str, object]) -> list[str]:
    """An event as the cells of a table, harmless to open in a spreadsheet."""
    offered = event["offered"]
    texts = {**event, "offered": " ".join(offered) if isinstance(offered, list) else ""}
    return [_harmless("" if texts[name] is None else str(texts[name])) for name in COLUMNS]


def _harmless(cell: str) -> str:
    """Text that a spreadsheet will not take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def csv_line(cells: Iterable[str]) -> str:
    """One line with its line end, quoted where needed."""
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
