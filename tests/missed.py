"""Misses for tests of what is made of them."""

from datetime import timedelta

from proxy.misses.record import MissRecord
from repair.model import MissKind
from tests.make import A_MOMENT

HOUR = timedelta(hours=1)


def a_miss(number=1, url="http://www.school.test/gone", at=A_MOMENT, **known):
    """A complete, dull miss: two pages were offered, none was opened."""
    return MissRecord(
        **{
            "id": f"miss-{number:017}",
            "at": at,
            "url": url,
            "kind": MissKind.NOT_FOUND,
            "source_url": "http://library.test/unit",
            "client": "0123456789abcdef",
            "offered": ("http://b.test/", "http://c.test/"),
            "status": 404,
            "query": "water cycle",
            "language": "en",
            **known,
        }
    )


def choose(store, miss, number, network="network"):
    """A click of the user who missed the page."""
    store.record_choice(miss.id, number, client=miss.client, network=network)


def note(store, *misses):
    """Have misses on disk, each with an id of its own."""
    for miss in misses:
        store.record(miss)
    store.flush()
