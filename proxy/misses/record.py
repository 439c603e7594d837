"""MissRecord, one missed page, and its forms: a database row, a line of JSON, a line of CSV (pure)."""

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
from repair.secrets.addresses import has_secret, without_secret

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
    "source_guessed",
    "network",
)

_MAX_TEXT = 4_000
_MAX_OFFERED = 50
# Characters with which a spreadsheet formula may begin.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissRecord:
    """One missed page. `client` is a hash; `offered` are the alternatives in order, then any shortened addresses;
    `copy` says that a saved copy was offered; `chosen` is what the user opened last, `url` itself for the copy;
    `source_guessed` says that the browser did not name the source page or its site; `network` is the name that
    the settings give to the client's network, if any."""

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
    source_guessed: bool = False
    network: str = ""


def new_miss_id() -> str:
    """An id that cannot be guessed: only a client that got the repair page knows it."""
    return secrets.token_urlsafe(16)


def without_secrets(record: MissRecord) -> MissRecord:
    """The record without secrets in its addresses; a page behind a secret address leaves no details."""
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
    """The record under the column names, every text bounded and valid for SQLite."""
    return {
        "id": record.id,
        "at": iso(record.at),
        "url": _clean(record.url),
        "site": site_of(record.url),
        "kind": record.kind.value,
        "source_url": None if record.source_url is None else _clean(record.source_url),
        "rule": _clean(record.rule),
        "client": record.client,
        "offered": [_clean(url) for url in record.offered[:_MAX_OFFERED]],
        "chosen": None if record.chosen is None else _clean(record.chosen),
        "status": record.status,
        "latency_ms": round(record.latency_ms, 1),
        "query": _clean(record.query),
        "language": _clean(record.language),
        "copy": record.copy,
        "source_guessed": record.source_guessed,
        "network": _clean(record.network),
    }


def record_of(row: sqlite3.Row) -> MissRecord:
    made = ("at", "kind", "offered", "site", "copy", "source_guessed")
    known = {name: row[name] for name in COLUMNS if name not in made}
    return MissRecord(
        at=datetime.fromtimestamp(row["at"], UTC),
        kind=MissKind(row["kind"]),
        offered=tuple(json.loads(row["offered"])),
        copy=bool(row["copy"]),
        source_guessed=bool(row["source_guessed"]),
        **known,
    )


def site_of(url: str) -> str:
    """The host of a URL without `www.`; empty when it has none."""
    try:
        host = urlsplit(url[:_MAX_TEXT]).hostname or ""
    except ValueError:
        return ""
    return _clean(host).removeprefix("www.")


def _clean(text: str) -> str:
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode("utf-8")


def iso(moment: datetime) -> str:
    """A time in UTC and of fixed length, so that texts sort like times."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def cells(event: dict[str, object]) -> list[str]:
    """An event as table cells that are safe to open in a spreadsheet."""
    offered = event["offered"]
    texts = {**event, "offered": " ".join(offered) if isinstance(offered, list) else ""}
    return [harmless_cell("" if texts[name] is None else str(texts[name])) for name in COLUMNS]


def harmless_cell(cell: str) -> str:
    """The text, escaped if a spreadsheet would read it as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def csv_line(cells: Iterable[str]) -> str:
    """One line with its line end, quoted where needed."""
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
