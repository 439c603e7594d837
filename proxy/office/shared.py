"""What is known of clients, the same in every worker: a browser's next connection may come to another one.

Each worker keeps all of it, so that nobody waits for it; what one learns it tells the office, which passes it on.
That takes a few milliseconds, and a reader who clicks takes longer.
"""

from collections.abc import Callable

from proxy.office.messages import (
    ClientArrived,
    ClientLanded,
    ClientLed,
    ClientOpened,
    ClientRedirected,
    News,
    PageWithheld,
)
from proxy.readers.visitors import Visitors
from proxy.readers.withheld import Withheld, WithheldPages
from repair.soft404.redirects import RecentRedirects

Share = Callable[[News], object]


class SharedVisitors(Visitors):
    """Visitors that other workers hear of as well."""

    told_within_s = 0.02

    def __init__(self, share: Share) -> None:
        super().__init__()
        self._share = share

    def opened(self, client: str, url: str) -> None:
        is_news = self.recent(client)[:1] != (url,)
        super().opened(client, url)
        if is_news:
            self._share(ClientOpened(client=client, url=url))

    def led(self, client: str, missed: str, target: str) -> None:
        super().led(client, missed, target)
        self._share(ClientLed(client=client, missed=missed, target=target))

    def arrives(self, client: str, url: str) -> str | None:
        missed = super().arrives(client, url)
        if missed is not None:
            self._share(ClientArrived(client=client, url=url))
        return missed


class SharedWithheld(WithheldPages):
    """Withheld pages that every worker can show anyway."""

    def __init__(self, share: Share) -> None:
        super().__init__()
        self._share = share

    def note(self, miss_id: str, client: str, thing: Withheld) -> None:
        super().note(miss_id, client, thing)
        self._share(PageWithheld(miss_id=miss_id, client=client, page=thing))


class SharedRedirects(RecentRedirects):
    """Redirects that are recognised wherever the client lands."""

    def __init__(self, share: Share) -> None:
        super().__init__()
        self._share = share

    def note(self, client: str, asked: str, location: str) -> None:
        # Before it is noted here: of a chain of redirects, the first address is then found wherever it is known.
        self._share(ClientRedirected(client=client, asked=asked, location=location))
        super().note(client, asked, location)

    def taken(self, client: str, landed: str) -> str | None:
        asked = super().taken(client, landed)
        if asked is not None:
            self._share(ClientLanded(client=client, url=landed))
        return asked


class KnowledgeAlone:
    """All of it where there is one worker, which tells nobody."""

    def __init__(self) -> None:
        self.visitors = Visitors()
        self.withheld = WithheldPages()
        self.redirects = RecentRedirects()

    def hear(self, news: News) -> None:
        """Take over what another worker learnt, without telling it on."""
        match news:
            case ClientOpened(client=client, url=url):
                Visitors.opened(self.visitors, client, url)
            case ClientRedirected(client=client, asked=asked, location=location):
                RecentRedirects.note(self.redirects, client, asked, location)
            case ClientLanded(client=client, url=url):
                RecentRedirects.taken(self.redirects, client, url)
            case ClientLed(client=client, missed=missed, target=target):
                Visitors.led(self.visitors, client, missed, target)
            case ClientArrived(client=client, url=url):
                Visitors.arrives(self.visitors, client, url)
            case PageWithheld(miss_id=miss_id, client=client, page=page):
                WithheldPages.note(self.withheld, miss_id, client, page)


class SharedKnowledge(KnowledgeAlone):
    """All of it in one of several workers; `hear` takes what others share."""

    def __init__(self, share: Share) -> None:
        self.visitors = SharedVisitors(share)
        self.withheld = SharedWithheld(share)
        self.redirects = SharedRedirects(share)
