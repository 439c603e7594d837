"""The client of web archives as the settings want it: through the parent, past pages that pretend to be there."""

import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from proxy.portal.helper import PORTAL
from proxy.readers.privacy import is_personal_url
from proxy.settings import Settings, parent_address
from proxy.trust.certificates import trusted_file
from repair.guard import MayReach, anywhere
from repair.memento.client import MementoClient
from repair.memento.datetimes import as_timestamp
from repair.memento.door import ParentProxy
from repair.memento.model import Answer, Copy, Memento, Outcome, TimeMap
from repair.model import Page
from repair.moves import Move
from repair.soft404.judge import PageKind, judge
from repair.versions import HeldVersions

OWN_NAME = "linkmend"
"""Under which name the versions held here stand beside those of archives."""


def client_from(
    settings: Settings,
    data: Path,
    *,
    on_move: Callable[[Move], None] = lambda move: None,
    may_connect: MayReach = anywhere,
) -> MementoClient:
    """The client over the file in the data folder; `on_move` hears of archived redirects.

    `may_connect` is asked before each connection, also to archives that an admin put into a private network.

    Raises SettingsError when `proxy.trusted_ca` cannot be read, ArchiveMemoryError when the file cannot be used.
    """
    parent = None
    if settings.proxy.parent:
        host, port = parent_address(settings.proxy.parent)
        parent = ParentProxy(url=settings.proxy.parent, host=host, port=port)
    trusted = trusted_file(settings.proxy.trusted_ca, data)
    return MementoClient(
        settings.archives,
        data,
        is_bad=pretends,
        is_personal=is_personal_url,
        on_move=on_move,
        offline=settings.proxy.offline,
        # Whoever missed a page had archives asked about it: what they said tells of the miss.
        keep_s=settings.misses.retention_days * 86_400.0,
        parent=parent,
        may_connect=may_connect,
        tls=ssl.create_default_context(cafile=trusted) if trusted else None,
    )


class RememberedCopies:
    """The last good copies among what archives showed before: nobody is asked.

    To choose one, pages have to be read, and a repair page does not wait for that. So the latest ones are kept, what
    they say without the pages themselves, for as long as no more mementos are known.
    """

    def __init__(self, client: MementoClient, *, limit: int = 100) -> None:
        self._client = client
        self._limit = limit
        self._kept: OrderedDict[str, tuple[int, Copy]] = OrderedDict()

    async def best(self, url: str, *, near: datetime | None = None) -> Copy | None:
        """The last good copy, or the one closest to `near`."""
        found = await self._client.remembered(url)
        if near is not None:
            return await self._client.best_of(found, near=near, ask=False)
        return await self.best_of(found)

    async def best_of(self, found: TimeMap) -> Copy | None:
        """The last good copy of those in a time map."""
        known, copy = self._kept.get(found.url, (-1, None))
        if known != len(found.mementos):
            copy = await self._client.best_of(found, ask=False) if found.mementos else None
            self.note(found, copy)
        return copy

    def note(self, found: TimeMap, copy: Copy | None) -> None:
        """Keep what is the last good copy of those in a time map."""
        if copy is None:
            return
        document = replace(copy.document, links=()) if copy.document else None
        small = replace(copy, page=replace(copy.page, body=b""), document=document)
        self._kept[found.url] = (len(found.mementos), small)
        self._kept.move_to_end(found.url)
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)


def held_here(held: HeldVersions) -> Answer:
    """The versions of a page that are held here, as if an archive had answered: linkmend is one too."""
    mementos = tuple(
        Memento(
            url=f"{PORTAL}/memento/{as_timestamp(at)}/{held.url}", at=at, archive=OWN_NAME, original=held.url
        )
        for at in held.moments
    )
    return Answer(archive=OWN_NAME, outcome=Outcome.ANSWERED, said_at=max(held.moments), mementos=mementos)


def pretends(page: Page) -> bool:
    """Whether an archived page is not the page it was archived as: an error, a parked domain, a login."""
    return judge(page).kind not in (PageKind.ORDINARY, PageKind.SHELL)
