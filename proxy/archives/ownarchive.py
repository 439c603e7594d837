"""Who may read the versions we hold, and the answers to those who may.

What a school holds tells what its readers read. So by default only its own network is answered, which can search the
collection anyway; pages of that network, and addresses that are somebody's own, are for nobody outside of it.
"""

from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_address
from typing import Protocol

from proxy.archives import mementos
from proxy.archives.mementos import MementoOf, TimeGateTo, TimeMapOf
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage
from proxy.readers.privacy import is_personal_url
from repair import urls
from repair.memento.datetimes import http_date
from repair.memento.reach import is_public_address, is_public_host
from repair.model import HeldCopy
from repair.versions import HeldVersions


class VersionReader(Protocol):
    """Who knows the versions of pages."""

    async def versions(self, url: str) -> HeldVersions | None: ...

    async def version(self, url: str, moment: datetime) -> HeldCopy | None: ...


class OwnArchive:
    """Answers what linkmend is asked as a web archive; `share` is the setting `collection.share`."""

    def __init__(self, reader: VersionReader, share: Callable[[], str]) -> None:
        self._reader = reader
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
        """The answer to a path and query, asked by a client's address under `base`."""
        if not may_read(self._share(), client):
            return mementos.refusal(403)
        question = mementos.question(target)
        if isinstance(question, int):
            return mementos.refusal(question)
        wanted = http_date(accept_datetime) if accept_datetime is not None else None
        if isinstance(question, TimeGateTo) and accept_datetime is not None and wanted is None:
            return mementos.refusal(400)
        held = await self._reader.versions(question.url) if is_for(question.url, client) else None
        if held is None:
            return mementos.refusal(404)
        if isinstance(question, TimeMapOf):
            return mementos.timemap(held, question.form, base=base, shown="text/html" in accept.lower())
        return await self._found(question, held, wanted, base, texts)

    async def _found(
        self,
        question: TimeGateTo | MementoOf,
        held: HeldVersions,
        wanted: datetime | None,
        base: str,
        texts: Catalogue,
    ) -> RenderedPage:
        if not isinstance(question, MementoOf):
            return mementos.timegate(held, wanted, base=base)
        copy = await self._reader.version(question.url, question.at) if question.at in held.moments else None
        if copy is None:
            return mementos.elsewhen(held, question, base=base)
        return mementos.memento(copy, held, raw=question.raw, base=base, texts=texts)


def may_read(share: str, client: str) -> bool:
    """Whether a client, by its address, may read anything at all."""
    return share == "all" or (share == "local" and _is_inside(client))


def is_for(url: str, client: str) -> bool:
    """Whether a page is for a client: nobody's own, and none of our network's for one outside of it."""
    return not is_personal_url(url) and (_is_inside(client) or is_public_host(urls.parse(url).host))


def _is_inside(client: str) -> bool:
    try:
        ip_address(client.partition("%")[0])
    except ValueError:
        return False
    return not is_public_address(client)
