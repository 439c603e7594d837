"""Erasing one address from all that is remembered about misses: log, marks, choices, pins, pages to be fetched."""

from dataclasses import dataclass

from proxy.fetching.queue import FetchQueue
from proxy.misses.erasure import spellings
from proxy.misses.store import MissStore
from repair.database import Database
from repair.hints import Hints
from repair.pins import Pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """Who remembers something about missed addresses, besides archives' answers, which are the client's to forget.

    `database` is the collection's, in which hints and pins are kept.
    """

    misses: MissStore
    hints: Hints
    pins: Pins
    database: Database
    fetches: FetchQueue | None = None

    def forget(self, url: str) -> int:
        """Forget an address however it is written, where it was missed and where it was opened; how many misses.

        It blocks. A page that is held under the address stays held.
        """
        erased = self.misses.erase(url=url)
        for address in spellings(url):
            self.hints.forget(address)
            if self.fetches is not None:
                self.fetches.forget(address)
        self.pins.forget(url)
        self.database.scrub()
        return erased
