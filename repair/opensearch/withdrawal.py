"""Takes what a school has sent out of the district's index again, when it leaves for good.

No page there says who sent it. But a page that has the moment at which this school fetched it came from here, and one
that another school has sent since has another: it stays.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from repair.collection.collection import Collection
from repair.opensearch import publishing
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.pagedocument import INDEX, site_of
from repair.secrets.publicaddresses import is_shareable

_BATCH = 500
_WITHIN_S = 60.0


def withdraw_all(collection: Collection, client: OpenSearchClient) -> int:
    """Delete the pages that this collection sent, and what their links called others; returns how many.

    Raises SearchUnavailable; may be done again.
    """
    named: set[str] = set()
    gone: list[str] = []
    for pages in _batches(collection):
        withdrawn = publishing.withdraw(client, pages)
        gone += withdrawn
        for url in withdrawn:
            named.update(link.target_url for link in collection.outlinks(url) if not link.nav)
    client.ask("POST", f"/{INDEX}/_refresh", within_s=_WITHIN_S)
    targets = sorted(filter(is_shareable, named.difference(gone)))
    for start in range(0, len(targets), _BATCH):
        publishing.add_anchors(client, targets[start : start + _BATCH])
    by_site: dict[str, list[str]] = {}
    for url in gone:
        by_site.setdefault(site_of(url), []).append(url)
    for site, urls in by_site.items():
        publishing.note_addresses(client, {}, {site: urls})
    return len(gone)


def _batches(collection: Collection) -> Iterator[Sequence[tuple[str, datetime]]]:
    numbers = collection.numbers()
    for start in range(0, len(numbers), _BATCH):
        summaries = collection.page_summaries(numbers[start : start + _BATCH])
        held = (collection.get(page.url) for page in summaries.values())
        yield [(page.url, page.fetched_at) for page in held if page is not None]
