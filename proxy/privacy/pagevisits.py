"""Notes when a user opens a page, whichever part answered it."""

from proxy.privacy.clients import ClientHasher
from proxy.privacy.recentpages import RecentPages


class PageVisits:
    """Remembers what each client has open."""

    def __init__(self, recent_pages: RecentPages, hasher: ClientHasher) -> None:
        self._recent_pages = recent_pages
        self._hasher = hasher

    def __call__(self, address: str, url: str, shown: bool) -> None:
        """A person at this address opened a URL, and it was `shown`, not only found unchanged."""
        if shown:
            self._recent_pages.note_page(self._hasher.hash(address), url)
