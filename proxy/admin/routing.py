"""What a feature of the desk is made of: pages for people, calls for programs, and what both may use.

A feature is a module with `def routes(desk: Desk) -> list[Page | Call]`, named in `proxy.desk.app.FEATURES`.
Both kinds of handler are reached only by an admin who is logged in, and a change only with a proof that it was
asked for on a page of the desk: `proxy.desk.gate` sees to it, no handler has to.

A page:

    def routes(desk: Desk) -> list[Page | Call]:
        async def show(request: web.Request) -> web.StreamResponse:
            rows = await asyncio.to_thread(desk.misses.recent, 50)
            return render(request, "desk/misses.html.jinja", title="Missed pages", rows=rows)

        async def ignore(request: web.Request) -> web.StreamResponse:
            fields = await form(request)
            await asyncio.to_thread(desk.review.ignore, fields.get("url", ""))
            return see_other(request, "/admin/misses", notice="It is ignored from now on.")

        return [
            Page(path="/admin/misses", handler=show, menu="Missed pages"),
            Page(path="/admin/misses/ignore", handler=ignore, method="POST"),
        ]

Its template begins with `{% extends "desk/layout.html.jinja" %}`, fills `{% block main %}` (the layout writes the
title as the h1) and puts `{{ csrf }}` into every form. The policy forbids `style=` and `on...=` attributes and
inline scripts; classes are in proxy/pages/static/desk.css.

A call says what goes in and out as msgspec Structs (constraints by `msgspec.Meta`), out of which its part of the
OpenAPI document is made. It answers with such a value, or raises `Problem`:

    class Ignored(Struct, kw_only=True):
        url: Annotated[str, Meta(max_length=4000)]

    async def ignore_call(given: Given) -> Ignored: ...        # given.body is an Ignored, checked

    Call(method="POST", path="/admin/api/misses/ignore", handler=ignore_call, summary="Ignore a page",
         body=Ignored, answer=Ignored, problems=(404,))
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from proxy.desk.health import HealthSources
from proxy.desk.missing import MissingNow
from proxy.desk.sessions import Session
from proxy.fetching.queue import FetchQueue
from proxy.misses.store import MissStore
from proxy.pages.render import breakable
from proxy.removal.removing import Remover
from proxy.review.review import Review
from proxy.settings import Settings
from proxy.store.responses import ResponseStore
from repair.collection import Collection
from repair.harvest import Harvester
from repair.hints import Hints
from repair.memento.client import MementoClient
from repair.pins import Pins
from repair.reader import Reader
from repair.turns import Repairs

_TEMPLATES = Path(__file__).parents[1] / "pages" / "templates"
_MAX_FIELDS = 200
_BODY_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What pages and calls may use. What is None is switched off or not there; a feature then shows nothing."""

    data: Path
    settings: Callable[[], Settings]
    misses: MissStore
    responses: ResponseStore
    collection: Collection
    reader: Reader
    repairer: Repairs
    harvester: Harvester
    mementos: MementoClient
    review: Review | None = None
    pins: Pins | None = None
    hints: Hints | None = None
    fetches: FetchQueue | None = None
    remover: Remover | None = None
    rules: Any = None
    health: HealthSources | None = None
    missing_now: MissingNow | None = None


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One address for people; with `menu` it stands under that name on top of every page."""

    path: str
    handler: Handler
    method: str = "GET"
    menu: str = ""
    open_to_all: bool = False
    """Shown without a login, and its POST without a token (the login itself)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a call was given, checked against what it declares."""

    request: web.Request
    path: Any = None
    query: Any = None
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One method of one address for programs. `path` may hold {names}, the fields of the Struct `names`."""

    method: str
    path: str
    handler: Callable[[Given], Awaitable[Any]]
    summary: str
    answer: Any
    """The type of what is answered: a Struct, a list of them; None for 204. A handler may also answer with
    a StreamResponse of its own, of the type `media_type`."""
    status: int = 200
    names: type[Struct] | None = None
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    problems: tuple[int, ...] = ()
    """Statuses of the Problems it raises, besides those that every call may answer with."""
    media_type: str = "application/json"


Route = Page | Call
Routes = Callable[[Desk], list[Route]]


class Problem(Exception):
    """What a call answers when it cannot do what was asked; becomes a problem document (RFC 9457)."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


@dataclass(slots=True, kw_only=True)
class Visit:
    """What the gate found out about a request."""

    client: str
    """The address of who asks; through the proxy, of the proxy's client."""
    origin: str
    """Scheme, host and port under which the desk was asked, as a browser writes them."""
    secure: bool = False
    through_proxy: bool = False
    relayed: bool = False
    """Whether somebody else's proxy stands between, whose own address `client` then is."""
    session: Session | None = None
    by_token: bool = False
    """Whether a program with a token asks, rather than a browser."""
    scopes: frozenset[str] = frozenset()
    """What that token opens."""

    @property
    def is_admin(self) -> bool:
        return self.session is not None or self.by_token


VISIT: web.RequestKey[Visit] = web.RequestKey("visit", Visit)
MENU: web.AppKey[tuple[tuple[str, str], ...]] = web.AppKey("menu", tuple)


def visit_of(request: web.Request) -> Visit:
    """What the gate found out about a request."""
    return request[VISIT]


def templates() -> Environment:
    """The templates of the desk, everything escaped."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = breakable
    return environment


_environment = templates()


def render(
    request: web.Request, template: str, *, title: str, status: int = 200, **values: object
) -> web.Response:
    """A template filled in; it also knows `csrf`, `menu`, `path`, `notice` and `admin`."""
    visit = visit_of(request)
    session = visit.session
    body = _environment.get_template(template).render(
        title=title,
        csrf=_csrf_field(session),
        menu=request.app[MENU] if visit.is_admin else (),
        path=request.path,
        notice=session.take_notice() if session else "",
        admin=visit.is_admin,
        **values,
    )
    return web.Response(
        status=status, body=body.encode("utf-8", "replace"), content_type="text/html", charset="utf-8"
    )


def _csrf_field(session: Session | None) -> Markup:
    if session is None:
        return Markup("")
    return Markup('<input type="hidden" name="csrf" value="{}">').format(session.csrf)


def see_other(request: web.Request, path: str, *, notice: str = "") -> web.Response:
    """On to another page of the desk; what is said there is kept in the session, not in the address."""
    session = visit_of(request).session
    if session is not None and notice:
        session.leave_notice(notice)
    return web.Response(status=303, headers={"Location": _within(path)})


def _within(path: str) -> str:
    """A path of ours, whatever was asked for: never another host, never a second header."""
    safe = path.isascii() and path.isprintable() and path.startswith("/admin") and "\\" not in path
    return path if safe else "/admin"


async def form(request: web.Request) -> dict[str, str]:
    """The fields of a form, each once. Raises Problem for more, or more slowly, than a browser would send."""
    try:
        async with asyncio.timeout(_BODY_S):
            fields = await request.post()
    except TimeoutError as error:
        raise Problem(408, "the form took too long to arrive") from error
    if len(fields) > _MAX_FIELDS:
        raise Problem(400, "too many fields")
    return {name: value for name, value in fields.items() if isinstance(value, str)}
