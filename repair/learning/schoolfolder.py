"""The school's own collection as a collection folder to learn from: its pages, its links, some of them to be broken.

Which links are broken is by lot, the same every time, and so is which of them are kept for validation: a link once
kept for it is never learnt from. Everything is read in small pieces, so that nobody else waits for the database and
memory does not grow with the collection. The collection itself is not opened, its database is: whoever opens the
collection may become the one who writes its index, and that is the proxy's work.
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

from repair import words
from repair.collection import DATABASE
from repair.database import Database
from repair.errors import CollectionError, EvaluationFailed
from repair.stopanchors import LearntStopAnchors

LEAST_LINKS = 100
"""A collection with fewer links to break is not worth learning from."""
MAX_PAGES = 8_000
"""Of a larger collection so many pages are taken by lot, beside those of the chosen links."""
_BATCH = 200
_INLINKS = 50  # of one page that are looked at for a telling one
_ONE_IN = 5
_LOT = "* 2654435761 % 4294967296"  # Knuth's multiplicative hash: spreads consecutive numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How much a folder was given."""

    pages: int
    train: int
    test: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """A link to be pretended broken; pages by number."""

    source: int
    target: int
    record: dict[str, Any]

    @property
    def is_for_validation(self) -> bool:
        digest = hashlib.blake2b(self.record["target_url"].encode(), person=b"validation", digest_size=4)
        return int.from_bytes(digest.digest()) % _ONE_IN == 0


@contextmanager
def held(place: Path) -> Iterator[Database]:
    """The database of the collection in a folder; CollectionError when there is none, or it cannot be read."""
    path = place / DATABASE
    if not path.is_file():
        raise CollectionError(f"{place}: no pages are held there")
    with closing(Database(path)) as database:
        yield database


def write(database: Database, folder: Path, *, limit: int) -> Written:
    """Fill an empty folder; at most `limit` links are broken. EvaluationFailed when there are too few."""
    chosen = _chosen(database, limit)
    if len(chosen) < LEAST_LINKS:
        raise EvaluationFailed(
            f"expected at least {LEAST_LINKS} telling links between held pages to learn from, found {len(chosen)}"
        )
    ends = {page for link in chosen for page in (link.source, link.target)}
    pages = sorted(ends.union(_some_pages(database)))
    with _lines(folder, "pages") as file:
        _put(file, _pages(database, pages))
    with _lines(folder, "links") as file:
        _put(file, _links(database, pages))
    split: dict[str, list[dict[str, Any]]] = {"test": [], "train": []}
    for link in chosen:
        split["test" if link.is_for_validation else "train"].append(link.record)
    for stem, records in split.items():
        with _lines(folder, stem) as file:
            _put(file, iter(records))
    return Written(pages=len(pages), train=len(split["train"]), test=len(split["test"]))


def _chosen(database: Database, limit: int) -> list[_Chosen]:
    """Links in running text with telling words, to as many different pages; of pages that say the same, none."""
    empty = LearntStopAnchors(database).load()
    with database.read() as connection:
        targets = connection.execute(
            f"SELECT min(id) FROM pages GROUP BY digest HAVING count(*) = 1 ORDER BY min(id) {_LOT}"  # noqa: S608
        ).fetchall()
        found: list[_Chosen] = []
        for (target,) in targets:
            link = _telling(connection, target, empty)
            if link is not None:
                found.append(link)
            if len(found) == limit:
                break
    return found


def _telling(connection: sqlite3.Connection, target: int, empty: Sequence[str]) -> _Chosen | None:
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
            return _Chosen(source=source, target=target, record={"id": f"own{target}", **record})
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
    for *told, nav in _batches(database, pages, columns, "ORDER BY links.source, position"):
        yield {**_record(*told), "nav": bool(nav)}


def _batches(
    database: Database, pages: Sequence[int], columns: str, order: str = "ORDER BY id"
) -> Iterator[tuple[Any, ...]]:
    """The rows of pages, a statement for some of them at a time: a long one would keep the log from being emptied."""
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


def _lines(folder: Path, stem: str) -> BinaryIO:
    return gzip.open(folder / f"{stem}.jsonl.gz", "wb", compresslevel=1)  # type: ignore[return-value]


def _put(file: BinaryIO, records: Iterator[dict[str, Any]]) -> None:
    for record in records:
        file.write(msgspec.json.encode(record) + b"\n")
