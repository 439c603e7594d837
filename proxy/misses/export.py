"""Exports any number of misses as lines of CSV or JSON, with the same filters as the lists.

It reads small portions: a slow download blocks nothing, and only one portion is in memory.
"""

import json
from collections.abc import Iterator
from typing import Literal

from proxy.misses.filters import MissFilter, of_records
from proxy.misses.record import COLUMNS, cells, csv_line, event_of, record_of
from proxy.misses.store import MissStore

Form = Literal["csv", "jsonl"]
_PORTION = 500


def export(misses: MissStore, wanted: MissFilter, form: Form) -> Iterator[str]:
    """Portions of lines with their line ends, oldest first; CSV begins with the column names. It blocks."""
    if form == "csv":
        yield csv_line(COLUMNS)
    condition, values = of_records(wanted)
    query = f"SELECT * FROM misses WHERE (at, id) > (?, ?) AND {condition} ORDER BY at, id LIMIT ?"  # noqa: S608
    last: tuple[float, str] = (-1.0, "")
    while rows := misses.read(query, (*last, *values, _PORTION)):
        yield "".join(_line(event_of(record_of(row)), form) for row in rows)
        last = (rows[-1]["at"], rows[-1]["id"])


def _line(event: dict[str, object], form: Form) -> str:
    return csv_line(cells(event)) if form == "csv" else json.dumps(event) + "\n"
