"""The teachers' pages: a new check, a lesson with its links, and what can be done about each link.

A teacher sees their own lessons (those of a class code are shared by whoever has it) and nothing of what pupils do.
Nothing needs a script: while links are checked, the page reloads itself.
"""

import asyncio
import re
from collections.abc import Iterable
from datetime import datetime
from urllib.parse import quote

import segno
from aiohttp import web
from markupsafe import Markup

from proxy.admin.gateway import UPLOAD_BYTES, UPLOAD_PATH
from proxy.admin.roles import TEACH
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, page_request_of, see_other
from proxy.admin.teach.access import TeachAccess, render_teach, texts_for
from proxy.lessons.errors import WorksheetError
from proxy.lessons.model import BROKEN, CheckState, Lesson, LessonLink
from proxy.lessons.service import LessonService
from proxy.pages.desktexts import tr
from proxy.pages.display import address, clean, link_target
from proxy.pages.language import Catalogue
from proxy.portal.addresses import PORTAL, copy_path
from proxy.sizes import size
from repair.parse.formats.worksheets.model import FIXABLE, WorksheetFormat

LESSONS = UPLOAD_PATH
_ONE = f"{LESSONS}/{{id}}"
_SHOWN = 100
_GOOD = frozenset({CheckState.WORKS, CheckState.REDIRECTED, CheckState.WAITING})
"""What a teacher need not look at first."""
_MAX_NAME = 120
_FORM_S = 60.0
_MEDIA_TYPES = {
    WorksheetFormat.HTML: "text/html",
    WorksheetFormat.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    WorksheetFormat.ODT: "application/vnd.oasis.opendocument.text",
    WorksheetFormat.PDF: "application/pdf",
    WorksheetFormat.MARKDOWN: "text/markdown",
    WorksheetFormat.TEXT: "text/plain",
}
_SUFFIXES = {
    **{str(each): each for each in WorksheetFormat},
    "htm": WorksheetFormat.HTML,
    "xhtml": WorksheetFormat.HTML,
}
_SUFFIXES |= {"markdown": WorksheetFormat.MARKDOWN}
_BARE = re.compile(r"^(?!https?://)(?=[\w-]+(?:\.[\w-]+)+(?:[/:?#]|\s*$))", re.MULTILINE | re.IGNORECASE)


def routes(admin: AdminContext, access: TeachAccess) -> list[Route]:
    if admin.lessons is None:
        return []
    pages = TeachPages(admin, admin.lessons)
    largest = min(admin.settings().teach.max_upload_bytes, UPLOAD_BYTES)
    shown = {
        TEACH: pages.home,
        _ONE: pages.lesson,
        f"{_ONE}/document": pages.document,
        f"{_ONE}/list": pages.list,
    }
    changes = {
        f"{_ONE}/link": pages.change_link,
        f"{_ONE}/keep": pages.keep_all,
        f"{_ONE}/again": pages.check_again,
        f"{_ONE}/publish": pages.publish,
        f"{_ONE}/withdraw": pages.withdraw,
        f"{_ONE}/remove": pages.remove,
    }
    secured = access.over_https
    return [
        *(AdminPage(path=path, handler=secured(handler)) for path, handler in shown.items()),
        *(AdminPage(path=path, handler=secured(handler), method="POST") for path, handler in changes.items()),
        AdminPage(
            path=LESSONS, handler=secured(pages.add), method="POST", max_body_bytes=largest + 64 * 1024
        ),
        AdminPage(path="/l/{code}", handler=pages.published, open_to_all=True),
    ]


