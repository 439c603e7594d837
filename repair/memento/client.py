"""The client of web archives: what all of them have of a URL, and the page that was lost.

Answers come in the order in which archives give them, and none is waited for longer than it may take. What comes too
late for this reader is finished behind the scenes and remembered for the next. `remembered` never asks anybody.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType

from repair import markup, urls
from repair.guard import MayReach, anywhere
from repair.memento.archives import Archive, parse_archives
from repair.memento.asking import Asker, standing_in
from repair.memento.choose import Search, Verdict, preferred, verdict
from repair.memento.door import Door, ParentProxy, private_places
from repair.memento.limits import Health
from repair.memento.looking import Looker
from repair.memento.memory import Memory
from repair.memento.model import Answer, Copy, Memento, Outcome, TimeMap, merged
from repair.memento.reach import is_public_host
from repair.memento.remembered import Seen
from repair.model import Page
from repair.moves import Move
from repair.settings import ArchivesSettings

log = logging.getLogger(__name__)

FILE = "archives.sqlite"
_MAX_UNDER_WAY = 64
_MAX_LINKS = 2_000
_UNPACKED = 4  # times as large a page may be once unpacked


class MementoClient:
    """Asks the archives of the settings; a context manager, on one event loop, over a file that processes share."""

    def __init__(
        self,
        settings: ArchivesSettings,
        folder: Path,
        *,
        is_bad: Callable[[Page], bool] = lambda page: False,
        is_personal: Callable[[str], bool] = lambda url: False,
        on_move: Callable[[Move], None] = lambda move: None,
        offline: bool = False,
        parent: ParentProxy | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
        keep_s: float = float("inf"),
        may_connect: MayReach = anywhere,
    ) -> None:
        """`is_bad` tells pages that only pretend to be there, `is_personal` addresses that nobody may be told.

        `on_move` hears of archived redirects that led to a good page. Without `settings.enabled`, and `offline`,
        nobody is asked. What is older than `keep_s` is forgotten. ValueError for a wrong line in the settings,
        ArchiveMemoryError for a file that is in use by another version.
        """
        self.archives = {archive.name: archive for archive in parse_archives(settings.list)}
        self.offline = offline or not settings.enabled
        self._settings = settings
        self._is_bad, self._is_personal, self._on_move = is_bad, is_personal, on_move
        self._clock = clock
        self._memory = Memory(folder / FILE, max_bytes=settings.max_bytes, clock=clock, keep_s=keep_s)
        self._door = Door(self.archives.values(), parent=parent, tls=tls, may_connect=may_connect)
        self._asker = Asker(settings, self._door, self._memory, clock)
        self._looker = Looker(settings, self._asker, self._memory)
        self._under_way: dict[tuple[str, str], asyncio.Task[Answer]] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "MementoClient":
        self._stack.push_async_callback(self._memory.close)
        await self._stack.enter_async_context(self._door)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()

    async def healths(self) -> dict[str, Health]:
        """How each archive fares, as far as its file can be read."""
        health = self._memory.turns.health
        return {name: await self._memory.ask(partial(health, name), Health()) for name in self.archives}

    async def timemap(self, url: str) -> TimeMap:
        """What all archives have of a URL, with what became of the question to each."""
        return merged(url, [answer async for answer in self.events(url)])

    async def remembered(self, url: str) -> TimeMap:
        """What archives said of a URL before, however long ago; nobody is asked."""
        wanted = self._wanted(url)
        return merged(url, await self._earlier(wanted, stale=True) if wanted else ())

    async def forget(self, url: str) -> None:
        """Forget what archives said of a URL, and the archived pages of it."""
        await self._memory.ask(partial(self._memory.remembered.forget, url), None)

    async def events(self, url: str) -> AsyncIterator[Answer]:
        """The answers of the archives as they come: first what is remembered, last who is late."""
        wanted = self._wanted(url)
        if wanted is None:
            return
        known = await self._earlier(wanted, stale=self.offline)
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
        earlier = {answer.archive: answer for answer in await self._earlier(wanted, stale=True)}
        for name, task in tasks.items():
            if task in waiting:
                late = self._excuse(name, Outcome.LATE, "still being asked")
                yield standing_in(late, earlier.get(name))

    async def best(self, url: str, *, near: datetime | None = None, ask: bool = True) -> Copy | None:
        """The last good memento of a URL, or the good one closest to `near`; None when none is found.

        Without `ask`, only among what is remembered.
        """
        found = await (self.timemap(url) if ask else self.remembered(url))
        return await self.best_of(found, near=near, ask=ask)

    async def best_of(self, found: TimeMap, *, near: datetime | None = None, ask: bool = True) -> Copy | None:
        """The best memento of those already found, as `best` chooses it."""
        search = Search(preferred(found.mementos, near), self._settings.looks)
        good: dict[str, Seen] = {}
        end = time.monotonic() + self._settings.deadline_s
        while time.monotonic() < end and (memento := search.next_look()) is not None:
            seen = await self._seen(memento, ask=ask)
            said = Verdict.UNKNOWN if seen is None else await self._judged(found.url, memento, seen)
            if seen is not None and said is Verdict.GOOD:
                good[memento.url] = seen
            search.note(said)
        chosen = search.found()
        return await self._copy(chosen, good[chosen.url]) if chosen else None

    async def look(self, memento: Memento, *, ask: bool = True) -> Copy | None:
        """What one memento shows, good or not; None when its archive does not show it, or may not be asked."""
        seen = await self._seen(memento, ask=ask)
        return await self._copy(memento, seen) if seen else None

    def _wanted(self, url: str) -> str | None:
        """The address to ask for in its normal form; None for one that nobody may be told, or that is none."""
        try:
            wanted = urls.normal(url)
        except ValueError:
            return None
        return None if self._is_personal(url) or not wanted.isascii() else wanted

    async def _earlier(self, url: str, *, stale: bool) -> tuple[Answer, ...]:
        answers = await self._memory.ask(
            partial(self._memory.remembered.answers, url, stale=stale), tuple[Answer, ...]()
        )
        return tuple(answer for answer in answers if answer.archive in self.archives)

    async def _in_order(self, url: str, *, leaving_out: set[str]) -> list[Archive]:
        """The archives to ask, the most promising first; an address of the school's own network goes to its own."""
        host = urls.parse(url).host
        profile = await self._memory.ask(partial(self._memory.remembered.profile, host), dict[str, float]())
        public = is_public_host(host)
        chosen = [
            archive
            for archive in self.archives.values()
            if archive.name not in leaving_out and (public or private_places(archive))
        ]
        return sorted(chosen, key=lambda archive: -profile.get(archive.name, 0.5))

    def _tasks(self, archives: list[Archive], url: str) -> dict[str, asyncio.Task[Answer]]:
        """One task for each archive; a question that is under way already is not asked twice."""
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

    async def _answer(self, archive: Archive, url: str, slots: asyncio.Semaphore) -> Answer:
        if len(self._under_way) > _MAX_UNDER_WAY:
            return self._excuse(archive.name, Outcome.LIMITED, "too many questions at once")
        async with slots:
            answer = await asyncio.to_thread(self._labelled, await self._asker.ask(archive, url))
        keep_s = {
            Outcome.ANSWERED: self._settings.remember_s,
            Outcome.NOTHING: self._settings.remember_nothing_s,
        }.get(answer.outcome)
        if keep_s is None:
            earlier = {each.archive: each for each in await self._earlier(url, stale=True)}
            log.info("%s: %s for %s: %s", archive.name, answer.outcome, url, answer.note)
            return standing_in(answer, earlier.get(archive.name))
        host = urls.parse(url).host
        await self._memory.ask(
            partial(self._memory.remembered.keep_answer, url, host, answer, for_s=keep_s), None
        )
        return answer

    def _labelled(self, answer: Answer) -> Answer:
        """The answer of an aggregator with each memento under the name of the archive that has it, where we know it.

        So it counts as that archive's when it is asked for the page.
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

    def _excuse(self, archive: str, outcome: Outcome, note: str) -> Answer:
        now = datetime.fromtimestamp(self._clock(), UTC)
        return Answer(archive=archive, outcome=outcome, said_at=now, note=note)

    async def _seen(self, memento: Memento, *, ask: bool) -> Seen | None:
        archive = self.archives.get(memento.archive)
        if archive is None:
            return None
        if self.offline or not ask:
            return await self._looker.remembered(memento)
        return await self._looker.look(archive, memento)

    async def _judged(self, asked: str, memento: Memento, seen: Seen) -> Verdict:
        """The verdict on a page; a move that led to a good one is told, of the address that was asked for only.

        An archive may say what it likes of pages that nobody asked it about, and of what lies between. Nor is it
        believed that a page has moved to another site: nothing but its word would stand for that.
        """
        said = await asyncio.to_thread(verdict, memento.original, seen.page, self._is_bad)
        if said is Verdict.GOOD:
            passed = [new for _, new in seen.moves]
            site = urls.site(asked)
            within_site = all(urls.site(url) == site for url in (memento.original, *passed))
            if passed and within_site and not any(map(self._is_personal, (asked, *passed))):
                self._on_move(Move(old=asked, new=passed[-1], origin="archive"))
        return said

    async def _copy(self, memento: Memento, seen: Seen) -> Copy:
        read = partial(
            markup.document,
            seen.page,
            max_bytes=_UNPACKED * self._settings.max_page_bytes,
            max_links=_MAX_LINKS,
        )
        return Copy(memento=memento, page=seen.page, document=await asyncio.to_thread(read))
