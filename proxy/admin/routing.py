"""How a feature declares its admin pages and API calls, and the services that both may use.

A feature is a module with `def routes(admin: AdminContext) -> list[Route]`, named in `proxy.admin.app.FEATURES`.
Only somebody who is logged in, and whose role allows it (`proxy.admin.roles`), reaches either kind of handler. A
change also needs a valid CSRF token, and is written to the audit log: `proxy.admin.auth.middleware` sees to all of
it, so no handler has to.

A page:

    def routes(admin: AdminContext) -> list[Route]:
        async def show(request: web.Request) -> web.StreamResponse:
            rows = await asyncio.to_thread(admin.misses.recent, 50)
            return render(request, "desk/misses.html.jinja", title="Missed pages", rows=rows)

        async def ignore(request: web.Request) -> web.StreamResponse:
            fields = await form(request)
            await asyncio.to_thread(admin.review.ignore, fields.get("url", ""))
            return see_other(request, "/admin/misses", notice="It is ignored from now on.")

        return [
            AdminPage(path="/admin/misses", handler=show, menu="Dead links"),
            AdminPage(path="/admin/misses/ignore", handler=ignore, method="POST"),
        ]

Its template begins with `{% extends "desk/layout.html.jinja" %}`, fills `{% block main %}` (the layout writes the
title as the h1) and puts `{{ csrf }}` into every form. The policy forbids `style=` and `on...=` attributes and
inline scripts; classes are in proxy/pages/static/desk.css.

A call declares its input and output as msgspec Structs (constraints by `msgspec.Meta`); its part of the OpenAPI
document is built from them. It returns such a value, or raises `ApiProblem`:

    class Ignored(Struct, kw_only=True):
        url: Annotated[str, Meta(max_length=4000)]

    async def ignore_call(given: ApiRequest) -> Ignored: ...   # given.body is an Ignored, checked

    ApiCall(method="POST", path="/admin/api/misses/ignore", handler=ignore_call, summary="Ignore a page",
            body=Ignored, answer=Ignored, problems=(404,))
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from proxy.admin.imports import DeskImports
from proxy.admin.roles import ADMIN, TEACH, Role, may
from proxy.admin.sessions import AdminSession
from proxy.fetching.queue import FetchQueue
from proxy.lessons.service import LessonService
from proxy.localtime import zone_name
from proxy.misses.feed import MissFeed
from proxy.misses.review import MissReview
from proxy.misses.store import MissStore
from proxy.monitoring.health import HealthSources
from proxy.pages.desktexts import COOKIE, DeskLanguage, choose_language, shown, speaking, tr
from proxy.pages.language import LANGUAGES, catalogue
from proxy.pages.render import TEMPLATES, breakable
from proxy.pages.templatetexts import TemplateTexts
from proxy.removal.remover import PageRemover
from proxy.runningmark import RunningSettings
from proxy.settings import Settings
from proxy.setup.installation import is_done
from proxy.sizes import size
from proxy.store.responses import ResponseStore
from repair.admission import RepairPipeline
from repair.collection.asynccollection import AsyncCollection
from repair.collection.collection import Collection
from repair.collection.pins import Pins
from repair.crawling.topicdatabase import TopicDatabase
from repair.evidence.hints import Hints
from repair.harvest import Harvester
from repair.memento.client import MementoClient

_MAX_FIELDS = 1_100  # a list has up to 500 rows
_BODY_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContext:
    """The services that pages and calls may use. A service that is switched off or missing is None; the feature
    then shows nothing.
    """

    data: Path
    settings: Callable[[], Settings]
    misses: MissStore
    responses: ResponseStore
    collection: Collection
    async_collection: AsyncCollection
    repairer: RepairPipeline
    harvester: Harvester
    mementos: MementoClient
    review: MissReview | None = None
    pins: Pins | None = None
    hints: Hints | None = None
    fetches: FetchQueue | None = None
    remover: PageRemover | None = None
    rules: Any = None
    health: HealthSources | None = None
    missing_now: MissFeed | None = None
    topics: TopicDatabase | None = None
    lessons: LessonService | None = None
    imports: DeskImports | None = None
    running: Callable[[], RunningSettings | None] = lambda: None
    """What the supervisor says of itself: its process and its settings file. It reads the disk."""

    def settings_file(self) -> Path | None:
        """The file that the running linkmend reads, if there is one; reads the disk."""
        running = self.running()
        return Path(running.config) if running is not None and running.config else None

    def is_set_up(self) -> bool:
        """Whether somebody has made the choices of a set-up; reads the disk."""
        return is_done(self.data, self.settings_file())


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminPage:
    """One address for people; with `menu` it appears under that name in the menu."""

    path: str
    handler: Handler
    method: str = "GET"
    menu: str = ""
    open_to_all: bool = False
    """Needs no login, and its POST no CSRF token (the login itself)."""
    max_body_bytes: int = 0
    """For uploads by somebody logged in; 0 for the size of a form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """The parameters and the body of one API request, checked against what the call declares."""

    request: web.Request
    path: Any = None
    query: Any = None
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """One method of one address for programs. `path` may contain {names}, the fields of the Struct `names`."""

    method: str
    path: str
    handler: Callable[[ApiRequest], Awaitable[Any]]
    summary: str
    answer: Any
    """The type of the response: a Struct, a list of them; None for 204. A handler may also return a StreamResponse
    of the type `media_type`."""
    status: int = 200
    names: type[Struct] | None = None
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    problems: tuple[int, ...] = ()
    """Statuses of the ApiProblems it raises, besides those of every call."""
    media_type: str = "application/json"


