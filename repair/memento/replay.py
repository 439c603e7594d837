"""Fetches the page of a memento as it was archived, following archived redirects within the archive.

Only Memento-Datetime proves a memento (RFC 7089, 2.1.1): an archived 404 has it, the answer "not archived" has not.
"""

import asyncio
import logging
from datetime import datetime
from functools import partial

from repair.fetch import FetchError, TooLarge
from repair.memento.archive import Archive, split_memento_url
from repair.memento.archivequery import ArchiveQuerier, ArchiveQuery, ArchiveRateLimited
from repair.memento.asyncstore import AsyncArchiveStore
from repair.memento.datetimes import http_date
from repair.memento.model import ArchiveOutcome, Memento
from repair.memento.store import ReplayedPage
from repair.model import Page
from repair.settings import ArchivesSettings
from repair.text import urls

log = logging.getLogger(__name__)

_KEPT_HEADERS = frozenset(("content-type", "content-encoding", "content-language"))


class MementoReplay:
    """Fetches the pages of mementos, each once."""

    def __init__(self, settings: ArchivesSettings, asker: ArchiveQuerier, memory: AsyncArchiveStore) -> None:
        self._settings = settings
        self._asker = asker
        self._memory = memory

    async def stored_page(self, memento: Memento) -> ReplayedPage | None:
        """The stored page of a memento; None when it was never fetched."""
        return await self._memory.ask(partial(self._memory.remembered.page, memento.url), None)

    async def look(self, archive: Archive, memento: Memento) -> ReplayedPage | None:
        """The page of a memento, stored or fetched; None when the archive does not show it. Never raises."""
        seen = await self.stored_page(memento)
        if seen is not None:
            return seen
        question = self._asker.question(archive)
        try:
            async with asyncio.timeout_at(question.until):
                seen = await self._follow_redirects(question, memento)
        except TimeoutError:
            await self._asker.note(archive, ArchiveOutcome.LATE)
        except TooLarge:
            log.debug("memento too large to inspect: %s", memento.url)
        except FetchError:
            await self._asker.note(archive, ArchiveOutcome.BROKEN)
        except ArchiveRateLimited as error:
            log.debug("memento not inspected: %s: %s", memento.url, error)
        else:
            await self._asker.note(archive, ArchiveOutcome.ANSWERED)
            if seen is not None:
                await self._memory.ask(partial(self._memory.remembered.keep_page, memento.url, seen), None)
        return seen

    async def _follow_redirects(self, question: ArchiveQuery, memento: Memento) -> ReplayedPage | None:
        archive = question.archive
        where, original = archive.raw_url(memento) or memento.url, memento.original
        moves: list[tuple[str, str]] = []
        visited: set[str] = set()
        while where not in visited and len(visited) <= self._settings.max_redirects:
            visited.add(where)
            page = await self._asker.get(
                question, where, kind="page", max_bytes=self._settings.max_page_bytes
            )
            at = http_date(page.header("memento-datetime") or "")
            location = (page.header("location") or "") if 300 <= page.status <= 399 else ""
            target = urls.resolve(where, location) if location else None
            if at is not None and target is not None:
                new = _redirect_target(archive, target, original, location)
                step = archive.memento_of(new, at, memento.url) if new else None
                if new is None or step is None:
                    return None
                moves += [(original, new)] if new != original else []
                where, original = _raw(archive, memento, step, new), new
            elif at is not None:
                return ReplayedPage(page=_as_archived(page, original, at), moves=tuple(moves))
            elif target is not None and archive.owns(target):
                where = target  # the archive redirects to the capture nearest in time
            else:
                where = memento.url  # no raw pages here: take the page as the archive shows it
        return None


def _redirect_target(archive: Archive, target: str, original: str, location: str) -> str | None:
    """The target of an archived redirect; archives keep the original address or rewrite it to one of their own."""
    inside = split_memento_url(target) if archive.owns(target) else None
    new = inside[1] if inside else urls.resolve(original, location)
    try:
        return urls.normal(new) if new else None
    except ValueError:
        return None


def _raw(archive: Archive, memento: Memento, where: str, original: str) -> str:
    split = split_memento_url(where)
    step = Memento(
        url=where, at=split[0] if split else memento.at, archive=memento.archive, original=original
    )
    return archive.raw_url(step) or where


def _as_archived(page: Page, original: str, at: datetime) -> Page:
    """The page as if fetched from its own site at that time, so that it is not taken for a page of the archive."""
    headers = tuple((name, value) for name, value in page.headers if name.lower() in _KEPT_HEADERS)
    return Page(url=original, status=page.status, headers=headers, body=page.body, fetched_at=at)
