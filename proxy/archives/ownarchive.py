"""Decides which clients may read our saved versions, and answers them.

The saved pages of a school reveal what its users read. So by default only its own network gets answers, which can
search the collection anyway. Pages of that network, and personal addresses, are never sent outside.
"""

from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address
from typing import Protocol

from proxy.archives import mementoserver
from proxy.archives.mementoserver import MementoOf, TimeGateTo, TimeMapOf
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage
from repair.collection.versions import HeldVersions
from repair.memento.datetimes import http_date
from repair.model import HeldCopy
from repair.secrets.addresses import has_secret
from repair.text import urls
from repair.text.publichosts import is_public_address, is_public_host


class VersionReader(Protocol):
    """Looks up the versions of pages."""

    async def versions(self, url: str) -> HeldVersions | None: ...

    async def version(self, url: str, moment: datetime) -> HeldCopy | None: ...


class OwnArchive:
    """Answers requests to linkmend as a web archive; `share` is the setting `collection.share`."""

    def __init__(self, versions: VersionReader, share: Callable[[], str]) -> None:
        self._versions = versions
        self._share = share

    async def answer(
        self,
        target: str,
        *,
        base: str,
        client: str,
        accept: str,
        accept_datetime: str | None,
        texts: Catalogue,
    ) -> RenderedPage:
        """The response to a path and query that a client requested under `base`."""
        if not may_read(self._share(), client):
            return mementoserver.refusal(403)
        question = mementoserver.question(target)
        if isinstance(question, int):
            return mementoserver.refusal(question)
        wanted = http_date(accept_datetime) if accept_datetime is not None else None
        if isinstance(question, TimeGateTo) and accept_datetime is not None and wanted is None:
            return mementoserver.refusal(400)
        held = await self._versions.versions(question.url) if may_read_page(question.url, client) else None
        if held is None:
            return mementoserver.refusal(404)
        if isinstance(question, TimeMapOf):
            return mementoserver.timemap(held, question.form, base=base, shown="text/html" in accept.lower())
        return await self._answer_version(question, held, wanted, base, texts)

    async def _answer_version(
        self,
        question: TimeGateTo | MementoOf,
        held: HeldVersions,
        wanted: datetime | None,
        base: str,
        texts: Catalogue,
    ) -> RenderedPage:
        if not isinstance(question, MementoOf):
            return mementoserver.timegate(held, wanted, base=base)
        copy = (
            await self._versions.version(question.url, question.at) if question.at in held.moments else None
        )
        if copy is None:
            return mementoserver.redirect_to_closest(held, question, base=base)
        return mementoserver.memento(copy, held, raw=question.raw, base=base, texts=texts)


def may_read(share: str, client: str) -> bool:
    """Whether a client, by its address, may read anything at all."""
    return share == "all" or (share == "local" and _is_inside(client))


def may_read_page(url: str, client: str) -> bool:
    """Whether a client may read a page: not a personal address, and for outside clients not a page of our network."""
    return not has_secret(url) and (_is_inside(client) or is_public_host(urls.parse(url).host))


def _is_inside(client: str) -> bool:
    try:
        ip_address(client.partition("%")[0])
    except ValueError:
        return False
    return not is_public_address(client)
