"""Importing: pages from files and folders, whatever their format, one at a time.

What cannot be used is skipped and reported in `problems`, by file and line or record; ImportFailed is raised only
when nothing at all can be used. Sizes are bounded, and nothing is ever unpacked to a path that a file names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from repair.errors import ImportFailed
from repair.model import Document, Page
from repair.parse.collectionfolder import collection_folder, is_collection_folder
from repair.parse.htmlfolder import html_folder
from repair.parse.problems import ImportProblems
from repair.parse.warc import SUFFIXES, wacz, warc
from repair.parse.zim import zim


class ImportFormat(Iterator[Page | Document]):
    """The pages of an import, each once; `problems` grows while they are read."""

    def __init__(self, items: Iterator[Page | Document], problems: ImportProblems) -> None:
        self._items = items
        self._problems = problems
        self._found = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page | Document:
        try:
            item = next(self._items)
        except StopIteration:
            if not self._found and self._problems.lines:
                raise ImportFailed(self._problems.lines[0]) from None
            raise
        except OSError as error:
            raise ImportFailed(
                f"{error.filename or 'import'}: cannot read the file: {error.strerror}"
            ) from error
        self._found = True
        return item

    @property
    def problems(self) -> tuple[str, ...]:
        """What was skipped so far, one line each; the first thousand."""
        return tuple(self._problems.lines)

    @property
    def damage(self) -> str:
        """Where a file turned out to be damaged or to end early; "" while all of it could be read."""
        return self._problems.damage

    @property
    def problem_count(self) -> int:
        """How much was skipped so far."""
        return self._problems.count

    @property
    def share(self) -> float | None:
        """How much has been read so far, from 0 to 1; None when it is not known."""
        return self._problems.share


def load(path: Path, *, base_url: str | None = None) -> ImportFormat:
    """The pages of a file or folder; a Page where there are bytes to parse, a Document where there is only text.

    `base_url` is the base of a folder's files when their names do not give it. Raises ImportFailed, at once or
    from the iterator, when the path is not what its name claims.
    """
    problems = ImportProblems()
    return ImportFormat(_items(path, base_url, problems), problems)


def _items(path: Path, base_url: str | None, problems: ImportProblems) -> Iterator[Page | Document]:
    name = path.name.lower()
    if path.is_dir():
        return (
            collection_folder(path, problems)
            if is_collection_folder(path)
            else html_folder(path, base_url, problems)
        )
    if not path.is_file():
        raise ImportFailed(f"{path}: no such file or folder")
    if name.endswith(SUFFIXES):
        return warc(path, problems)
    if name.endswith(".wacz"):
        return wacz(path, problems)
    if name.endswith(".zim"):
        return zim(path, base_url, problems)
    raise ImportFailed(f"{path}: expected .warc, .warc.gz, .arc, .wacz, .zim or a folder")
