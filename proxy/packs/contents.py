"""What goes into a pack: saved copies and their pictures, as far as others may have them.

Pages of the school's own network, addresses with a secret and searches that somebody typed stay here, and so does
everything with `collection.share = "off"`. Of a page that users visited, only the day is told. The addresses are
listed first, since the pages of a ZIM refer to each other.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from proxy.fetching.subresources import parts_of
from proxy.messages import CacheRequest, StoredResponse
from proxy.privacy.harvestpolicy import may_harvest
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection
from repair.collection.versions import day_of
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.model import HeldCopy, Page
from repair.packs.packmodel import PackItem
from repair.packs.packstore import PackStore
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

_PARTS = 100
_PART_BYTES = 8 * 1024**2
_PAGE_BYTES = 64 * 1024**2


@dataclass(slots=True, kw_only=True)
class PackPlan:
    """The addresses of a pack, pages before files; and how many pages are left out, and why."""

    pages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)
    without_copy: int = 0
    private: int = 0

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses, each once."""
        return (*self.pages, *self.files)


class PackContents:
    """Reads what is packed from the stores. For one event loop."""

    def __init__(self, collection: Collection, responses: ResponseStore, topics: TopicStore | None) -> None:
        self._collection, self._responses, self._topics = collection, responses, topics
        self._packs = PackStore(collection.database)

    async def plan(self, addresses: tuple[str, ...]) -> PackPlan:
        """What of these pages can be packed, with their files."""
        plan = PackPlan()
        pages, files = dict[str, None](), dict[str, None]()
        for url in addresses:
            if not is_shareable(url):
                plan.private += 1
                continue
            copy = await asyncio.to_thread(self._collection.copy, url)
            if copy is None:
                plan.without_copy += 1
                continue
            pages[url] = None
            held = await asyncio.to_thread(self._collection.get, url)
            plan.languages[held.language if held else ""] += 1
            for part in await asyncio.to_thread(parts_of, _page(copy), limit=_PARTS, max_bytes=_PAGE_BYTES):
                normal = urls.normal(part)
                if normal not in files and await self._stored(normal) is not None:
                    files[normal] = None
        plan.pages = list(pages)
        plan.files = [url for url in files if url not in pages]
        return plan

    def topics_of(self, plan: PackPlan) -> tuple[Topic, ...]:
        """The topics of the pages, without seeds that others may not have."""
        if self._topics is None:
            return ()
        names = {found.topic for url in plan.pages for found in self._topics.topics_of(url)}
        topics = (topic for topic in self._topics.list() if topic.name in names)
        return tuple(replace(topic, seeds=tuple(filter(is_shareable, topic.seeds))) for topic in topics)

    async def item(self, url: str, *, is_page: bool) -> PackItem | None:
        """A page or file; None when it was removed meanwhile."""
        if is_page:
            return await asyncio.to_thread(self._page_item, url)
        stored = await self._stored(url)
        if stored is None or not isinstance(stored.body, bytes):
            return None
        fetched_at = datetime.fromtimestamp(stored.received_at, UTC)
        return PackItem(
            url=url,
            content_type=_content_type(stored),
            body=stored.body,
            fetched_at=fetched_at if stored.pinned else day_of(fetched_at),
        )

    def _page_item(self, url: str) -> PackItem | None:
        copy, held = self._collection.copy(url), self._collection.get(url)
        if copy is None or held is None:
            return None
        links = self._collection.outlinks(url)
        topics = self._topics.topics_of(url) if self._topics is not None else ()
        return PackItem(
            url=url,
            content_type=copy.content_type,
            body=copy.body,
            fetched_at=copy.fetched_at,
            title=held.title,
            language=held.language,
            is_page=True,
            links=tuple(link for link in links if is_shareable(link.target_url)),
            topics=tuple((found.topic, found.probability) for found in topics),
            origin=self._packs.of(url),
        )

    async def _stored(self, url: str) -> StoredResponse | None:
        """The response of the cache that may be packed as a file of a page."""
        if not is_shareable(url):
            return None
        return next(filter(_is_for_all, await self._responses.lookup(url)), None)


def _is_for_all(stored: StoredResponse) -> bool:
    """Whether a response is the same for everyone, small enough, and not coded."""
    names = {name.lower() for name, _ in stored.headers}
    if stored.status != 200 or stored.vary or names & {"content-encoding", "set-cookie"}:
        return False
    request = CacheRequest(method="GET", url="http://packed.invalid/", headers=())
    verdict = may_harvest(request, stored.headers, status=200, seen_without_cookie=True)
    return verdict.allowed and isinstance(stored.body, bytes) and len(stored.body) <= _PART_BYTES


def _content_type(stored: StoredResponse) -> str:
    found = (value for name, value in stored.headers if name.lower() == "content-type")
    return next(found, "application/octet-stream")


def _page(copy: HeldCopy) -> Page:
    headers = (("Content-Type", copy.content_type),)
    return Page(url=copy.url, status=200, headers=headers, body=copy.body, fetched_at=copy.fetched_at)