class TeachPages:
    """The pages over the lessons of a data folder."""

    def __init__(self, admin: AdminContext, lessons: LessonService) -> None:
        self._admin = admin
        self._lessons = lessons

    async def home(self, request: web.Request) -> web.StreamResponse:
        return await self._home(request)

    async def _home(self, request: web.Request, *, fault: str = "", status: int = 200) -> web.Response:
        texts = texts_for(request)
        mine = await asyncio.to_thread(self._lessons.store.of, page_request_of(request).account, _SHOWN)
        return render_teach(
            request,
            "teach/home.html.jinja",
            title=str(texts("teach.title")),
            status=status,
            fault=str(texts(f"teach.fault.{fault}")) if fault else "",
            lessons=mine,
            max_links=self._admin.settings().teach.max_links,
            max_size=_isolated(size(self._admin.settings().teach.max_upload_bytes)),
        )

    async def add(self, request: web.Request) -> web.StreamResponse:
        """A new lesson: of a file, of a page's address, or of pasted links, whichever was given first."""
        try:
            async with asyncio.timeout(_FORM_S):
                fields = await request.post()
        except TimeoutError as error:
            raise ApiProblem(408, tr("timed out waiting for the file")) from error
        owner, title = page_request_of(request).account, _text(fields.get("title"))
        file, page, pasted = fields.get("file"), _text(fields.get("page")).strip(), _text(fields.get("links"))
        try:
            if isinstance(file, web.FileField) and file.filename:
                name = clean(file.filename.rpartition("/")[2].rpartition("\\")[2], _MAX_NAME)
                format_ = _SUFFIXES.get(name.rpartition(".")[2].lower())
                if format_ is None:
                    raise WorksheetError("format")
                data = await asyncio.to_thread(file.file.read)
                if len(data) > self._admin.settings().teach.max_upload_bytes:
                    raise WorksheetError("large")
                made = await self._lessons.check_worksheet(owner, title, format_, data, file_name=name)
            elif page:
                made = await self._lessons.check_page(owner, title, page)
            else:
                text = _BARE.sub("https://", pasted).encode("utf-8", "replace")
                made = await self._lessons.check_worksheet(owner, title, WorksheetFormat.TEXT, text)
        except WorksheetError as error:
            return await self._home(request, fault=str(error), status=400)
        page_request_of(request).about = f"lesson {made.id}"
        return see_other(request, _path(made))

    async def lesson(self, request: web.Request) -> web.StreamResponse:
        lesson = await self._mine(request)
        links = await asyncio.to_thread(self._lessons.store.links, lesson.id)
        texts = texts_for(request)
        waiting = sum(link.found.state is CheckState.WAITING for link in links)
        entries = await self._lessons.queue_entries(links)
        held = await self._held_days(links, texts)
        busy = waiting or any(
            entry.state in ("waiting", "fetching") and entry.when == "now" for entry in entries.values()
        )
        return render_teach(
            request,
            "teach/lesson.html.jinja",
            title=clean(lesson.title, 120) or str(texts("teach.lesson")),
            lesson=lesson,
            links=sorted(links, key=lambda link: link.found.state in _GOOD),
            entries=entries,
            held=held,
            waiting=waiting,
            checked=len(links) - waiting,
            refresh=2 if waiting else 5 if busy else 0,
            counts=_counts(links),
            broken=BROKEN,
            fixes=await self._lessons.fixes_of(links, page_request_of(request).account),
            fixable=lesson.format in FIXABLE and bool(lesson.file_name),
            taken=sum(bool(link.taken) for link in links),
            base=_path(lesson),
            short=_short(lesson),
            qr=_qr_code(_short(lesson)) if lesson.code else "",
            shown_address=address,
            clean=clean,
            size=lambda count: _isolated(size(count)),
            reasons={
                code: str(texts(f"reason.{code}"))
                for link in links
                for each in link.replacements
                for code in each.reasons
                if texts.has(f"reason.{code}")
            },
        )

    async def change_link(self, request: web.Request) -> web.StreamResponse:
        """What a teacher wants with one link."""
        lesson = await self._mine(request)
        fields = await request.post()
        number, action = _text(fields.get("number")), _text(fields.get("action"))
        if not (number.isascii() and number.isdigit() and len(number) < 6):
            raise ApiProblem(400, tr("the form names no link of the lesson"))
        notice = ""
        try:
            await self._act(
                lesson, int(number), action, _text(fields.get("url")), page_request_of(request).account
            )
        except WorksheetError as error:
            notice = str(texts_for(request)(f"teach.fault.{error}"))
        page_request_of(request).about = f"lesson {lesson.id}: {clean(action, 20)}"
        return see_other(request, f"{_path(lesson)}#link-{number}", notice=notice)

    async def _act(self, lesson: Lesson, number: int, action: str, url: str, by: str) -> None:
        match action:
            case "take":
                if link_target(url) is None:
                    raise WorksheetError("no_address")
                await self._lessons.take(lesson.id, number, url)
            case "undo":
                await self._lessons.take(lesson.id, number, "")
            case "now" | "night":
                await self._lessons.keep(lesson.id, number, action)
            case "everyone":
                if link_target(url) is None:
                    raise WorksheetError("no_address")
                await self._lessons.fix_for_all(lesson.id, number, url, by)
            case "take-back":
                await self._lessons.take_fix_back(lesson.id, number, by)
            case "unblock":
                await self._lessons.ask_to_unblock(lesson.id, number, by)
            case _:
                raise ApiProblem(400, "no such action")

    async def keep_all(self, request: web.Request) -> web.StreamResponse:
        """Keep every page that works, or that replaces one, for offline use."""
        lesson = await self._mine(request)
        for link in await asyncio.to_thread(self._lessons.store.links, lesson.id):
            if link.taken or link.found.state in (CheckState.WORKS, CheckState.REDIRECTED):
                try:
                    await self._lessons.keep(lesson.id, link.number, "now")
                except WorksheetError:
                    continue
        return see_other(request, _path(lesson))

    async def check_again(self, request: web.Request) -> web.StreamResponse:
        lesson = await self._mine(request)
        await self._lessons.check_again(lesson.id)
        return see_other(request, _path(lesson))

    async def publish(self, request: web.Request) -> web.StreamResponse:
        lesson = await self._mine(request)
        page_request_of(request).about = await asyncio.to_thread(self._lessons.store.publish, lesson.id)
        return see_other(request, f"{_path(lesson)}#share")

    async def withdraw(self, request: web.Request) -> web.StreamResponse:
        lesson = await self._mine(request)
        page_request_of(request).about = lesson.code
        await asyncio.to_thread(self._lessons.store.withdraw, lesson.id)
        return see_other(request, _path(lesson))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        lesson = await self._mine(request)
        page_request_of(request).about = f"lesson {lesson.id}"
        await asyncio.to_thread(self._lessons.store.remove, lesson.id)
        return see_other(request, f"{TEACH}/pages" if lesson.page else TEACH)

    async def document(self, request: web.Request) -> web.StreamResponse:
        """The corrected document, as a download: it is the teacher's, and never shown as a page of ours."""
        lesson = await self._mine(request)
        if lesson.format not in FIXABLE or not lesson.file_name:
            raise ApiProblem(404, tr("there is no document to give back"))
        try:
            data = await self._lessons.corrected(lesson)
        except WorksheetError as error:
            raise ApiProblem(409, str(texts_for(request)(f"teach.fault.{error}"))) from error
        return _download(data, _MEDIA_TYPES[lesson.format], lesson.file_name)

    async def list(self, request: web.Request) -> web.StreamResponse:
        """The links as Markdown, to share by mail or in a course."""
        lesson = await self._mine(request)
        links = await asyncio.to_thread(self._lessons.store.links, lesson.id)
        lines = [
            f"# {clean(lesson.title, 120)}",
            "",
            *(f"- [{_name(link)}](<{link.target}>)" for link in links),
        ]
        if lesson.code:
            lines += ["", _short(lesson)]
        return _download("\n".join([*lines, ""]).encode(), "text/markdown", "lesson.md")

    async def published(self, request: web.Request) -> web.StreamResponse:
        """The lesson page: for anybody in the school who has its address."""
        lesson = await asyncio.to_thread(self._lessons.store.by_code, request.match_info["code"][:20])
        texts = texts_for(request)
        if lesson is None:
            title = str(texts("teach.no_lesson"))
            return render_teach(request, "teach/nolesson.html.jinja", title=title, status=404)
        links = await asyncio.to_thread(self._lessons.store.links, lesson.id)
        held = await self._held_days(links, texts)
        return render_teach(
            request,
            "teach/published.html.jinja",
            title=clean(lesson.title, 120) or str(texts("teach.lesson")),
            links=[link for link in links if link.found.state is not CheckState.BLOCKED],
            held=held,
            names={link.number: _name(link) for link in links},
            copies={
                number: PORTAL + copy_path(links[number - 1].target) for number, day in held.items() if day
            },
            shown_address=address,
            broken=BROKEN,
        )

    async def _held_days(self, links: Iterable[LessonLink], texts: Catalogue) -> dict[int, Markup]:
        """The days on which what the links lead to was saved, in words; only for those that were."""
        days = {link.number: await self._lessons.checks.held_on(link.target) for link in links}
        return {number: texts.date(datetime.fromisoformat(day)) for number, day in days.items() if day}

    async def _mine(self, request: web.Request) -> Lesson:
        """The lesson that a request is about. Raises ApiProblem when it is not this account's."""
        number = request.match_info["id"]
        known = number.isascii() and number.isdigit() and len(number) < 16
        account = page_request_of(request).account
        lesson = await asyncio.to_thread(self._lessons.store.get, int(number), account) if known else None
        if lesson is None:
            raise ApiProblem(404, tr("no such lesson among yours"))
        return lesson


