"""Imports pages into the collection: parsed, pinned and committed in batches; only what is new or has changed."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto

from repair.collection.collection import Collection, PageAddition
from repair.errors import FileTooCostly, ImportFailed
from repair.harvest import addition_of, raw_digest
from repair.model import Document, Page
from repair.settings import CollectionSettings

_BATCH = 200
_BATCH_BYTES = 32 * 1024**2


@dataclass(slots=True)
class ImportCount:
    """Progress of an import; `passed` pages were read but are no documents, or ask not to be indexed; `unchanged`
    ones were saved before with the same bytes, and of `older` ones the collection has a newer version."""

    pages: int = 0
    passed: int = 0
    unchanged: int = 0
    older: int = 0


class Taken(Enum):
    """What was done with an item: `FILE` is no page that can be found, but may be kept for offline use."""

    PAGE = auto()
    FILE = auto()
    UNCHANGED = auto()
    OLDER = auto()


class CollectionImporter:
    """Adds imported pages to the collection, pinned: they stay until somebody removes them."""

    def __init__(
        self, collection: Collection, settings: CollectionSettings, *, keep_newer: bool = False
    ) -> None:
        """With `keep_newer`, a page that the collection has in a newer version is left as it is."""
        self._collection = collection
        self._settings = settings
        self._keep_newer = keep_newer
        self._waiting: list[PageAddition] = []
        self._waiting_bytes = 0
        self._last: Page | Document | None = None
        self.count = ImportCount()

    def add(self, item: Page | Document) -> Taken:
        """Add one page; it is on disk after `flush` at the latest.

        A file under a second name (`index.html` and its folder) is not listed twice.
        """
        if _is_same_file(item, self._last):
            return Taken.FILE
        self._last = item
        if isinstance(item, Page) and (known := self._known(item)) is not None:
            return known
        addition = self._addition(item)
        if addition is None:
            self.count.passed += 1
            return Taken.FILE
        self._waiting.append(addition)
        self._waiting_bytes += len(addition.document.text) + (len(addition.copy.body) if addition.copy else 0)
        if len(self._waiting) >= _BATCH or self._waiting_bytes >= _BATCH_BYTES:
            self.flush()
        return Taken.PAGE

    @property
    def pages(self) -> int:
        """Pages so far, with those of the current batch."""
        return self.count.pages + len(self._waiting)

    def flush(self) -> None:
        """Commit the current batch."""
        self.count.pages += self._collection.add_many(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _known(self, page: Page) -> Taken | None:
        """Why a page need not be read; None when it must be."""
        if self._collection.is_pinned_with(page.url, raw_digest(page)):
            self.count.unchanged += 1
            return Taken.UNCHANGED
        held = self._collection.get(page.url) if self._keep_newer else None
        if held is not None and held.fetched_at > page.fetched_at:
            self.count.older += 1
            return Taken.OLDER
        return None

    def _addition(self, item: Page | Document) -> PageAddition | None:
        if isinstance(item, Document):
            return PageAddition(document=item, fetched_at=datetime.now(UTC), pinned=True)
        try:
            addition = addition_of(item, self._settings, pinned=True)
        except FileTooCostly:
            return None
        except OSError as error:
            raise ImportFailed(f"{item.url}: cannot start the process that reads files: {error}") from error
        return None if addition is None or addition.document.noindex else addition


def _is_same_file(item: Page | Document, last: Page | Document | None) -> bool:
    """Whether two pages are one file: not just equal bytes, but the very same in memory."""
    return isinstance(item, Page) and isinstance(last, Page) and bool(item.body) and item.body is last.body
