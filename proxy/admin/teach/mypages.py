"""The rest of the teachers' pages: my pages, topics to collect, and what pupils looked for."""

import asyncio
import re
from contextlib import suppress
from datetime import datetime

from aiohttp import web
from msgspec import Struct

from proxy.admin.roles import TEACH
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, form, page_request_of, see_other
from proxy.admin.teach.access import TeachAccess, render_teach, texts_for
from proxy.admin.topics.service import AdminTopics, topic_of_form
from proxy.fetching.entries import NotQueuedError
from proxy.lessons.errors import WorksheetError
from proxy.lessons.model import CheckState, Lesson
from proxy.lessons.service import LessonService
from proxy.pages.desktexts import tr
from proxy.pages.display import address, clean
from proxy.sizes import size
from repair.crawling.topics import InvalidTopic, Topic

PAGES, TOPICS, SUGGESTIONS = f"{TEACH}/pages", f"{TEACH}/topics", f"{TEACH}/suggestions"
_MAIL = re.compile(r"[^\s@<>\",;:()\[\]\\]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,200}", re.ASCII)
_MAX_SEEDS = 20
_MAX_WORDS = 50
_DEAD = (CheckState.DEAD, CheckState.SOFT_404)


class WatchedPage(Struct, kw_only=True, frozen=True):
    """A teacher's page as the list shows it."""

    page: Lesson
    dead: int
    waiting: int


def routes(admin: AdminContext, access: TeachAccess) -> list[Route]:
    if admin.lessons is None:
        return []
    pages = MyPages(admin, admin.lessons)
    shown = {PAGES: pages.show, SUGGESTIONS: pages.suggestions}
    changes = {PAGES: pages.add, f"{PAGES}/mail": pages.set_mail, f"{SUGGESTIONS}/done": pages.settle}
    if admin.topics is not None:
        topics = TeacherTopics(admin, admin.lessons, AdminTopics(admin.topics))
        shown[TOPICS] = topics.show
        changes |= {TOPICS: topics.begin, f"{TOPICS}/remove": topics.remove}
    return [
        *(AdminPage(path=path, handler=access.over_https(handler)) for path, handler in shown.items()),
        *(
            AdminPage(path=path, handler=access.over_https(handler), method="POST")
            for path, handler in changes.items()
        ),
    ]


class MyPages:
    """Pages that are checked every night, and what pupils looked for at their dead links."""

    def __init__(self, admin: AdminContext, lessons: LessonService) -> None:
        self._admin, self._lessons = admin, lessons

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._show(request)

    async def _show(self, request: web.Request, *, fault: str = "", status: int = 200) -> web.Response:
        texts, account = texts_for(request), page_request_of(request).account
        mine = await asyncio.to_thread(self._overview, account)
        mail, _ = await asyncio.to_thread(self._lessons.teachers.mail_of, account)
        settings = self._admin.settings()
        return render_teach(
            request,
            "teach/pages.html.jinja",
            title=str(texts("teach.pages")),
            status=status,
            fault=str(texts(f"teach.fault.{fault}")) if fault else "",
            rows=mine,
            dates={
                each.page.id: texts.date(datetime.fromtimestamp(each.page.checked_at).astimezone())
                for each in mine
            },
            mail=mail,
            has_mail=bool(settings.mail.server and settings.mail.sender),
            refresh=3 if any(each.waiting for each in mine) else 0,
            shown_address=address,
            clean=clean,
        )

    def _overview(self, owner: str) -> list[WatchedPage]:
        rows = []
        for page in self._lessons.store.of(owner, watched=True):
            states = [link.found.state for link in self._lessons.store.links(page.id)]
            dead, waiting = sum(map(states.count, _DEAD)), states.count(CheckState.WAITING)
            rows.append(WatchedPage(page=page, dead=dead, waiting=waiting))
        return rows

    async def add(self, request: web.Request) -> web.StreamResponse:
        given = (await form(request)).get("page", "").strip()[:2_000]
        try:
            made = await self._lessons.watch_page(page_request_of(request).account, given)
        except WorksheetError as error:
            return await self._show(request, fault=str(error), status=400)
        page_request_of(request).about = f"page {made.id}"
        return see_other(request, PAGES)

    async def set_mail(self, request: web.Request) -> web.StreamResponse:
        given = (await form(request)).get("mail", "").strip()
        if given and not _MAIL.fullmatch(given):
            return await self._show(request, fault="mail", status=400)
        await asyncio.to_thread(
            self._lessons.teachers.set_mail,
            page_request_of(request).account,
            given,
            texts_for(request).code,
        )
        return see_other(request, PAGES)

    async def suggestions(self, request: web.Request) -> web.StreamResponse:
        account = page_request_of(request).account
        rows = await asyncio.to_thread(self._lessons.teachers.suggestions, account)
        texts = texts_for(request)
        return render_teach(
            request,
            "teach/suggestions.html.jinja",
            title=str(texts("teach.suggestions")),
            rows=rows,
            dates={each.id: texts.date(datetime.fromisoformat(each.day)) for each in rows},
            shown_address=address,
        )

    async def settle(self, request: web.Request) -> web.StreamResponse:
        number = number_of(await form(request))
        page_request_of(request).about = f"suggestion {number}"
        await asyncio.to_thread(self._lessons.teachers.settle, number, page_request_of(request).account)
        return see_other(request, SUGGESTIONS)