def _isolated(text: str) -> Markup:
    """A number with its unit, which a page in Arabic must not turn around."""
    return Markup('<bdi dir="ltr">{}</bdi>').format(text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _path(lesson: Lesson) -> str:
    return f"{LESSONS}/{lesson.id}"


def _short(lesson: Lesson) -> str:
    return f"{PORTAL}/l/{lesson.code}"


def _name(link: LessonLink) -> str:
    """What a link is called: its words, or those of its replacement, without what Markdown would read."""
    titles = [each.title for each in link.replacements if each.url == link.taken]
    name = clean(link.anchor, 120) or clean(titles[0] if titles else "", 120)
    return name.translate({ord(char): None for char in "[]<>`"}) or str(address(link.target).host)


def _counts(links: tuple[LessonLink, ...]) -> dict[CheckState, int]:
    """How many links are in each state, in the order of the states."""
    found = {state: sum(link.found.state is state for link in links) for state in CheckState}
    return {state: count for state, count in found.items() if count and state is not CheckState.WAITING}


def _qr_code(text: str) -> Markup:
    """A QR code as inline SVG; only our own address is in it."""
    drawn = segno.make(text, error="m", micro=False).svg_inline(scale=5, border=4, dark="#000", light="#fff")
    return Markup(drawn)  # noqa: S704


def _download(data: bytes, media_type: str, name: str) -> web.Response:
    ascii_name = re.sub(r"[^\w. -]", "_", name, flags=re.ASCII)
    response = web.Response(body=data, content_type=media_type)
    response.headers["Content-Disposition"] = (
        f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
