"""Figures of the collection and everything known about one page, for the admin pages and the API. Blocking parts
run in threads.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from proxy.admin.routing import AdminContext
from repair.collection.collection import CollectionStats
from repair.collection.statistics import CollectionStatistics, PageFacts
from repair.collection.versions import HeldVersions
from repair.model import HeldPage, InLink, Link
from repair.packs.packmodel import PackOrigin
from repair.packs.packstore import PackStore
from repair.text import urls

GROWTH_DAYS = 90
_LINKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOverview:
    """Figures of the whole collection; `days` are the last ninety on which pages came (YYYY-MM-DD), oldest first."""

    stats: CollectionStats
    collection_bytes: int
    responses: int
    response_bytes: int
    languages: tuple[tuple[str, int], ...]
    days: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDetails:
    """One address: the page saved there, if any, and what else is known about it."""

    url: str
    page: HeldPage | None
    facts: PageFacts | None
    links_in: tuple[InLink, ...]
    links_out: tuple[Link, ...]
    same: tuple[str, ...]
    versions: HeldVersions | None
    responses: int
    pack: PackOrigin | None


class AdminCollection:
    """Reads the figures from the stores."""

    def __init__(self, admin: AdminContext) -> None:
        self._collection = admin.collection
        self._responses = admin.responses
        self._folder = admin.data / "collection"
        self.census = CollectionStatistics(admin.collection.database)
        self._packs = PackStore(admin.collection.database)

    async def all(self, now: datetime) -> CollectionOverview:
        """`now` is in local time. Raises StoreError or RepairError when a disk fails."""
        offset = int((now.utcoffset() or timedelta()).total_seconds())
        stats, languages, days, size = await asyncio.to_thread(self._count_all, offset, now)
        return CollectionOverview(
            stats=stats,
            collection_bytes=size,
            responses=await self._responses.count(),
            response_bytes=await self._responses.volume(),
            languages=languages,
            days=days,
        )

    async def about(self, url: str) -> PageDetails | None:
        """None when `url` is not a web address."""
        if not urls.is_web_url(url):
            return None
        normal = urls.normal(url)
        responses = len(await self._responses.lookup(normal))
        return await asyncio.to_thread(self._describe, normal, responses)

    def _count_all(
        self, offset_s: int, now: datetime
    ) -> tuple[CollectionStats, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], int]:
        since = now - timedelta(days=GROWTH_DAYS)
        return (
            self._collection.stats(),
            self.census.languages(),
            self.census.days(offset_s, since),
            _volume(self._folder),
        )

    def _describe(self, url: str, responses: int) -> PageDetails:
        number = self._collection.page_number(url)
        same = self._collection.same(number) if number is not None else ()
        return PageDetails(
            url=url,
            page=self._collection.get(url),
            facts=self.census.facts(url),
            links_in=self._collection.inlinks(url, _LINKS),
            links_out=self._collection.outlinks(url)[:_LINKS],
            same=tuple(other for other in same if other != url)[:_LINKS],
            versions=self._collection.versions(url),
            responses=responses,
            pack=self._packs.of(url),
        )


def _volume(folder: Path) -> int:
    """Bytes of all files in a folder; files that disappear meanwhile do not count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
