"""Taking an import into the collection: pages read, pinned and committed in batches."""

from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection import Addition, Collection
from repair.harvest import addition_of
from repair.model import Document, Page
from repair.settings import CollectionSettings

_BATCH = 200
_BATCH_BYTES = 32 * 1024**2


@dataclass(slots=True)
class IntakeCount:
    """What an import brought so far; `passed` were read but are no documents, or ask not to be indexed."""

    pages: int = 0
    passed: int = 0


class Intake:
    """Adds imported pages to the collection, pinned: they stay until somebody removes them."""

    def __init__(self, collection: Collection, settings: CollectionSettings) -> None:
        self._collection = collection
        self._settings = settings
        self._waiting: list[Addition] = []
        self._waiting_bytes = 0
        self.count = IntakeCount()

    def add(self, item: Page | Document) -> None:
        """Take in one page; it is on disk after `flush` at the latest."""
        addition = self._addition(item)
        if addition is None:
            self.count.passed += 1
            return
        self._waiting.append(addition)
        self._waiting_bytes += len(addition.document.text) + (len(addition.copy.body) if addition.copy else 0)
        if len(self._waiting) >= _BATCH or self._waiting_bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Commit what waits."""
        self.count.pages += self._collection.add_many(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0

    def _addition(self, item: Page | Document) -> Addition | None:
        if isinstance(item, Document):
            return Addition(document=item, fetched_at=datetime.now(UTC), pinned=True)
        addition = addition_of(item, self._settings, pinned=True)
        return None if addition is None or addition.document.noindex else addition
