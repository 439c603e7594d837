"""A syllabus read into topics: CSV with a header line, or a plain outline.

An outline has a topic on each line without indentation, its sub-topics indented beneath it, and whatever else is
known of it as `key: value` lines among them:

    Agriculture
        words: farming, crops, livestock
        seeds: https://farm.example/soil https://farm.example/water
        pages: 300
        - Soil fertility
        - Crop rotation

A CSV file has the columns topic, subtopic, words, seeds, language, pages, bytes, hours and groups, of which only
topic is needed; lines with the same topic are joined. Words and groups are separated by commas or semicolons,
seeds by spaces, with or without commas. `#` begins a comment.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repair.crawling.topics import InvalidTopic, Topic

_MAX_BYTES = 2_000_000
_MAX_TOPICS = 2_000
_LISTS = {"words": re.compile(r"[,;]"), "groups": re.compile(r"[,;]"), "seeds": re.compile(r"[,;]?\s+|[,;]$")}
_NUMBERS = {"pages": "max_pages", "bytes": "max_bytes"}
_KEYS = (*_LISTS, *_NUMBERS, "language", "hours")
_KEY_LINE = re.compile(rf"({'|'.join(_KEYS)})\s*:\s*(.*)", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+")


def read_syllabus(path: Path) -> tuple[Topic, ...]:
    """The topics of a file; `.csv` is CSV, everything else an outline. Raises InvalidTopic."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidTopic(f"{path.name}: cannot read the file: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidTopic(f"{path.name}: not UTF-8 at byte {error.start}") from error
    if len(content) > _MAX_BYTES:
        raise InvalidTopic(f"{path.name}: larger than {_MAX_BYTES} bytes")
    try:
        return parse_csv(text) if path.suffix.lower() == ".csv" else parse_outline(text)
    except InvalidTopic as error:
        raise InvalidTopic(f"{path.name}: {error}") from error


def parse_csv(text: str) -> tuple[Topic, ...]:
    """The topics of a CSV text. Raises InvalidTopic."""
    known = ("topic", "subtopic", *_KEYS)
    drafts: dict[str, dict[str, Any]] = {}
    try:
        reader = csv.DictReader(_without_comments(text), strict=True)
        names = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        if "topic" not in names or not set(names) <= set(known):
            raise InvalidTopic(f"expected a header line with some of {', '.join(known)}, got {names[:12]}")
        for row in reader:
            cells = {
                name: (value or "").strip() for name, value in row.items() if isinstance(value, str) and name
            }
            if None in row or not cells.get("topic"):
                raise InvalidTopic(f"line {reader.line_num}: expected a topic and no more cells than columns")
            draft = drafts.setdefault(cells.pop("topic"), {})
            _add_subtopic(draft, cells.pop("subtopic", ""))
            for key, value in cells.items():
                _set(draft, key, value, f"line {reader.line_num}")
    except csv.Error as error:
        raise InvalidTopic(f"not valid CSV: {error}") from error
    return _made(drafts)


def parse_outline(text: str) -> tuple[Topic, ...]:
    """The topics of an outline. Raises InvalidTopic."""
    drafts: dict[str, dict[str, Any]] = {}
    draft: dict[str, Any] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        content = _BULLET.sub("", line.strip(), count=1)
        if not content or content.startswith("#"):
            continue
        if not line[0].isspace() and not _BULLET.match(line):
            draft = drafts.setdefault(content, {})
        elif draft is None:
            raise InvalidTopic(f"line {number}: expected a topic before its sub-topics")
        elif found := _KEY_LINE.fullmatch(content):
            _set(draft, found[1].lower(), found[2].strip(), f"line {number}")
        else:
            _add_subtopic(draft, content)
    return _made(drafts)


def _without_comments(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _add_subtopic(draft: dict[str, Any], name: str) -> None:
    if name:
        draft.setdefault("subtopics", {})[name] = None


def _set(draft: dict[str, Any], key: str, value: str, where: str) -> None:
    if not value:
        return
    if key in _LISTS:
        parts = filter(None, (part.strip() for part in _LISTS[key].split(value)))
        draft.setdefault(key, {}).update(dict.fromkeys(parts))
    elif key in _NUMBERS:
        if not (value.isascii() and value.isdigit()):
            raise InvalidTopic(f"{where}: {key}: expected a number, got {value[:40]!r}")
        draft[_NUMBERS[key]] = int(value)
    else:
        draft[key] = value


def _made(drafts: dict[str, dict[str, Any]]) -> tuple[Topic, ...]:
    if not drafts or len(drafts) > _MAX_TOPICS:
        raise InvalidTopic(f"expected 1 to {_MAX_TOPICS} topics, found {len(drafts)}")
    return tuple(_topic(name, draft) for name, draft in drafts.items())


def _topic(name: str, draft: dict[str, Any]) -> Topic:
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, dict) else value for key, value in draft.items()
    }
    return Topic(name=name, **given)
