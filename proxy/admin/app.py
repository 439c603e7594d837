"""The admin pages and API as one aiohttp application, put together from the list of features."""

from collections.abc import Iterable
from typing import Any

import msgspec
from aiohttp import web

from proxy.admin import backups, health, proposals, requests, staticfiles, users
from proxy.admin.apihandlers import handler_of
from proxy.admin.auditlog import AUDIT_FILE, AuditLog
from proxy.admin.auth.login import Login
from proxy.admin.auth.middleware import AuthMiddleware, IsGateway, is_gateway
from proxy.admin.auth.passwords import FILE, Passwords
from proxy.admin.auth.signin import SignIn
from proxy.admin.collection import api as collection_api
from proxy.admin.collection import importpages
from proxy.admin.collection import pages as collection_pages
from proxy.admin.district import pages as district_pages
from proxy.admin.fetches import api as fetches_api
from proxy.admin.fetches import pages as fetches_pages
from proxy.admin.growth import api as growth_api
from proxy.admin.growth import pages as growth_pages
from proxy.admin.home import pages as home_pages
from proxy.admin.misses import api as misses_api
from proxy.admin.misses import live
from proxy.admin.misses import pages as misses_pages
from proxy.admin.openapi import document
from proxy.admin.routing import MENU, AdminContext, AdminPage, ApiCall, ApiRequest, Route, Routes
from proxy.admin.rules import api as rules_api
from proxy.admin.rules import pages as rules_pages
from proxy.admin.sessions import Sessions
from proxy.admin.setup import pages as setup_pages
from proxy.admin.teach import mypages as teach_mypages
from proxy.admin.teach import pages as teach_pages
from proxy.admin.teach.access import TeachAccess
from proxy.admin.topics import api as topics_api
from proxy.admin.topics import pages as topics_pages
from proxy.version import version

FEATURES: tuple[Routes, ...] = (
    # In the order of the menu.
    home_pages.routes,
    misses_pages.routes,
    misses_api.routes,
    fetches_pages.routes,
    fetches_api.routes,
    collection_pages.routes,
    collection_api.routes,
    importpages.routes,
    topics_pages.routes,
    topics_api.routes,
    growth_pages.routes,
    growth_api.routes,
    rules_pages.routes,
    rules_api.routes,
    district_pages.routes,
    live.routes,
    health.routes,
    requests.routes,
    proposals.routes,
)
MAX_BODY_BYTES = 256 * 1024


class AdminApp:
    """The application, and what the server that runs it needs to know."""

    def __init__(
        self, admin: AdminContext, is_gateway: IsGateway = is_gateway, passwords: Passwords | None = None
    ) -> None:
        """`passwords` are those of the data folder, unless a test brings cheaper ones."""
        passwords, sessions = passwords or Passwords(admin.data / FILE), Sessions()
        audit = AuditLog(admin.data / AUDIT_FILE)
        sign_in = SignIn(lambda: admin.settings().desk, passwords, sessions, audit)
        self.login = Login(passwords, sign_in, first_page=setup_pages.PATH)
        teach = TeachAccess(admin, sign_in)
        self._auth = AuthMiddleware(admin.settings, passwords, sessions, is_gateway, audit)
        routes = [
            *(route for feature in FEATURES for route in feature(admin)),
            *users.routes(passwords, audit),
            *teach.routes(),
            *teach_pages.routes(admin, teach),
            *teach_mypages.routes(admin, teach),
            *self.login.routes(),
            *setup_pages.routes(admin),
            *backups.routes(admin),
        ]
        pages, calls = _split_routes(routes)
        self.web = web.Application(
            middlewares=[self._auth.answer_all, self._auth.let_in], client_max_size=MAX_BODY_BYTES
        )
        self.web[MENU] = tuple((page.path, page.menu) for page in pages if page.menu)
        self.web.on_response_prepare.append(self._auth.arm)
        self._add(pages, [*calls, _document_call(calls)])

    def _add(self, pages: Iterable[AdminPage], calls: Iterable[ApiCall]) -> None:
        for name, handler in staticfiles.handlers():
            self.web.router.add_get(name, handler)
            self._auth.open_to_all.add(name)
        for page in pages:
            for method in ("GET", "HEAD") if page.method == "GET" else (page.method,):
                self.web.router.add_route(method, page.path, page.handler)
            if page.open_to_all:
                self._auth.open_to_all.add(page.path)
            if page.max_body_bytes:
                self._auth.body_limits[page.path] = page.max_body_bytes
        for call in calls:
            self.web.router.add_route(call.method, call.path, handler_of(call))


def _split_routes(routes: Iterable[Route]) -> tuple[list[AdminPage], list[ApiCall]]:
    listed = list(routes)
    return [route for route in listed if isinstance(route, AdminPage)], [
        route for route in listed if isinstance(route, ApiCall)
    ]


class OpenApiDocument(msgspec.Struct, kw_only=True):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, list[str]]]


def _document_call(calls: list[ApiCall]) -> ApiCall:
    async def show(given: ApiRequest) -> OpenApiDocument:
        return described

    call = ApiCall(
        method="GET",
        path="/admin/api/openapi.json",
        handler=show,
        summary="This document",
        answer=OpenApiDocument,
    )
    described = msgspec.convert(document([*calls, call], version=version()), OpenApiDocument)
    return call
