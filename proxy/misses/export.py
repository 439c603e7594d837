"""Misses as lines of CSV or JSON, filtered as the lists are, however many there are.

They are read in small portions: who takes long to fetch them holds nobody up, and memory holds no more than one.
"""

import json
from collections.abc import Iterator
from typing import Literal

from proxy.misses.record import COLUMNS, cells, csv_line, event_of, record_of
from proxy.misses.store import MissStore
from proxy.review.wanted import Wanted, of_records

Form = Literal["csv", "jsonl"]
_PORTION = 500


def export(misses: MissStore, wanted: Wanted, form: Form) -> Iterator[str]:
    """Portions of lines with their line ends, oldest first; for CSV the names of the columns before. It blocks."""
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
