"""Look into a memento: the page as it was archived, archived redirects followed inside the archive.

A memento is proven by Memento-Datetime alone (RFC 7089, 2.1.1): an archived 404 has it, "not archived" has not.
"""

import asyncio
import logging
from datetime import datetime
from functools import partial

from repair import urls
from repair.memento.archives import Archive, archived
from repair.memento.asking import Asker, Limited, Question
from repair.memento.datetimes import http_date
from repair.memento.door import NoAnswer, TooLarge
from repair.memento.memory import Memory
from repair.memento.model import Memento, Outcome
from repair.memento.remembered import Seen
from repair.model import Page
from repair.settings import ArchivesSettings

log = logging.getLogger(__name__)

_TOLD = frozenset(("content-type", "content-encoding", "content-language"))


class Looker:
    """Fetches the pages of mementos, each once."""

    def __init__(self, settings: ArchivesSettings, asker: Asker, memory: Memory) -> None:
        self._settings = settings
        self._asker = asker
        self._memory = memory

    async def remembered(self, memento: Memento) -> Seen | None:
        """What a memento led to when somebody looked before."""
        return await self._memory.ask(partial(self._memory.remembered.page, memento.url), None)

    async def look(self, archive: Archive, memento: Memento) -> Seen | None:
        """What a memento leads to; None when the archive does not show it. It never raises."""
        seen = await self.remembered(memento)
        if seen is not None:
            return seen
        question = self._asker.question(archive)
        try:
            async with asyncio.timeout_at(question.until):
                seen = await self._followed(question, memento)
        except TimeoutError:
            await self._asker.note(archive, Outcome.LATE)
        except TooLarge:
            log.debug("too large to look into: %s", memento.url)
        except NoAnswer:
            await self._asker.note(archive, Outcome.BROKEN)
        except Limited as error:
            log.debug("not looked into: %s: %s", memento.url, error)
        else:
            await self._asker.note(archive, Outcome.ANSWERED)
            if seen is not None:
                await self._memory.ask(partial(self._memory.remembered.keep_page, memento.url, seen), None)
        return seen

    async def _followed(self, question: Question, memento: Memento) -> Seen | None:
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
                new = _redirected(archive, target, original, location)
                step = archive.memento_of(new, at, memento.url) if new else None
                if new is None or step is None:
                    return None
                moves += [(original, new)] if new != original else []
                where, original = _raw(archive, memento, step, new), new
            elif at is not None:
                return Seen(page=_as_archived(page, original, at), moves=tuple(moves))
            elif target is not None and archive.owns(target):
                where = target  # the archive leads to the capture nearest to the moment asked for
            else:
                where = memento.url  # it knows no raw pages: as it shows them
        return None


def _redirected(archive: Archive, target: str, original: str, location: str) -> str | None:
    """Where an archived redirect led; archives keep the address as it was, or rewrite it to one of their own."""
    inside = archived(target) if archive.owns(target) else None
    new = inside[1] if inside else urls.resolve(original, location)
    try:
        return urls.normal(new) if new else None
    except ValueError:
        return None


def _raw(archive: Archive, memento: Memento, where: str, original: str) -> str:
    split = archived(where)
    step = Memento(
        url=where, at=split[0] if split else memento.at, archive=memento.archive, original=original
    )
    return archive.raw_url(step) or where


def _as_archived(page: Page, original: str, at: datetime) -> Page:
    """The page as if it had been fetched then, so that nothing takes it for a page of the archive."""
    told = tuple((name, value) for name, value in page.headers if name.lower() in _TOLD)
    return Page(url=original, status=page.status, headers=told, body=page.body, fetched_at=at)
