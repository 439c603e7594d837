"""What is known of clients, the same in every worker: a browser's next connection may come to another one.

Each worker keeps all of it, so that nobody waits for it. What one learns it broadcasts; that takes a few
milliseconds, and a person who clicks takes longer.
"""

from proxy.privacy.recentpages import RecentPages
from proxy.privacy.suppressed import SuppressedPage, SuppressedPages
from proxy.rpc.protocol import ClientEvents, ReadershipService
from repair.soft404.redirects import RecentRedirects


class ClientState:
    """The state of clients where there is only one worker, so that nothing is broadcast."""

    def __init__(self, readership: ReadershipService) -> None:
        self.recent_pages: RecentPages = CountedRecentPages(readership)
        self.suppressed = SuppressedPages()
        self.redirects = RecentRedirects()


class SharedClientState(ClientState):
    """Broadcasts to the other workers, and applies their broadcasts (as ClientEvents) without passing them on."""

    def __init__(self, events: ClientEvents, readership: ReadershipService) -> None:
        self.recent_pages = SharedRecentPages(events, readership)
        self.suppressed = SharedSuppressedPages(events)
        self.redirects = SharedRedirects(events)

    def client_opened(self, client: str, url: str) -> None:
        RecentPages.note_page(self.recent_pages, client, url)

    def client_redirected(self, client: str, requested: str, location: str) -> None:
        RecentRedirects.note(self.redirects, client, requested, location)

    def client_landed(self, client: str, url: str) -> None:
        RecentRedirects.pop_origin(self.redirects, client, url)

    def client_auto_redirected(self, client: str, missed: str, target: str) -> None:
        RecentPages.note_redirect(self.recent_pages, client, missed, target)

    def client_arrived(self, client: str, url: str) -> None:
        RecentPages.take_arrival(self.recent_pages, client, url)

    def page_suppressed(self, miss_id: str, client: str, page: SuppressedPage) -> None:
        SuppressedPages.note(self.suppressed, miss_id, client, page)

    def leave_given(self, client: str, url: str) -> None:
        SuppressedPages.give_leave(self.suppressed, client, url)


class CountedRecentPages(RecentPages):
    """Recent pages whose readers are counted."""

    def __init__(self, readership: ReadershipService) -> None:
        super().__init__()
        self._readership = readership

    def note_page(self, client: str, url: str) -> bool:
        is_new = super().note_page(client, url)
        if is_new:
            self._readership.page_opened(client, url)
        return is_new


class SharedRecentPages(CountedRecentPages):
    """Recent pages that other workers get to know as well."""

    update_delay_s = 0.02

    def __init__(self, events: ClientEvents, readership: ReadershipService) -> None:
        super().__init__(readership)
        self._events = events

    def note_page(self, client: str, url: str) -> bool:
        is_new = super().note_page(client, url)
        if is_new:
            self._events.client_opened(client, url)
        return is_new

    def note_redirect(self, client: str, missed: str, target: str) -> None:
        super().note_redirect(client, missed, target)
        self._events.client_auto_redirected(client, missed, target)

    def take_arrival(self, client: str, url: str) -> str | None:
        missed = super().take_arrival(client, url)
        if missed is not None:
            self._events.client_arrived(client, url)
        return missed


class SharedSuppressedPages(SuppressedPages):
    """Suppressed pages that every worker can show on request."""

    update_delay_s = 0.02

    def __init__(self, events: ClientEvents) -> None:
        super().__init__()
        self._events = events

    def note(self, miss_id: str, client: str, thing: SuppressedPage) -> None:
        super().note(miss_id, client, thing)
        self._events.page_suppressed(miss_id, client, thing)

    def give_leave(self, client: str, url: str) -> None:
        super().give_leave(client, url)
        self._events.leave_given(client, url)


class SharedRedirects(RecentRedirects):
    """Redirects that are recognised wherever the client lands."""

    def __init__(self, events: ClientEvents) -> None:
        super().__init__()
        self._events = events

    def note(self, client: str, requested: str, location: str) -> None:
        # Before it is noted here: of a chain of redirects, the first address is then found wherever it is known.
        self._events.client_redirected(client, requested, location)
        super().note(client, requested, location)

    def pop_origin(self, client: str, landed: str) -> str | None:
        requested = super().pop_origin(client, landed)
        if requested is not None:
            self._events.client_landed(client, landed)
        return requested
