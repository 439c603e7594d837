"""One archive, one question: all it lists of a URL, with leave to ask taken before and its health noted after."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from repair import urls
from repair.memento.archives import Archive, archived
from repair.memento.datetimes import as_http_date, http_date
from repair.memento.door import Door, NoAnswer, text_of
from repair.memento.limits import retry_after
from repair.memento.links import weblinks
from repair.memento.memory import Memory
from repair.memento.model import Answer, Memento, Outcome
from repair.memento.timemaps import Capture, Listing, listing
from repair.model import Page
from repair.settings import ArchivesSettings

MAX_PAGES = 8
"""Parts of a paged TimeMap that are asked for, the latest first."""
MAX_LIST_BYTES = 4 * 1024**2
_UNPACKED = 4  # times as large a list may be once unpacked
_LEAST_WAIT_S = 0.05
_NOTHING = frozenset((404, 410, 451))


class Limited(Exception):
    """An archive may not be asked now: it rests, or our pace does not allow it."""


class Unwilling(NoAnswer):
    """An archive does not speak of this address, to us or to anybody; that is no sign that it is ill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to an archive, which may take several requests, and until when (loop time) it must be over."""

    archive: Archive
    until: float


class Asker:
    """Asks archives; every request goes through `get`, so that no archive is asked more than it bears."""

    def __init__(
        self, settings: ArchivesSettings, door: Door, memory: Memory, clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._door = door
        self._memory = memory
        self._clock = clock

    async def ask(self, archive: Archive, url: str) -> Answer:
        """What an archive lists of a URL; it never raises, and takes no longer than the deadline of one archive."""
        question = self.question(archive)
        mementos: tuple[Memento, ...] = ()
        note = ""
        try:
            async with asyncio.timeout_at(question.until):
                mementos = await self._mementos(question, url)
            outcome = fared = Outcome.ANSWERED if mementos else Outcome.NOTHING
        except TimeoutError:
            outcome = fared = Outcome.LATE
            note = f"nothing in {self._settings.archive_deadline_s:g} s"
        except Limited as error:
            outcome, fared, note = Outcome.LIMITED, Outcome.LIMITED, str(error)
        except Unwilling as error:
            outcome, fared, note = Outcome.BROKEN, Outcome.ANSWERED, str(error)
        except NoAnswer as error:
            outcome, fared, note = Outcome.BROKEN, Outcome.BROKEN, str(error)
        await self.note(archive, fared)
        return Answer(
            archive=archive.name, outcome=outcome, said_at=self._now(), mementos=mementos, note=note
        )

    def question(self, archive: Archive) -> Question:
        """A question that begins now."""
        until = asyncio.get_running_loop().time() + self._settings.archive_deadline_s
        return Question(archive=archive, until=until)

    async def get(
        self,
        question: Question,
        url: str,
        *,
        kind: str,
        max_bytes: int,
        headers: dict[str, str] | None = None,
    ) -> Page:
        """One request, as soon as the archive may be asked; NoAnswer for server errors, Limited when it wants rest.

        `kind` is "list" or "page": archives bear fewer questions to their indexes than requests for pages.
        """
        archive = question.archive
        await self._turn(question, kind)
        page = await self._door.get(archive, url, max_bytes=max_bytes, headers=headers)
        # An archived 503 is a page like any other.
        if page.status in (429, 503) and page.header("memento-datetime") is None:
            wait_s = retry_after(page.header("retry-after"), self._now())
            await self._memory.ask(partial(self._memory.turns.refused, archive.name, wait_s), None)
            raise Limited(f"it answered {page.status}")
        if page.status >= 500 and page.header("memento-datetime") is None:
            raise NoAnswer(f"it answered {page.status}")
        await self._memory.ask(
            partial(self._memory.turns.trial_over, archive.name, self._settings.archive_deadline_s), None
        )
        return page

    async def note(self, archive: Archive, outcome: Outcome) -> None:
        """Note how an archive fared, once a question is over; a refusal was noted when it came."""
        turns = self._memory.turns
        if outcome in (Outcome.LATE, Outcome.BROKEN):
            await self._memory.ask(partial(turns.failed, archive.name), None)
        elif outcome in (Outcome.ANSWERED, Outcome.NOTHING):
            await self._memory.ask(partial(turns.succeeded, archive.name), None)

    async def _turn(self, question: Question, kind: str) -> None:
        """Wait until the archive may be asked; Limited when it rests, and when that would take too long.

        To wait for our own pace until the question is late would count as the archive's failure.
        """
        per_minute = self._settings.lists_per_minute if kind == "list" else self._settings.pages_per_minute
        take = partial(
            self._memory.turns.take,
            question.archive.name,
            kind,
            per_minute,
            trial_s=self._settings.archive_deadline_s,
        )
        while (wait_s := await self._memory.ask(take, None)) != 0.0:
            if wait_s is None:
                raise Limited("it is left alone for a while")
            if asyncio.get_running_loop().time() + wait_s >= question.until:
                raise Limited("asked often enough for now")
            await asyncio.sleep(max(_LEAST_WAIT_S, wait_s))

    async def _mementos(self, question: Question, url: str) -> tuple[Memento, ...]:
        """The answer to the first question that gets one."""
        complaint = NoAnswer("nothing to ask")
        for kind, template in question.archive.questions:
            asked = question.archive.asked(template, url)
            try:
                captures = await (
                    self._through_timegate(question, asked)
                    if kind == "timegate"
                    else self._listed(question, asked)
                )
            except NoAnswer as error:
                complaint = error
                continue
            return await asyncio.to_thread(question.archive.mementos, url, captures)
        raise complaint

    async def _listed(self, question: Question, asked: str) -> tuple[Capture, ...]:
        """All captures of a list and its further parts; parts that fail are left out once there is something."""
        captures: list[Capture] = []
        waiting, seen = [asked], set[str]()
        while waiting and len(seen) < MAX_PAGES and len(captures) < self._settings.max_mementos:
            part = waiting.pop(0)
            if part in seen:
                continue
            seen.add(part)
            try:
                found = await self._list(question, part)
            except (NoAnswer, Limited):
                if not captures:
                    raise
                break
            captures += found.captures
            resolved = (urls.resolve(part, page) for page in found.pages)
            waiting += [page for page in resolved if page and question.archive.owns(page)]
        return tuple(captures[: self._settings.max_mementos])

    async def _list(self, question: Question, asked: str) -> Listing:
        page = await self._behind_redirects(question, asked)
        if page.status in _NOTHING:
            return Listing()
        if page.status != 200:
            raise (Unwilling if page.status >= 400 else NoAnswer)(f"it answered {page.status}")
        # Megabytes of lines take a moment, which the event loop does not have.
        found = await asyncio.to_thread(_read, page, self._settings.max_mementos)
        if found is None:
            raise NoAnswer("what it sent is no list of captures")
        return found

    async def _behind_redirects(self, question: Question, asked: str) -> Page:
        for _ in range(self._settings.max_redirects + 1):
            page = await self.get(question, asked, kind="list", max_bytes=MAX_LIST_BYTES)
            location = page.header("location")
            target = urls.resolve(asked, location) if location and 300 <= page.status <= 399 else None
            if target is None:
                return page
            asked = target
        raise NoAnswer("it redirects for ever")

    async def _through_timegate(self, question: Question, asked: str) -> tuple[Capture, ...]:
        """The captures that a TimeGate names: the one it leads to and those of its Link header."""
        headers = {"Accept-Datetime": as_http_date(self._now())}
        page = await self.get(
            question, asked, kind="list", max_bytes=self._settings.max_page_bytes, headers=headers
        )
        if page.status in _NOTHING:
            return ()
        links = page.header("link") or ""
        named = _timemap(links)
        timemap = urls.resolve(asked, named) if named else None
        if timemap and question.archive.owns(timemap):
            return await self._listed(question, timemap)
        found = listing(links, limit=self._settings.max_mementos) or Listing()
        captures = (*_led_to(page, asked), *found.captures)
        if not captures:
            raise NoAnswer(f"it answered {page.status} without a memento")
        return captures

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def standing_in(answer: Answer, earlier: Answer | None) -> Answer:
    """An answer that failed, with the mementos of an earlier one in its place; a good answer stays as it is."""
    if earlier is None or answer.outcome in (Outcome.ANSWERED, Outcome.NOTHING):
        return answer
    note = f"{answer.note}; as of {earlier.said_at:%Y-%m-%d}"
    return replace(answer, mementos=earlier.mementos, note=note)


def _read(page: Page, limit: int) -> Listing | None:
    return listing(text_of(page, _UNPACKED * MAX_LIST_BYTES), limit=limit)


def _timemap(links: str) -> str:
    """The TimeMap that a Link header names, "" when it names none."""
    maps = (link for link in weblinks(links) if "timemap" in link.rels)
    return next((link.target for link in maps if "json" not in link.parameters.get("type", "")), "")


def _led_to(page: Page, asked: str) -> tuple[Capture, ...]:
    """The memento that a TimeGate leads to: behind a redirect, or the answer itself."""
    location = page.header("location") or page.header("content-location")
    led = urls.resolve(asked, location) if location else None
    named = archived(led) if led else None
    at = http_date(page.header("memento-datetime") or "") or (named[0] if named else None)
    return (Capture(at=at, url=led),) if led and at else ()
