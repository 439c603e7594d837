"""Sends a school's pages to the district: what may be shared, from its outbox, in batches, while the line is there.

A batch leaves the outbox when the index has taken it, so a killed process or a cut line costs at most that the same
pages are sent again, which changes nothing there.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from repair.collection.collection import Collection
from repair.collection.index.fulltext import link_terms
from repair.errors import CollectionError
from repair.opensearch import census, counting, publishing
from repair.opensearch.client import OpenSearchClient, SearchUnavailable
from repair.opensearch.pagedocument import SharedPage
from repair.opensearch.sharedpages import SharedPages
from repair.opensearch.sitesheets import NewAddresses
from repair.secrets.publicaddresses import is_shareable

log = logging.getLogger(__name__)

_BATCH = 100
_TARGETS = 500  # pages linked to by a batch whose names are looked at again
_PAUSE_S = 5.0
_CENSUS_CHECK_S = 600.0
_CENSUS_FILE = "district-census.npz"


def shared_page(collection: Collection, number: int) -> SharedPage | None:
    """A saved page as the district may have it; None when it is gone or its address is nobody else's business."""
    found = collection.indexed_page(number)
    if found is None:
        return None
    document, entry = found
    held = collection.get(document.url)
    if held is None or not is_shareable(document.url):
        return None
    links = tuple(link for link in document.links if is_shareable(link.target_url))
    if len(links) < len(document.links):
        linked = dict.fromkeys(link.target_url for link in links if not link.nav)
        entry = replace(entry, fields={**entry.fields, "links": link_terms(linked)})
    return SharedPage(document=replace(document, links=links), entry=entry, fetched_at=held.fetched_at)


def send_batch(
    collection: Collection, client: OpenSearchClient, *, now: datetime, new: NewAddresses | None = None
) -> int:
    """Send the oldest rows of the outbox; returns how many it was rid of. Raises SearchUnavailable."""
    new = new or NewAddresses()
    rows = collection.outbox.batch(_BATCH)
    removed = [row.url for row in rows if row.removed]
    pages = [shared_page(collection, row.page) for row in rows if not row.removed]
    publishing.bury(client, removed, now)
    sent = [page for page in pages if page is not None]
    publishing.publish(client, sent)
    added = new.by_site(known_addresses(sent))
    publishing.note_addresses(client, added, NewAddresses().by_site(removed))
    new.told(url for urls in added.values() for url in urls)
    targets = {link.target_url for page in sent for link in page.document.links if not link.nav}
    named = [*(page.document.url for page in sent), *sorted(targets)][:_TARGETS]
    if named:
        publishing.add_anchors(client, named)
    collection.outbox.mark_sent(rows)
    return len(rows)


def known_addresses(pages: Iterable[SharedPage]) -> Iterator[str]:
    """The URLs that pages make known: their own and those they link to."""
    for page in pages:
        yield page.document.url
        yield from (link.target_url for link in page.document.links)


class Sender:
    """The thread that empties the outbox and keeps the census of a school up to date."""

    def __init__(
        self,
        collection: Collection,
        client: OpenSearchClient,
        shared: SharedPages,
        folder: Path,
        *,
        is_hurried: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_hurried` says whether users wait for this process: sending then waits too."""
        self._collection = collection
        self._client = client
        self._shared = shared
        self._file = folder / _CENSUS_FILE
        self._is_hurried = is_hurried
        self._closing = threading.Event()
        self._census_at = 0.0
        self._thread = threading.Thread(target=self._work, name="district", daemon=True)

    def start(self) -> None:
        """Take up what an earlier process left."""
        with suppress(OSError, ValueError):  # there is none yet, or it is damaged: the district has it
            self._shared.census = census.read(self._file.read_bytes())
        self._thread.start()

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop; what is left in the outbox waits for the next start."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        self._client.close()

    def _work(self) -> None:
        is_installed, new = False, NewAddresses()
        while not self._closing.is_set():
            try:
                if not is_installed:
                    publishing.install_if_missing(self._client)
                    is_installed = True
                while not self._closing.is_set() and not self._is_hurried():
                    if not send_batch(self._collection, self._client, now=datetime.now(UTC), new=new):
                        break
                self._check_census()
            except (SearchUnavailable, CollectionError) as error:
                log.info("district: pages wait to be sent: %s", error)
            except Exception:  # the thread survives an odd answer or an odd page
                log.exception("district: sending failed")
            self._closing.wait(_PAUSE_S)

    def _check_census(self) -> None:
        """Fetch a newer census now and then; the first school that finds it outdated makes the next one."""
        now = time.time()
        if now - self._census_at < _CENSUS_CHECK_S:
            return
        note = counting.current_census(self._client)
        if note.is_due(counting.count_pages(self._client), now) and counting.claim_census(
            self._client, note, now
        ):
            counting.store_census(self._client, counting.take_census(self._client), made_at=now)
        found = counting.fetch_census(self._client)
        if found is not None:
            self._shared.census = found
            self._file.write_bytes(census.write(found))
        self._census_at = now
