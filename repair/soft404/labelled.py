"""Labelled pages on disk, for training and evaluation: a folder with labels.jsonl, one row per file."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from repair.errors import EvaluationFailed
from repair.model import Page

NO_ADDRESS = "http://page.invalid/"
"""The address of a file without a known one."""


class _Row(msgspec.Struct, kw_only=True):
    file: str
    label: str
    kind: str = ""
    split: str = "train"
    repo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPage:
    """A page with its label (error, normal, other) and its owner; pages of one owner resemble each other."""

    page: Page
    file: str
    label: str
    kind: str
    owner: str


def labelled_pages(folder: Path, split: str) -> Iterator[LabelledPage]:
    """The pages of one split. Raises EvaluationFailed when the folder cannot be read."""
    place = folder / "labels.jsonl"
    try:
        for line in place.read_bytes().splitlines():
            row = msgspec.json.decode(line, type=_Row)
            if row.split == split:
                yield LabelledPage(
                    page=file_page(folder / row.file),
                    file=row.file,
                    label=row.label,
                    kind=row.kind,
                    owner=row.repo.partition("/")[0],
                )
    except OSError as error:
        raise EvaluationFailed(f"{error.filename or place}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise EvaluationFailed(f"{place}: {error}") from error


def file_page(path: Path, url: str = NO_ADDRESS) -> Page:
    """A file as if fetched from `url`; raises OSError."""
    kind = "text/plain" if path.suffix == ".txt" else "text/html"
    return Page(
        url=url,
        status=200,
        headers=(("Content-Type", kind),),
        body=path.read_bytes(),
        fetched_at=datetime.now(UTC),
    )
