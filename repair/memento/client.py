"""The client of web archives: the mementos of a URL in all archives, and the lost page itself.

Answers are given in the order in which archives send them, each within its deadline. A question that takes too long
for this user goes on in the background, and its answer is stored for the next. `stored_timemap` asks no archive.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType

from repair.fetch import PageFetcher
from repair.memento.archive import Archive, parse_archives
from repair.memento.archivequery import ArchiveQuerier, with_earlier_mementos
from repair.memento.asyncstore import AsyncArchiveStore
from repair.memento.model import ArchiveAnswer, ArchiveOutcome, Memento, MementoCopy, TimeMap, merge_answers
from repair.memento.ratelimits import ArchiveState
from repair.memento.replay import MementoReplay
from repair.memento.selection import MementoSearch, MementoVerdict, order_by_preference, verdict
from repair.memento.store import ReplayedPage
from repair.model import Page
from repair.moves.rules import Move
from repair.parse import htmlpage
from repair.settings import ArchivesSettings
from repair.text import urls
from repair.text.publichosts import is_public_host

log = logging.getLogger(__name__)

FILE = "archives.sqlite"
_MAX_UNDER_WAY = 64
_MAX_LINKS = 2_000
_UNPACKED = 4  # times as large a page may be when decompressed


class MementoClient:
    """Asks the archives of the settings; a context manager, on one event loop, over a file that processes share."""

    def __init__(
        self,
        settings: ArchivesSettings,
        folder: Path,
        fetcher: PageFetcher,
        *,
        is_bad: Callable[[Page], bool] = lambda page: False,
        has_secret: Callable[[str], bool] = lambda url: False,
        on_move: Callable[[Move], None] = lambda move: None,
        offline: bool = False,
        clock: Callable[[], float] = time.time,
        keep_s: float = float("inf"),
    ) -> None:
        """`fetcher` sends the requests, and is closed with the client.

        `is_bad` tells pages that only pretend to be there, `has_secret` addresses that must not be sent to archives.

        `on_move` hears of archived redirects that led to a good page. Without `settings.enabled`, and `offline`,
        no archive is queried. What is older than `keep_s` is forgotten. ValueError for a wrong line in the settings,
        ArchiveMemoryError for a file that is in use by another version.
        """
        self.archives = {archive.name: archive for archive in parse_archives(settings.list)}
        self.offline = offline or not settings.enabled
        self._settings = settings
        self._is_bad, self._has_secret, self._on_move = is_bad, has_secret, on_move
        self._clock = clock
        self._memory = AsyncArchiveStore(
            folder / FILE, max_bytes=settings.max_bytes, clock=clock, keep_s=keep_s
        )
        self._fetcher = fetcher
        self._asker = ArchiveQuerier(settings, fetcher, self._memory, clock)
        self._looker = MementoReplay(settings, self._asker, self._memory)
        self._under_way: dict[tuple[str, str], asyncio.Task[ArchiveAnswer]] = {}

    async def __aenter__(self) -> "MementoClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._fetcher.close()
        finally:
            await self._memory.close()

    async def healths(self) -> dict[str, ArchiveState]:
        """The health of each archive; that of a new one when the file cannot be read."""
        health = self._memory.admission.health
        return {name: await self._memory.ask(partial(health, name), ArchiveState()) for name in self.archives}

    async def timemap(self, url: str) -> TimeMap:
        """The mementos of a URL in all archives, with the answer of each."""
        return merge_answers(url, [answer async for answer in self.events(url)])

    async def stored_timemap(self, url: str) -> TimeMap:
        """The mementos from stored answers, however old; no archive is queried."""
        wanted = self._normalise(url)
        return merge_answers(url, await self._stored_answers(wanted, stale=True) if wanted else ())

    async def forget(self, url: str) -> None:
        """Forget what archives said of a URL, and the archived pages of it."""
        await self._memory.ask(partial(self._memory.remembered.forget, url), None)

    async def events(self, url: str) -> AsyncIterator[ArchiveAnswer]:
        """The answers of the archives as they come: stored ones first, late ones last."""
        wanted = self._normalise(url)
        if wanted is None:
            return
        known = await self._stored_answers(wanted, stale=self.offline)
        for answer in known:
            yield answer
        if self.offline:
            return
        archives = await self._in_order(wanted, leaving_out={answer.archive for answer in known})
        tasks = self._tasks(archives, wanted)
        end = time.monotonic() + self._settings.deadline_s
        waiting = set(tasks.values())
        while waiting and (left_s := end - time.monotonic()) > 0:
            done, waiting = await asyncio.wait(waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
        earlier = {answer.archive: answer for answer in await self._stored_answers(wanted, stale=True)}
        for name, task in tasks.items():
            if task in waiting:
                late = self._failed_answer(name, ArchiveOutcome.LATE, "no answer yet")
                yield with_earlier_mementos(late, earlier.get(name))

    async def best(self, url: str, *, near: datetime | None = None, ask: bool = True) -> MementoCopy | None:
        """The last good memento of a URL, or the good one closest to `near`; None when none is found.

        Without `ask`, only stored answers and pages are used.
        """
        found = await (self.timemap(url) if ask else self.stored_timemap(url))
        return await self.best_of(found, near=near, ask=ask)

    async def best_of(
        self, found: TimeMap, *, near: datetime | None = None, ask: bool = True
    ) -> MementoCopy | None:
        """The best of the mementos already found, chosen as in `best`."""
        search = MementoSearch(order_by_preference(found.mementos, near), self._settings.looks)
        good: dict[str, ReplayedPage] = {}
        end = time.monotonic() + self._settings.deadline_s
        while time.monotonic() < end and (memento := search.next_memento()) is not None:
            seen = await self._replay(memento, ask=ask)
            judgement = (
                MementoVerdict.UNKNOWN if seen is None else await self._judge(found.url, memento, seen)
            )
            if seen is not None and judgement is MementoVerdict.GOOD:
                good[memento.url] = seen
            search.note(judgement)
        chosen = search.best()
        return await self._copy(chosen, good[chosen.url]) if chosen else None

    async def look(self, memento: Memento, *, ask: bool = True) -> MementoCopy | None:
        """The page of one memento, good or not; None when its archive does not show it, or may not be queried."""
        seen = await self._replay(memento, ask=ask)
        return await self._copy(memento, seen) if seen else None

    def _normalise(self, url: str) -> str | None:
        """The address in normal form; None when it is invalid, or personal and thus not for archives."""
        try:
            wanted = urls.normal(url)
        except ValueError:
            return None
        return None if self._has_secret(url) or not wanted.isascii() else wanted

    async def _stored_answers(self, url: str, *, stale: bool) -> tuple[ArchiveAnswer, ...]:
        answers = await self._memory.ask(
            partial(self._memory.remembered.answers, url, stale=stale), tuple[ArchiveAnswer, ...]()
        )
        return tuple(answer for answer in answers if answer.archive in self.archives)

    async def _in_order(self, url: str, *, leaving_out: set[str]) -> list[Archive]:
        """The archives to ask, most promising first; only private ones for addresses of the school's network."""
        host = urls.parse(url).host
        profile = await self._memory.ask(partial(self._memory.remembered.profile, host), dict[str, float]())
        public = is_public_host(host)
        chosen = [
            archive
            for archive in self.archives.values()
            if archive.name not in leaving_out and (public or archive.private_places())
        ]
        return sorted(chosen, key=lambda archive: -profile.get(archive.name, 0.5))

    def _tasks(self, archives: list[Archive], url: str) -> dict[str, asyncio.Task[ArchiveAnswer]]:
        """One task for each archive; a question that is already under way is not asked twice."""
        slots = asyncio.Semaphore(max(1, self._settings.at_once))
        tasks = {}
        for archive in archives:
            key = (archive.name, url)
            task = self._under_way.get(key)
            if task is None:
                task = asyncio.ensure_future(self._answer(archive, url, slots))
                self._under_way[key] = task
                task.add_done_callback(lambda _, key=key: self._under_way.pop(key, None))  # type: ignore[misc]
            tasks[archive.name] = task
        return tasks

    async def _answer(self, archive: Archive, url: str, slots: asyncio.Semaphore) -> ArchiveAnswer:
        if len(self._under_way) > _MAX_UNDER_WAY:
            return self._failed_answer(archive.name, ArchiveOutcome.LIMITED, "too many requests at once")
        async with slots:
            answer = await asyncio.to_thread(self._label_mementos, await self._asker.ask(archive, url))
        keep_s = {
            ArchiveOutcome.ANSWERED: self._settings.remember_s,
            ArchiveOutcome.NOTHING: self._settings.remember_nothing_s,
        }.get(answer.outcome)
        if keep_s is None:
            earlier = {each.archive: each for each in await self._stored_answers(url, stale=True)}
            log.info("%s: %s for %s: %s", archive.name, answer.outcome.words, url, answer.note)
            return with_earlier_mementos(answer, earlier.get(archive.name))
        host = urls.parse(url).host
        await self._memory.ask(
            partial(self._memory.remembered.keep_answer, url, host, answer, for_s=keep_s), None
        )
        return answer

    def _label_mementos(self, answer: ArchiveAnswer) -> ArchiveAnswer:
        """Label each memento of an aggregator's answer with the archive that has it, where we know that archive.

        Fetching the page then counts against that archive's rate limit.
        """
        if not self.archives[answer.archive].aggregator:
            return answer
        mementos = tuple(
            replace(memento, archive=self._owner(memento, answer.archive)) for memento in answer.mementos
        )
        return replace(answer, mementos=mementos)

    def _owner(self, memento: Memento, otherwise: str) -> str:
        archives = (archive for archive in self.archives.values() if not archive.aggregator)
        return next((archive.name for archive in archives if archive.owns(memento.url)), otherwise)

    def _failed_answer(self, archive: str, outcome: ArchiveOutcome, note: str) -> ArchiveAnswer:
        now = datetime.fromtimestamp(self._clock(), UTC)
        return ArchiveAnswer(archive=archive, outcome=outcome, said_at=now, note=note)

    async def _replay(self, memento: Memento, *, ask: bool) -> ReplayedPage | None:
        archive = self.archives.get(memento.archive)
        if archive is None:
            return None
        if self.offline or not ask:
            return await self._looker.stored_page(memento)
        return await self._looker.look(archive, memento)

    async def _judge(self, requested_url: str, memento: Memento, seen: ReplayedPage) -> MementoVerdict:
        """The verdict on a page. Archived redirects from `requested_url` to a good page are reported to `on_move`.

        An archive could claim anything about pages that it was not asked for, and about steps in between. A move to
        another site is not believed either: the archive would be the only evidence for it.
        """
        judgement = await asyncio.to_thread(verdict, memento.original, seen.page, self._is_bad)
        if judgement is MementoVerdict.GOOD:
            passed = [new for _, new in seen.moves]
            site = urls.site(requested_url)
            within_site = all(urls.site(url) == site for url in (memento.original, *passed))
            if passed and within_site and not any(map(self._has_secret, (requested_url, *passed))):
                self._on_move(Move(old=requested_url, new=passed[-1], origin="archive"))
        return judgement

    async def _copy(self, memento: Memento, seen: ReplayedPage) -> MementoCopy:
        read = partial(
            htmlpage.document,
            seen.page,
            max_bytes=_UNPACKED * self._settings.max_page_bytes,
            max_links=_MAX_LINKS,
        )
        return MementoCopy(memento=memento, page=seen.page, document=await asyncio.to_thread(read))
