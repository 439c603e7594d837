"""The client of web archives built from the settings: it uses the parent proxy, and skips archived error pages."""

import ssl
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from aiohttp.abc import AbstractResolver

from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.portal.addresses import PORTAL
from proxy.reach.policy import ReachPolicy, reach_of
from proxy.settings import Settings
from proxy.tls.certificates import trusted_file
from repair.bounded import BoundedDict
from repair.collection.versions import HeldVersions
from repair.memento.archive import parse_archives
from repair.memento.client import MementoClient
from repair.memento.datetimes import as_timestamp
from repair.memento.model import ArchiveAnswer, ArchiveOutcome, Memento, MementoCopy, TimeMap
from repair.model import Page
from repair.moves.rules import Move
from repair.secrets.addresses import has_secret
from repair.settings import ArchivesSettings
from repair.soft404.judge import PageKind, judge

OWN_NAME = "linkmend"
"""Under which name the versions held here stand beside those of archives."""
_MAX_FIELD_BYTES = 65_536  # some archives put a whole TimeMap into the Link header


def client_from(
    settings: Settings,
    data: Path,
    *,
    on_move: Callable[[Move], None] = lambda move: None,
    reach: Callable[[], ReachPolicy] | None = None,
) -> MementoClient:
    """The client over the file in the data folder; `on_move` hears of archived redirects.

    `reach` is what may be reached at the moment; by default, what the settings say.

    Raises SettingsError when `proxy.trusted_ca` cannot be read, ArchiveMemoryError when the file cannot be used.
    """
    by_settings = reach_of(settings)
    trusted = trusted_file(settings.proxy.trusted_ca, data)
    return MementoClient(
        settings.archives,
        data,
        archive_http(
            settings.archives,
            reach=reach or (lambda: by_settings),
            parent=settings.proxy.parent,
            tls=ssl.create_default_context(cafile=trusted) if trusted else True,
        ),
        is_bad=is_not_the_page,
        has_secret=has_secret,
        on_move=on_move,
        offline=settings.proxy.offline,
        # Archives were queried because a user missed the page: their responses reveal the miss.
        keep_s=settings.misses.retention_days * 86_400.0,
    )


def archive_http(
    settings: ArchivesSettings,
    *,
    reach: Callable[[], ReachPolicy],
    parent: str = "",
    tls: ssl.SSLContext | bool = True,
    resolver: AbstractResolver | None = None,
) -> HttpClient:
    """The HTTP client for archives: public addresses, and private ones where the admin put an archive."""
    archives = parse_archives(settings.list)
    private = frozenset[tuple[str, int]]().union(*(archive.private_places() for archive in archives))
    return HttpClient(
        ConnectGuard(reach, chosen=private, public_only=True),
        purpose="looks for archived copies of dead links",
        parent=lambda: parent,
        tls=tls,
        resolver=resolver,
        max_field_bytes=_MAX_FIELD_BYTES,
    )


class RememberedCopies:
    """The last good copies among what archives returned before; queries no archive.

    Choosing a copy means reading pages, and a repair page does not wait for that. So the latest choices are kept,
    without the pages themselves, until more mementos are known.
    """

    def __init__(
        self,
        client: MementoClient,
        *,
        limit: int = 100,
        on_news: Callable[[str], None] = lambda url: None,
    ) -> None:
        """`on_news` is called with a URL of which another copy is known now."""
        self._client = client
        self._on_news = on_news
        self._kept = BoundedDict[str, tuple[int, MementoCopy]](limit)

    async def best(self, url: str, *, near: datetime | None = None) -> MementoCopy | None:
        """The last good copy, or the one closest to `near`."""
        found = await self._client.stored_timemap(url)
        if near is not None:
            return await self._client.best_of(found, near=near, ask=False)
        return await self.best_of(found)

    async def best_of(self, found: TimeMap) -> MementoCopy | None:
        """The last good copy of those in a time map."""
        known, copy = self._kept.get(found.url, (-1, None))
        if known != len(found.mementos):
            copy = await self._client.best_of(found, ask=False) if found.mementos else None
            self.note(found, copy)
        return copy

    def note(self, found: TimeMap, copy: MementoCopy | None) -> None:
        """Remember the last good copy of those in a time map."""
        if copy is None:
            return
        document = replace(copy.document, links=()) if copy.document else None
        small = replace(copy, page=replace(copy.page, body=b""), document=document)
        known = self._kept.get(found.url)
        self._kept[found.url] = (len(found.mementos), small)
        if known is None or known[1].memento != small.memento:
            self._on_news(found.url)


def own_answer(held: HeldVersions) -> ArchiveAnswer:
    """The saved versions of a page as if an archive had answered: linkmend is one too."""
    mementos = tuple(
        Memento(
            url=f"{PORTAL}/memento/{as_timestamp(at)}/{held.url}", at=at, archive=OWN_NAME, original=held.url
        )
        for at in held.moments
    )
    return ArchiveAnswer(
        archive=OWN_NAME, outcome=ArchiveOutcome.ANSWERED, said_at=max(held.moments), mementos=mementos
    )


def is_not_the_page(page: Page) -> bool:
    """Whether an archived page is not the page it was archived as: an error, a parked domain, a login."""
    return judge(page).kind not in (PageKind.ORDINARY, PageKind.SHELL)
