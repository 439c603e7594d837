"""Fetches what a page needs offline: its pictures, style sheets and scripts."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from proxy.fetching.entries import FetchFailure
from proxy.fetching.fetcher import FetchedPage, Fetcher
from proxy.fetching.saving import FetchedPageSaver
from proxy.fetching.subresources import parts_of
from proxy.settings import FetchSettings
from repair.fetch import FetchLimits

_PART_BYTES = 2 * 1024**2
_PARTS_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedParts:
    """How many parts could not be had, and how many bytes the others took."""

    missing: int
    received: int


async def fetch_parts(
    fetched: FetchedPage, fetcher: Fetcher, saver: FetchedPageSaver, settings: FetchSettings
) -> FetchedParts:
    """Fetch the parts of a page that are not saved yet, as long as that is quick."""
    wanted = await asyncio.to_thread(
        parts_of, fetched.page, limit=settings.parts, max_bytes=settings.max_bytes
    )
    limits = FetchLimits(max_bytes=min(_PART_BYTES, settings.max_bytes), timeout_s=settings.timeout_s)
    had = received = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_PARTS_S):
            for url in wanted:
                with suppress(FetchFailure):
                    if not await saver.holds(url):
                        part = await fetcher.fetch_part(url, of_page=fetched.page.url, limits=limits)
                        received += len(part.body)
                        await saver.keep_part(part)
                    had += 1
    return FetchedParts(missing=len(wanted) - had, received=received)
