"""What is remembered when a person opens a page, whichever way it was answered."""

from proxy.readers.clients import ClientHasher
from proxy.readers.visitors import Visitors


class Opened:
    """Remembers what each client has open."""

    def __init__(self, visitors: Visitors, hasher: ClientHasher) -> None:
        self._visitors = visitors
        self._hasher = hasher

    def __call__(self, address: str, url: str, shown: bool) -> None:
        """A person at this address opened a URL, and it was `shown`, not only found unchanged."""
        if shown:
            self._visitors.opened(self._hasher.hash(address), url)
