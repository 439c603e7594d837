"""The client of web archives as the settings want it: through the parent, past pages that pretend to be there."""

import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from proxy.privacy import is_personal_url
from proxy.settings import Settings, parent_address
from proxy.trust import trusted_file
from repair.memento.client import MementoClient
from repair.memento.door import ParentProxy
from repair.memento.model import Copy
from repair.model import Page
from repair.moves import Move
from repair.soft404.judge import PageKind, judge


def client_from(
    settings: Settings, data: Path, *, on_move: Callable[[Move], None] = lambda move: None
) -> MementoClient:
    """The client over the file in the data folder; `on_move` hears of archived redirects.

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
        parent=parent,
        tls=ssl.create_default_context(cafile=trusted) if trusted else None,
    )


class RememberedCopies:
    """The copies that archives showed before, as a source of evidence wants them: nobody is asked."""

    def __init__(self, client: MementoClient) -> None:
        self._client = client

    async def best(self, url: str, *, near: datetime | None = None) -> Copy | None:
        """The last good copy, or the one closest to `near`, among those remembered."""
        return await self._client.best(url, near=near, ask=False)


def pretends(page: Page) -> bool:
    """Whether an archived page is not the page it was archived as: an error, a parked domain, a login."""
    return judge(page).kind not in (PageKind.ORDINARY, PageKind.SHELL)
