"""The desk as an aiohttp application: which features it has, and how their pages and calls are put together."""

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from aiohttp import web

from proxy.desk import (
    collectioncalls,
    collectionpages,
    fetchcalls,
    fetchpages,
    healthpages,
    home,
    live,
    misscalls,
    misspages,
    rulescalls,
    rulespages,
    staticfiles,
)
from proxy.desk.api import handler_of
from proxy.desk.door import Door
from proxy.desk.frame import MENU, Call, Desk, Given, Page, Route, Routes
from proxy.desk.gate import Gate
from proxy.desk.login import Login
from proxy.desk.openapi import document
from proxy.desk.passwords import FILE, Passwords
from proxy.desk.sessions import Sessions
from proxy.settings import DeskSettings

FEATURES: tuple[Routes, ...] = (
    # In the order in which they stand in the menu.
    home.routes,
    misspages.routes,
    misscalls.routes,
    fetchpages.routes,
    fetchcalls.routes,
    collectionpages.routes,
    collectioncalls.routes,
    rulespages.routes,
    rulescalls.routes,
    live.routes,
    healthpages.routes,
)
MAX_BODY_BYTES = 256 * 1024


class DeskApp:
    """The application and what whoever runs it has to know of it."""

    def __init__(self, desk: Desk, door: Door) -> None:
        passwords, sessions = Passwords(desk.data / FILE), Sessions()
        self.login = Login(_desk_settings(desk), passwords, sessions)
        self._gate = Gate(_desk_settings(desk), passwords, sessions, door)
        routes = [*(route for feature in FEATURES for route in feature(desk)), *self.login.routes()]
        pages, calls = _sorted(routes)
        self.web = web.Application(
            middlewares=[self._gate.answer_all, self._gate.let_in], client_max_size=MAX_BODY_BYTES
        )
        self.web[MENU] = tuple((page.path, page.menu) for page in pages if page.menu)
        self.web.on_response_prepare.append(self._gate.arm)
        self._add(pages, [*calls, _document_call(calls)])

    def _add(self, pages: Iterable[Page], calls: Iterable[Call]) -> None:
        for name, handler in staticfiles.handlers():
            self.web.router.add_get(name, handler)
            self._gate.open_to_all.add(name)
        for page in pages:
            for method in ("GET", "HEAD") if page.method == "GET" else (page.method,):
                self.web.router.add_route(method, page.path, page.handler)
            if page.open_to_all:
                self._gate.open_to_all.add(page.path)
        for call in calls:
            self.web.router.add_route(call.method, call.path, handler_of(call))


def _desk_settings(desk: Desk) -> Callable[[], DeskSettings]:
    return lambda: desk.settings().desk


def _sorted(routes: Iterable[Route]) -> tuple[list[Page], list[Call]]:
    listed = list(routes)
    return [route for route in listed if isinstance(route, Page)], [
        route for route in listed if isinstance(route, Call)
    ]


class Document(msgspec.Struct, kw_only=True):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, list[str]]]


def _document_call(calls: list[Call]) -> Call:
    async def show(given: Given) -> Document:
        return described

    call = Call(
        method="GET",
        path="/admin/api/openapi.json",
        handler=show,
        summary="This document",
        answer=Document,
    )
    described = msgspec.convert(document([*calls, call], version=_version()), Document)
    return call


def _version() -> str:
    try:
        return version("linkmend")
    except PackageNotFoundError:
        return "0"
