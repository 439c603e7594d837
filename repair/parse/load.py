"""Importing: pages out of files and folders, whatever their format, one at a time.

What cannot be used is passed over and told in `problems`, by file and line or record; only when nothing at all
can be used is ImportFailed raised. Sizes are bounded, and nothing is ever unpacked to a path that a file names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from repair.errors import ImportFailed
from repair.formats.folder import collection_folder, is_collection_folder
from repair.formats.html import html_folder
from repair.formats.problems import Problems
from repair.formats.warc import SUFFIXES, wacz, warc
from repair.formats.zim import zim
from repair.model import Document, Page


class Load(Iterator[Page | Document]):
    """The pages of an import, each once; `problems` grows while they are read."""

    def __init__(self, items: Iterator[Page | Document], problems: Problems) -> None:
        self._items = items
        self._problems = problems
        self._found = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Page | Document:
        try:
            item = next(self._items)
        except StopIteration:
            if not self._found and self._problems.told:
                raise ImportFailed(self._problems.told[0]) from None
            raise
        except OSError as error:
            raise ImportFailed(f"{error.filename or 'import'}: cannot be read: {error.strerror}") from error
        self._found = True
        return item

    @property
    def problems(self) -> tuple[str, ...]:
        """What was passed over so far, one line each; the first thousand."""
        return tuple(self._problems.told)

    @property
    def problem_count(self) -> int:
        """How much was passed over so far."""
        return self._problems.count


def load(path: Path, *, base_url: str | None = None) -> Load:
    """The pages of a file or folder; a Page where there are bytes to be read, a Document where there is only text.

    `base_url` says where the files of a folder belong when their names do not. Raises ImportFailed, at once or
    from the iterator, when the path is not what its name claims.
    """
    problems = Problems()
    return Load(_items(path, base_url, problems), problems)


def _items(path: Path, base_url: str | None, problems: Problems) -> Iterator[Page | Document]:
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