Route = AdminPage | ApiCall
Routes = Callable[[AdminContext], list[Route]]


class ApiProblem(Exception):
    """An API call raises this to answer with an error; it becomes a problem document (RFC 9457)."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


@dataclass(slots=True, kw_only=True)
class PageRequest:
    """What the auth middleware found out about a request."""

    client: str
    """The address of the client; through the proxy, of the proxy's client."""
    origin: str
    """Scheme, host and port of the request, as a browser writes them."""
    secure: bool = False
    through_proxy: bool = False
    relayed: bool = False
    """Whether the request came through another proxy; then `client` is the address of that proxy."""
    session: AdminSession | None = None
    by_token: bool = False
    """Whether the request comes from a program with a token, not from a browser."""
    scopes: frozenset[str] = frozenset()
    """The scopes of that token."""
    token_name: str = ""
    about: str = ""
    """What a change is about, in a word, for the audit log."""

    @property
    def is_logged_in(self) -> bool:
        return self.session is not None or self.by_token

    @property
    def role(self) -> Role | None:
        """The role of somebody logged in. A token is the admin's; its scopes limit it."""
        if self.session is not None:
            return self.session.role
        return Role.ADMIN if self.by_token else None

    @property
    def account(self) -> str:
        """Who is logged in, as the audit log and lists name them; "" for nobody."""
        if self.by_token:
            return f"token {self.token_name}"
        return (self.session.account or ADMIN) if self.session is not None else ""


VISIT: web.RequestKey[PageRequest] = web.RequestKey("visit", PageRequest)
MENU: web.AppKey[tuple[tuple[str, str], ...]] = web.AppKey("menu", tuple)


def page_request_of(request: web.Request) -> PageRequest:
    """What the auth middleware found out about a request."""
    return request[VISIT]


def local(at: datetime, form: str = "%Y-%m-%d %H:%M") -> str:
    """A moment in the time zone of this machine; every page of the desk names it."""
    return at.astimezone().strftime(form)


def templates() -> Environment:
    """The environment of the admin templates; it escapes everything."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = lambda value: breakable(str(shown(value)))
    environment.filters["local"] = local
    environment.filters["size"] = size
    environment.add_extension(TemplateTexts)
    return environment


_environment = templates()


def render(
    request: web.Request, template: str, *, title: str, status: int = 200, **values: object
) -> web.Response:
    """Render a template; it also gets `csrf`, `menu`, `path`, `notice`, `account` and `zone`."""
    language = language_of(request)
    with speaking(language):
        body = _render_in(language, request, template, title=title, **values)
    response = web.Response(
        status=status, body=body.encode("utf-8", "replace"), content_type="text/html", charset="utf-8"
    )
    response.headers["Content-Language"] = language.pages.code
    response.headers["Vary"] = "Accept-Language, Cookie"
    return response


def language_of(request: web.Request) -> DeskLanguage:
    """The language of the desk for a request."""
    return choose_language(request.cookies.get(COOKIE), request.headers.get("Accept-Language"))


def _render_in(language: DeskLanguage, request: web.Request, template: str, **values: object) -> str:
    visit = page_request_of(request)
    session = visit.session
    return _environment.get_template(template).render(
        desk_language=language.pages,
        desk_languages=[(code, catalogue(code).name) for code in LANGUAGES],
        csrf=_csrf_field(session),
        menu=[
            entry
            for entry in request.app[MENU]
            if visit.role is not None and may(visit.role, "GET", entry[0])
        ],
        path=request.path,
        notice=session.take_notice() if session else "",
        account=visit.account,
        zone=zone_name(),
        **values,
    )


def _csrf_field(session: AdminSession | None) -> Markup:
    if session is None:
        return Markup("")
    return Markup('<input type="hidden" name="csrf" value="{}">').format(session.csrf)


def see_other(request: web.Request, path: str, *, notice: str = "") -> web.Response:
    """Redirect to another page of the desk. The notice shown there is kept in the session, not in the address."""
    session = page_request_of(request).session
    if session is not None and notice:
        session.leave_notice(notice)
    return web.Response(status=303, headers={"Location": _within(path)})


def _within(path: str) -> str:
    """A path of ours, whatever was requested: never another host, never a second header."""
    ours = path.startswith(("/admin", TEACH))
    return path if ours and path.isascii() and path.isprintable() and "\\" not in path else "/admin"


async def form(request: web.Request) -> dict[str, str]:
    """The fields of a form, each once. Raises ApiProblem when a form is larger or slower than a browser would send
    it.
    """
    return dict(await form_fields(request))


async def form_fields(request: web.Request) -> list[tuple[str, str]]:
    """The fields of a form in their order; a name may come several times. Raises ApiProblem as `form` does."""
    try:
        async with asyncio.timeout(_BODY_S):
            fields = await request.post()
    except TimeoutError as error:
        raise ApiProblem(408, tr("timed out waiting for the form")) from error
    if len(fields) > _MAX_FIELDS:
        raise ApiProblem(400, tr("the form has too many fields"))
    return [(name, value) for name, value in fields.items() if isinstance(value, str)]
