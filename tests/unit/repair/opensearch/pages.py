"""A small collection for tests of what the district has of it."""

from datetime import UTC, datetime

from repair.collection.collection import Collection
from repair.model import Document, Link
from repair.settings import CollectionSettings

DAY = datetime(2026, 3, 2, tzinfo=UTC)
_TITLES = ("River", "River delta", "Sand", "Glacier")
_TEXTS = ("water runs down the river", "the river ends in a delta", "sand of the delta", "water and ice")


def a_collection(folder):
    """A collection of four pages that link in a ring; the caller closes it."""
    collection = Collection.open(folder, CollectionSettings())
    for at, text in enumerate(_TEXTS):
        link = Link(
            target_url=f"https://topics.example.org/{(at + 1) % len(_TEXTS)}", anchor=f"page {at + 1}"
        )
        page = Document(
            url=f"https://topics.example.org/{at}",
            title=_TITLES[at],
            text=text,
            language="en",
            links=(link,),
        )
        collection.add(page, fetched_at=DAY)
    collection.commit()
    return collection
