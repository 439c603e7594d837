"""Lessons from the upload to the lesson page: reads worksheets and pages, has their links checked (checks.py here),
takes replacements, and keeps pages for offline use.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.entries import FetchEntry, NotQueuedError
from proxy.fetching.hostturns import HostTurns
from proxy.fetching.politeness import HostSlots
from proxy.fetching.queue import FetchQueue, queueable_url
from proxy.fetching.service import parent_of
from proxy.http.client import HttpClient
from proxy.http.guard import ConnectGuard
from proxy.lessons.checker import LinkChecker
from proxy.lessons.checks import LessonChecks, LessonRepairs, SavedCopies
from proxy.lessons.errors import WorksheetError
from proxy.lessons.fixes import Fixes
from proxy.lessons.links import lesson_links, links_of
from proxy.lessons.model import (
    BROKEN,
    CheckState,
    Lesson,
    LessonLink,
    LinkFinding,
    Proposal,
)
from proxy.lessons.store import LESSON_FILE, LessonStore
from proxy.lessons.teacherstore import TeacherStore
from proxy.reach.policy import ReachPolicy
from proxy.rules.ruleset import RuleSet
from proxy.settings import Settings
from repair.collection.pins import Pins, same_page_key
from repair.errors import FileTooCostly
from repair.fetch import FetchError
from repair.parse.formats.extraction import ExtractedLink, Refusal
from repair.parse.formats.reader import FileReader
from repair.parse.formats.worksheets.model import (
    RewrittenWorksheet,
    WorksheetContent,
    WorksheetFormat,
    WorksheetJob,
)
from repair.soft404.detector import Soft404Detector

log = logging.getLogger(__name__)

PURPOSE = "checks the links of a lesson for a teacher"
_MAX_TITLE = 120
_WHY = "for a lesson"


class LessonService:
    """Everything about lessons in the backend. For one event loop."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Callable[[], Settings],
        reach: Callable[[], ReachPolicy],
        rules: Callable[[], RuleSet],
        tls: ssl.SSLContext | bool,
        detector: Soft404Detector,
        connectivity: Connectivity,
        repairs: LessonRepairs,
        saved: SavedCopies,
        fetches: FetchQueue,
        turns: Path,
        teachers: TeacherStore,
        pins: Pins,
    ) -> None:
        """`turns` is the folder in which all that fetches takes turns at hosts. Raises StoreError."""
        self.store = LessonStore(folder / LESSON_FILE)
        self.teachers = teachers
        self.fixes = Fixes(teachers, pins)
        self._settings = settings
        self._fetches = fetches
        self._client = HttpClient(
            ConnectGuard(reach),
            purpose=PURPOSE,
            parent=lambda: parent_of(settings()),
            tls=tls,
            keep_alive=False,
        )
        self._checker = LinkChecker(
            self._client,
            HostSlots(turns=HostTurns(turns)),
            detector,
            connectivity,
            rules=rules,
            settings=settings,
            behind_parent=lambda: bool(parent_of(settings())),
        )
        self._reader = FileReader()
        self.checks = LessonChecks(
            self.store, self._checker, repairs=repairs, saved=saved, at_once=settings().teach.at_once
        )

    async def start(self) -> None:
        """Go on with what a restart interrupted."""
        for lesson in await asyncio.to_thread(self.store.unfinished):
            self.checks.begin(lesson)

    async def close(self) -> None:
        await self.checks.close()
        await self._client.close()
        await asyncio.to_thread(self._reader.close)
        self.store.close()

    async def check_worksheet(
        self, owner: str, title: str, format_: WorksheetFormat, data: bytes, *, file_name: str = ""
    ) -> Lesson:
        """A new lesson of a document's links, whose check begins. Raises WorksheetError."""
        content = await self._run(WorksheetJob(format=format_, data=data))
        if not isinstance(content, WorksheetContent):
            raise WorksheetError("unreadable")
        return await self._begin(
            owner,
            title or content.title or file_name,
            format_,
            content.links,
            file_name=file_name,
            document=data,
        )

    async def check_page(self, owner: str, title: str, address: str) -> Lesson:
        """A new lesson of a page's links. Raises WorksheetError."""
        try:
            page = await self._checker.fetch_page(queueable_url(address))
        except NotQueuedError as error:
            raise WorksheetError("no_address") from error
        except FetchError as error:
            raise WorksheetError("no_page") from error
        if page.status != 200:
            raise WorksheetError("no_page")
        name, links = await asyncio.to_thread(links_of, page, self._settings().teach.max_page_bytes)
        return await self._begin(owner, title or name or address, WorksheetFormat.TEXT, links)

    async def watch_page(self, owner: str, address: str) -> Lesson:
        """Check a page of the owner's from now on, every night. Raises WorksheetError."""
        mine = await asyncio.to_thread(self.store.of, owner, watched=True)
        try:
            url = queueable_url(address)
        except NotQueuedError as error:
            raise WorksheetError("no_address") from error
        known = [each for each in mine if same_page_key(each.page) == same_page_key(url)]
        if known:
            return known[0]
        if len(mine) >= self._settings().teach.pages:
            raise WorksheetError("too_many_pages")
        lesson = await self.check_page(owner, "", url)
        await asyncio.to_thread(self.store.watch, lesson.id, url)
        return lesson

    async def refresh(self, lesson: Lesson) -> None:
        """Read a page that is watched anew, and check its links; what the owner took and kept stays."""
        limit = self._settings().teach.max_links
        try:
            page = await self._checker.fetch_page(lesson.page)
            if page.status != 200:
                raise FetchError(f"status {page.status}")
            _, found = await asyncio.to_thread(links_of, page, self._settings().teach.max_page_bytes)
        except FetchError:
            await asyncio.to_thread(self.store.renew, lesson.id, None, fault="no_page")
            return
        before = {link.url: link for link in await asyncio.to_thread(self.store.links, lesson.id)}
        fresh = [
            replace(
                link,
                taken=old.taken,
                wish=old.wish,
                asked=old.asked,
                fix=old.fix,
                replacements=old.replacements,
            )
            if (old := before.get(link.url)) is not None
            else link
            for link in lesson_links(found, limit)
        ]
        await asyncio.to_thread(self.store.renew, lesson.id, fresh)
        self.checks.begin(lesson.id)

    async def fix_for_all(self, lesson: int, number: int, target: str, by: str) -> Proposal | None:
        """Propose a replacement for everybody; None when the link is not dead. Raises WorksheetError."""
        link = await self._link(lesson, number)
        if link is None or link.found.state not in BROKEN:
            return None
        try:
            target = queueable_url(target)
        except NotQueuedError as error:
            raise WorksheetError("no_address") from error
        at_once = self._settings().teach.fix_at_once
        made = await asyncio.to_thread(self.fixes.propose, link.url, target, by, at_once=at_once)
        await asyncio.to_thread(self.store.change, lesson, number, lambda each: replace(each, fix=made.id))
        return made

    async def take_fix_back(self, lesson: int, number: int, by: str) -> None:
        """Undo `fix_for_all`. Raises WorksheetError when a reviewer has approved it: then it is for them to undo."""
        link = await self._link(lesson, number)
        if link is not None and link.fix:
            await asyncio.to_thread(self.fixes.take_back, link.fix, by)
            await asyncio.to_thread(self.store.change, lesson, number, lambda each: replace(each, fix=0))

    async def fixes_of(self, links: Iterable[LessonLink], by: str) -> dict[int, Proposal]:
        """The proposals that an account made for these links, by number of the link."""
        numbers = [(link.number, link.fix) for link in links if link.fix]

        def find() -> dict[int, Proposal]:
            found = ((number, self.teachers.proposal(fix)) for number, fix in numbers)
            return {number: each for number, each in found if each is not None and each.by == by}

        return await asyncio.to_thread(find)

    async def _link(self, lesson: int, number: int) -> LessonLink | None:
        links = await asyncio.to_thread(self.store.links, lesson)
        return next((link for link in links if link.number == number), None)

    async def _begin(
        self,
        owner: str,
        title: str,
        format_: WorksheetFormat,
        links: Iterable[ExtractedLink],
        *,
        file_name: str = "",
        document: bytes = b"",
    ) -> Lesson:
        settings = self._settings().teach
        made = lesson_links(links, settings.max_links)
        if not made:
            raise WorksheetError("no_links")
        lesson = await asyncio.to_thread(
            self.store.add,
            owner,
            " ".join(title.split())[:_MAX_TITLE],
            format_,
            made,
            file_name=file_name,
            document=document,
            keep=settings.lessons,
        )
        self.checks.begin(lesson.id)
        return lesson

    async def corrected(self, lesson: Lesson) -> bytes:
        """The document with the replacements that were taken, and nothing else changed. Raises WorksheetError."""
        links = await asyncio.to_thread(self.store.links, lesson.id)
        data = await asyncio.to_thread(self.store.document, lesson.id)
        taken = {link.written: link.taken for link in links if link.taken}
        if not taken:
            return data
        fixed = await self._run(WorksheetJob(format=lesson.format, data=data, replacements=taken))
        if not isinstance(fixed, RewrittenWorksheet):
            raise WorksheetError("unreadable")
        return fixed.data

    async def take(self, lesson: int, number: int, url: str) -> None:
        """Use another address instead, offered or the teacher's own; "" for none. Raises WorksheetError."""
        if url:
            try:
                url = queueable_url(url)
            except NotQueuedError as error:
                raise WorksheetError("no_address") from error
        await asyncio.to_thread(
            self.store.change, lesson, number, lambda link: replace(link, taken=url, wish="")
        )

    async def keep(self, lesson: int, number: int, when: Literal["now", "night"]) -> None:
        """Fetch what a link leads to, with its pictures, for offline use. Raises WorksheetError."""
        links = {link.number: link for link in await asyncio.to_thread(self.store.links, lesson)}
        if number not in links:
            return
        try:
            await asyncio.to_thread(self._fetches.add, links[number].target, when=when, why=_WHY)
        except NotQueuedError as error:
            raise WorksheetError("not_queued") from error
        await asyncio.to_thread(self.store.change, lesson, number, lambda link: replace(link, wish=when))

    async def ask_to_unblock(self, lesson: int, number: int, by: str) -> None:
        """Ask the admin to unblock a link. Raises WorksheetError when too many requests wait."""
        links = {link.number: link for link in await asyncio.to_thread(self.store.links, lesson)}
        link = links.get(number)
        if link is None or link.found.state is not CheckState.BLOCKED:
            return
        if not await asyncio.to_thread(self.store.ask_to_unblock, link.url, link.found.rule, by):
            raise WorksheetError("too_many")
        await asyncio.to_thread(self.store.change, lesson, number, lambda each: replace(each, asked=True))

    async def check_again(self, lesson: int) -> None:
        """Check all links of a lesson anew; what was taken and kept stays."""
        for link in await asyncio.to_thread(self.store.links, lesson):
            await asyncio.to_thread(
                self.store.change,
                lesson,
                link.number,
                lambda each: replace(each, found=LinkFinding(state=CheckState.WAITING)),
            )
        self.checks.begin(lesson)

    async def queue_entries(self, links: Iterable[LessonLink]) -> dict[int, FetchEntry]:
        """The entries of the fetch queue for those links that the teacher wants to keep, by number."""
        wanted = [(link.number, link.target) for link in links if link.wish]

        def find() -> dict[int, FetchEntry]:
            found = ((number, self._fetches.find(url)) for number, url in wanted)
            return {number: entry for number, entry in found if entry is not None}

        return await asyncio.to_thread(find)

    async def _run(self, job: WorksheetJob) -> WorksheetContent | RewrittenWorksheet:
        try:
            found = await asyncio.to_thread(self._reader.run, job)
        except (FileTooCostly, OSError) as error:
            raise WorksheetError("unreadable") from error
        if isinstance(found, Refusal):
            log.info("lesson: a worksheet was not readable: %s", found.reason)
            raise WorksheetError("unreadable")
        return found
