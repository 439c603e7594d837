"""A collection folder: `pages.jsonl.gz` and `links.jsonl.gz`, as DESIGN.md describes them.

Links come in any order and may be many times larger than memory, so a temporary database stores them until their
page is read.
"""

import gzip
import json
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from repair.model import Document, Link, Page
from repair.parse.problems import ImportProblems
from repair.text import urls, words

_MAX_LINE_BYTES = 8 * 1024**2  # parsed JSON may take twenty times the bytes of its line
_LANGUAGE_CHARACTERS = 2_000


def is_collection_folder(path: Path) -> bool:
    """Whether a folder holds a collection."""
    return _file(path, "pages") is not None


def collection_folder(path: Path, problems: ImportProblems) -> Iterator[Page | Document]:
    """The pages of a collection folder: documents with their links, or pages where the HTML is given."""
    pages = _file(path, "pages")
    if pages is None:
        return
    with (
        tempfile.TemporaryDirectory(prefix="linkmend-import-") as scratch,
        closing(sqlite3.connect(Path(scratch) / "links.sqlite3", isolation_level=None)) as waiting,
    ):
        _gather_links(path, waiting, problems)
        for number, record in _records(pages, problems):
            item = _item(record, pages.name, number, problems)
            if isinstance(item, Document):
                yield _with_links(item, waiting)
            elif item is not None:
                yield item


def _gather_links(path: Path, waiting: sqlite3.Connection, problems: ImportProblems) -> None:
    waiting.execute("PRAGMA journal_mode = OFF")
    waiting.execute(
        "CREATE TABLE links (source TEXT, target TEXT, anchor TEXT, before TEXT, after TEXT, nav INT)"
    )
    links = _file(path, "links")
    if links is not None:
        waiting.execute("BEGIN")
        waiting.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?)", _link_rows(links, problems))
        waiting.execute("COMMIT")
    waiting.execute("CREATE INDEX by_source ON links (source)")


def _link_rows(links: Path, problems: ImportProblems) -> Iterator[tuple[str, str, str, str, str, bool]]:
    for number, record in _records(links, problems):
        source, target = _normal(record.get("source_url")), _normal(record.get("target_url"))
        if source is None or target is None:
            problems.add(
                links.name, f"line {number}", "expected source_url and target_url to be http(s) URLs"
            )
            continue
        anchor, before, after = (
            _text(record.get(name)) for name in ("anchor", "context_before", "context_after")
        )
        yield source, target, anchor, before, after, record.get("nav") is True


def _with_links(document: Document, waiting: sqlite3.Connection) -> Document:
    rows = waiting.execute(
        "SELECT target, anchor, before, after, nav FROM links WHERE source = ? ORDER BY rowid",
        (document.url,),
    )
    links = tuple(
        Link(target_url=target, anchor=anchor, before=before, after=after, nav=bool(nav))
        for target, anchor, before, after, nav in rows
    )
    return replace(document, links=links)


def _item(record: dict[str, Any], file: str, number: int, problems: ImportProblems) -> Page | Document | None:
    url, html = _normal(record.get("url")), record.get("html")
    title, text = record.get("title"), record.get("text")
    if url is None:
        found = str(record.get("url"))[:80]
        problems.add(file, f"line {number}", f"expected url to be an http(s) URL, got {found!r}")
        return None
    if isinstance(html, str):
        headers = (("Content-Type", "text/html; charset=utf-8"),)
        body = html.encode("utf-8", "replace")
        return Page(url=url, status=200, headers=headers, body=body, fetched_at=_fetched_at(record))
    if not (isinstance(title, str) and isinstance(text, str)):
        problems.add(file, f"line {number}", "expected title and text to be strings")
        return None
    title, text = _text(title), _text(text)
    language = words.language_of(f"{title}\n{text[:_LANGUAGE_CHARACTERS]}")
    return Document(url=url, title=title, text=text, language=language)


def _records(path: Path, problems: ImportProblems) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with their line numbers; other lines are reported and skipped."""
    for number, line in _lines(path, problems):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # also bytes that are not UTF-8, and numbers too long
            problems.add(
                path.name,
                f"line {number}",
                f"expected a JSON object, got {type(error).__name__}: {error}"[:200],
            )
            continue
        if not isinstance(record, dict):
            problems.add(path.name, f"line {number}", f"expected a JSON object, got {type(record).__name__}")
            continue
        yield number, record


def _lines(path: Path, problems: ImportProblems) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        size = max(1, path.stat().st_size)
        with path.open("rb") as file, _decompress(file, path) as stream:
            while line := stream.readline(_MAX_LINE_BYTES + 1):
                number += 1
                problems.share = file.tell() / size
                if len(line) > _MAX_LINE_BYTES:
                    problems.add(path.name, f"line {number}", f"expected at most {_MAX_LINE_BYTES} bytes")
                    _skip_line(stream)
                    continue
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        problems.add(path.name, f"line {number + 1}", f"unreadable; stopped here: {error}", is_damage=True)


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(1024**2)) and not rest.endswith(b"\n"):
        pass


def _decompress(file: BinaryIO, path: Path) -> BinaryIO:
    return gzip.open(file, "rb") if path.suffix == ".gz" else file  # type: ignore[return-value]


def _file(folder: Path, stem: str) -> Path | None:
    for name in (f"{stem}.jsonl.gz", f"{stem}.jsonl"):
        if (folder / name).is_file():
            return folder / name
    return None


def _normal(value: object) -> str | None:
    return _normal_url(value) if isinstance(value, str) else None


@lru_cache(maxsize=4096)  # the links of a page, and those to a popular one, come together
def _normal_url(url: str) -> str | None:
    try:
        return urls.normal(url)
    except ValueError:
        return None


def _text(value: object) -> str:
    """A string that any store accepts, from any JSON value."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _fetched_at(record: dict[str, Any]) -> datetime:
    try:
        moment = datetime.fromisoformat(str(record.get("fetched")))
    except ValueError:
        return datetime.now(UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
