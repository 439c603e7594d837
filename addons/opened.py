"""What is remembered when a person opens a page, whichever way it was answered."""

from proxy.readers.clients import ClientHasher
from proxy.readers.visitors import Visitors
from proxy.seams import MissLog


class Opened:
    """Tells the miss log of pages chosen from a repair page, and remembers what each client has open."""

    def __init__(self, visitors: Visitors, misses: MissLog, hasher: ClientHasher) -> None:
        self._visitors = visitors
        self._misses = misses
        self._hasher = hasher

    def __call__(self, address: str, url: str, shown: bool) -> None:
        """A person at this address opened a URL, and it was `shown`, not only found unchanged."""
        client = self._hasher.hash(address)
        miss_id = self._visitors.chose(client, url)
        if miss_id is not None:
            self._misses.chosen(miss_id, url)
        if shown:
            self._visitors.opened(client, url)
