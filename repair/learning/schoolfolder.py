"""Writes the school's own collection as a collection folder to train on: its pages, its links, the links to break.

A hash chooses which links are broken and which of them are kept for validation, so a validation link is never trained
on. Rows are read in small batches: the proxy does not wait for the database, and memory does not grow with the
collection. Only the database is opened, not the collection: a process that opens the collection may become the
writer of its index, and that is the proxy's work.
"""

import gzip
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from repair.collection.collection import DATABASE
from repair.collection.database import Database
from repair.collection.stopanchors import LearntStopAnchors
from repair.errors import CollectionError, EvaluationFailed
from repair.text import words

LEAST_LINKS = 100
"""A collection with fewer links to break is not worth training on."""
MAX_PAGES = 8_000
"""From a larger collection so many pages are sampled, besides the pages of the chosen links."""
_BATCH = 200
_INLINKS = 50  # of one page that are searched for a telling anchor
_ONE_IN = 5
_LOT = "* 2654435761 % 4294967296"  # Knuth's multiplicative hash: spreads consecutive numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSummary:
    """What was written to a folder."""

    pages: int
    train: int
    test: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChosenLink:
    """A link to pretend broken; `source` and `target` are page numbers."""

    source: int
    target: int
    record: dict[str, Any]

    @property
    def is_for_validation(self) -> bool:
        digest = hashlib.blake2b(self.record["target_url"].encode(), person=b"validation", digest_size=4)
        return int.from_bytes(digest.digest()) % _ONE_IN == 0


@contextmanager
def open_database(place: Path) -> Iterator[Database]:
    """Open the database of the collection in a folder; CollectionError when it is missing or cannot be read."""
    path = place / DATABASE
    if not path.is_file():
        raise CollectionError(f"{place}: no saved pages found")
    with closing(Database(path)) as database:
        yield database


def write(database: Database, folder: Path, *, limit: int) -> FolderSummary:
    """Fill an empty folder; at most `limit` links are broken. EvaluationFailed when the collection has too few."""
    chosen = _choose_links(database, limit)
    if len(chosen) < LEAST_LINKS:
        raise EvaluationFailed(
            f"expected at least {LEAST_LINKS} usable links between saved pages to train on, found {len(chosen)}"
        )
    ends = {page for link in chosen for page in (link.source, link.target)}
    pages = sorted(ends.union(_some_pages(database)))
    with _open_lines(folder, "pages") as file:
        _write_records(file, _pages(database, pages))
    with _open_lines(folder, "links") as file:
        _write_records(file, _links(database, pages))
    split: dict[str, list[dict[str, Any]]] = {"test": [], "train": []}
    for link in chosen:
        split["test" if link.is_for_validation else "train"].append(link.record)
    for stem, records in split.items():
        with _open_lines(folder, stem) as file:
            _write_records(file, iter(records))
    return FolderSummary(pages=len(pages), train=len(split["train"]), test=len(split["test"]))


def _choose_links(database: Database, limit: int) -> list[_ChosenLink]:
    """Links in running text with telling anchors, one per target page; pages with duplicates are left out."""
    empty = LearntStopAnchors(database).load()
    with database.read() as connection:
        targets = connection.execute(
            f"SELECT min(id) FROM pages GROUP BY digest HAVING count(*) = 1 ORDER BY min(id) {_LOT}"  # noqa: S608
        ).fetchall()
        found: list[_ChosenLink] = []
        for (target,) in targets:
            link = _find_telling_link(connection, target, empty)
            if link is not None:
                found.append(link)
            if len(found) == limit:
                break
    return found


def _find_telling_link(
    connection: sqlite3.Connection, target: int, empty: Sequence[str]
) -> _ChosenLink | None:
    rows = connection.execute(
        "SELECT links.source, source.url, target.url, anchor, before, after FROM links"  # noqa: S608
        " JOIN pages ON pages.id = links.source JOIN urls AS source ON source.id = links.source"
        " JOIN urls AS target ON target.id = links.target"
        " WHERE links.target = ?1 AND nav = 0 AND anchor != '' AND links.source != ?1"
        f" ORDER BY links.source {_LOT}, position LIMIT ?2",
        (target, _INLINKS),
    ).fetchall()
    for source, source_url, target_url, anchor, before, after in rows:
        if not words.is_stop_anchor(anchor, empty):
            record = _record(source_url, target_url, anchor, before, after)
            return _ChosenLink(source=source, target=target, record={"id": f"own{target}", **record})
    return None


def _some_pages(database: Database) -> Iterator[int]:
    with database.read() as connection:
        rows = connection.execute(f"SELECT id FROM pages ORDER BY id {_LOT} LIMIT ?", (MAX_PAGES,)).fetchall()  # noqa: S608
    return (page for (page,) in rows)


def _pages(database: Database, pages: Sequence[int]) -> Iterator[dict[str, Any]]:
    columns = "SELECT url, title, text FROM pages JOIN urls USING (id) WHERE id IN"
    for url, title, text in _batches(database, pages, columns):
        yield {"url": url, "title": title, "text": text}


def _links(database: Database, pages: Sequence[int]) -> Iterator[dict[str, Any]]:
    columns = (
        "SELECT source.url, target.url, anchor, before, after, nav FROM links"
        " JOIN urls AS source ON source.id = links.source JOIN urls AS target ON target.id = links.target"
        " WHERE links.source IN"
    )
    for *columns_of_link, nav in _batches(database, pages, columns, "ORDER BY links.source, position"):
        yield {**_record(*columns_of_link), "nav": bool(nav)}


def _batches(
    database: Database, pages: Sequence[int], columns: str, order: str = "ORDER BY id"
) -> Iterator[tuple[Any, ...]]:
    """The rows of pages, in batches: a long statement would keep the write-ahead log from being emptied."""
    for start in range(0, len(pages), _BATCH):
        batch = pages[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        with database.read() as connection:
            yield from connection.execute(f"{columns} ({marks}) {order}", batch)


def _record(source: str, target: str, anchor: str, before: str, after: str) -> dict[str, Any]:
    return {
        "source_url": source,
        "target_url": target,
        "anchor": anchor,
        "context_before": before,
        "context_after": after,
    }


def _open_lines(folder: Path, stem: str) -> BinaryIO:
    return gzip.open(folder / f"{stem}.jsonl.gz", "wb", compresslevel=1)  # type: ignore[return-value]


def _write_records(file: BinaryIO, records: Iterator[dict[str, Any]]) -> None:
    for record in records:
        file.write(msgspec.json.encode(record) + b"\n")
