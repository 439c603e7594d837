"""Erases one address from everything stored about misses: log, marks, choices, pins, fetch queue."""

from dataclasses import dataclass

from proxy.fetching.queue import FetchQueue
from proxy.misses.erasure import spellings
from proxy.misses.store import MissStore
from repair.collection.database import Database
from repair.collection.pins import Pins
from repair.evidence.hints import Hints


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressEraser:
    """All stores about missed addresses, except archives' answers, which the archive client erases.

    `database` is the collection's, which holds hints and pins.
    """

    misses: MissStore
    hints: Hints
    pins: Pins
    database: Database
    fetches: FetchQueue | None = None

    def erase(self, url: str) -> int:
        """Erase an address in all its spellings, as missed page and as choice; returns the number of misses.

        It blocks. A saved page under the address stays.
        """
        erased = self.misses.erase(url=url)
        for address in spellings(url):
            self.hints.forget(address)
            if self.fetches is not None:
                self.fetches.forget(address)
        self.pins.forget(url)
        self.database.scrub()
        return erased
