"""What the desk tells of the collection: figures over all of it, and all that is known of one page. Blocking parts
run in threads."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from proxy.desk.frame import Desk
from repair import urls
from repair.census import Census, Facts
from repair.collection import CollectionStats
from repair.model import HeldPage, InLink, Link
from repair.versions import HeldVersions

GROWTH_DAYS = 90
_LINKS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """Figures over all; `days` are the last ninety on which pages came (YYYY-MM-DD), oldest first."""

    stats: CollectionStats
    collection_bytes: int
    responses: int
    response_bytes: int
    languages: tuple[tuple[str, int], ...]
    days: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """One address: the page held there, if one is, and what else is known of it."""

    url: str
    page: HeldPage | None
    facts: Facts | None
    links_in: tuple[InLink, ...]
    links_out: tuple[Link, ...]
    same: tuple[str, ...]
    versions: HeldVersions | None
    responses: int


class Holder:
    """Reads figures off the stores."""

    def __init__(self, desk: Desk) -> None:
        self._collection = desk.collection
        self._responses = desk.responses
        self._folder = desk.data / "collection"
        self.census = Census(desk.collection.database)

    async def all(self, now: datetime) -> Holdings:
        """`now` is in the school's own time. Raises StoreError or RepairError when a disk fails."""
        offset = int((now.utcoffset() or timedelta()).total_seconds())
        stats, languages, days, size = await asyncio.to_thread(self._counted, offset, now)
        return Holdings(
            stats=stats,
            collection_bytes=size,
            responses=await self._responses.count(),
            response_bytes=await self._responses.volume(),
            languages=languages,
            days=days,
        )

    async def about(self, url: str) -> About | None:
        """None when that is no web address."""
        if not urls.is_web_url(url):
            return None
        normal = urls.normal(url)
        responses = len(await self._responses.lookup(normal))
        return await asyncio.to_thread(self._known, normal, responses)

    def _counted(
        self, offset_s: int, now: datetime
    ) -> tuple[CollectionStats, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], int]:
        since = now - timedelta(days=GROWTH_DAYS)
        return (
            self._collection.stats(),
            self.census.languages(),
            self.census.days(offset_s, since),
            _volume(self._folder),
        )

    def _known(self, url: str, responses: int) -> About:
        number = self._collection.page_number(url)
        same = self._collection.same(number) if number is not None else ()
        return About(
            url=url,
            page=self._collection.get(url),
            facts=self.census.facts(url),
            links_in=self._collection.inlinks(url, _LINKS),
            links_out=self._collection.outlinks(url)[:_LINKS],
            same=tuple(other for other in same if other != url)[:_LINKS],
            versions=self._collection.versions(url),
            responses=responses,
        )


def _volume(folder: Path) -> int:
    """Bytes of all files in a folder; what goes while we look does not count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