class TeacherTopics:
    """Topics that a teacher has pages collected for, within a budget."""

    def __init__(self, admin: AdminContext, lessons: LessonService, topics: AdminTopics) -> None:
        self._admin, self._lessons, self._topics = admin, lessons, topics

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._show(request)

    async def _show(self, request: web.Request, *, fault: str = "", status: int = 200) -> web.Response:
        texts, account = texts_for(request), page_request_of(request).account
        pages, left = await asyncio.to_thread(self._left, account)
        rows = await asyncio.to_thread(self._mine, account)
        return render_teach(
            request,
            "teach/topics.html.jinja",
            title=str(texts("teach.topics")),
            status=status,
            fault=str(texts(f"teach.fault.{fault}")) if fault else "",
            rows=rows,
            pages=pages,
            left=size(left),
            clean=clean,
        )

    async def begin(self, request: web.Request) -> web.StreamResponse:
        fields, account = await form(request), page_request_of(request).account
        try:
            topic = await asyncio.to_thread(self._begin, fields, account)
        except WorksheetError as error:
            return await self._show(request, fault=str(error), status=400)
        page_request_of(request).about = topic.name
        return see_other(request, TOPICS)

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """Remove a topic that this account began; its pages stay saved."""
        name, account = (await form(request)).get("name", ""), page_request_of(request).account
        page_request_of(request).about = clean(name, 100)
        if name in await asyncio.to_thread(self._lessons.teachers.topics_of, account):
            await asyncio.to_thread(self._topics.remove, name, by=account)
        return see_other(request, TOPICS)

    def _left(self, owner: str) -> tuple[int, int]:
        settings = self._admin.settings().teach
        pages, received = self._lessons.teachers.budgeted(owner)
        return max(0, settings.topic_pages - pages), max(0, settings.topic_bytes - received)

    def _mine(self, owner: str) -> list[tuple[str, int]]:
        found = ((name, self._topics.get(name)) for name in self._lessons.teachers.topics_of(owner))
        return [(name, each.overview.pages) for name, each in found if each is not None]

    def _begin(self, fields: dict[str, str], owner: str) -> Topic:
        """Raises WorksheetError."""
        pages, received = self._left(owner)
        if not pages or not received:
            raise WorksheetError("budget")
        try:
            asked = topic_of_form(
                {name: fields.get(name, "") for name in ("name", "words", "seeds", "pages")}
            )
        except InvalidTopic as error:
            raise WorksheetError("topic") from error
        if not (asked.words or asked.seeds) or len(asked.words) > _MAX_WORDS or len(asked.seeds) > _MAX_SEEDS:
            raise WorksheetError("topic")
        if self._topics.store.get(asked.name) is not None:
            raise WorksheetError("topic_exists")
        wanted = min(asked.max_pages, pages)
        share = max(1, received * wanted // pages)
        topic = Topic(
            name=asked.name, words=asked.words, seeds=asked.seeds, max_pages=wanted, max_bytes=share
        )
        try:
            self._topics.put(topic, by=owner)
        except InvalidTopic as error:
            raise WorksheetError("topic") from error
        self._lessons.teachers.begin_topic(owner, topic.name, wanted, share)
        self._fetch_tonight(topic.seeds)
        return topic

    def _fetch_tonight(self, seeds: tuple[str, ...]) -> None:
        """The addresses that the teacher gave come first, whether or not anybody misses a page of the topic."""
        if self._admin.fetches is None:
            return
        for seed in seeds:
            with suppress(NotQueuedError):
                self._admin.fetches.add(seed, when="night", why="for a topic")


def number_of(fields: dict[str, str]) -> int:
    """The number in a form's field `id`. Raises ApiProblem."""
    number = fields.get("id", "")
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise ApiProblem(400, tr("the form names nothing on this page"))
    return int(number)
