"""The login: setting the first password, logging in and out, changing the password, and API tokens."""

import asyncio
import ipaddress
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from proxy.admin.auth.loginlimits import LoginLimits
from proxy.admin.auth.middleware import LOGIN, cookie_name
from proxy.admin.auth.passwords import MAX_LENGTH, MIN_LENGTH, Passwords, matches, password_problem
from proxy.admin.auth.scopes import ABOUT, ALL
from proxy.admin.routing import (
    AdminPage,
    ApiProblem,
    PageRequest,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.admin.sessions import AdminSession, Sessions
from proxy.errors import StoreError
from proxy.privacy.clients import device_of
from proxy.settings import AdminSettings

log = logging.getLogger(__name__)

_MAX_WAITING = 8
_CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


class Login:
    """The pages that need no login, and those that change it."""

    def __init__(
        self, settings: Callable[[], AdminSettings], passwords: Passwords, sessions: Sessions
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._sessions = sessions
        self._limits = LoginLimits()
        self._hashing = _HashingSlots()
        self.setup_code = "-".join("".join(secrets.choice(_CODE_LETTERS) for _ in range(5)) for _ in range(2))
        """Printed only in the log: a person who can read the log may set the first password, from anywhere."""

    def routes(self) -> list[Route]:
        return [
            AdminPage(path=LOGIN, handler=self._show, open_to_all=True),
            AdminPage(path=LOGIN, handler=self._log_in, method="POST", open_to_all=True),
            AdminPage(
                path="/admin/first-password",
                handler=self._set_first_password,
                method="POST",
                open_to_all=True,
            ),
            AdminPage(path="/admin/logout", handler=self._log_out, method="POST"),
            AdminPage(path="/admin/access", handler=self._access, menu="Access"),
            AdminPage(path="/admin/access/password", handler=self._change, method="POST"),
            AdminPage(path="/admin/access/token", handler=self._new_token, method="POST"),
            AdminPage(path="/admin/access/token/remove", handler=self._remove_token, method="POST"),
        ]

    async def has_password(self) -> bool:
        return (await asyncio.to_thread(self._passwords.load)).password is not None

    async def _show(self, request: web.Request) -> web.StreamResponse:
        if page_request_of(request).is_admin:
            return see_other(request, "/admin")
        return await self._page(request)

    async def _page(self, request: web.Request, *, status: int = 200, fault: str = "") -> web.Response:
        visit = page_request_of(request)
        if not await self.has_password():
            return render(
                request,
                "desk/first.html.jinja",
                title="Set a password",
                status=status,
                fault=fault,
                code=request.query.get("code", "")[:40],
                plain=_is_unencrypted(visit),
                min_length=MIN_LENGTH,
                max_length=MAX_LENGTH,
            )
        return render(
            request,
            "desk/login.html.jinja",
            title="Log in",
            status=status,
            fault=fault,
            plain=_is_unencrypted(visit),
            next=request.query.get("next", ""),
        )

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = page_request_of(request)
        kept = await asyncio.to_thread(self._passwords.load)
        if kept.password is None:
            return await self._page(request)
        self._check_rate(visit)
        given = fields.get("password", "")
        async with self._hashing.take():
            right = await asyncio.to_thread(matches, given, kept.password)
        if not right:
            log.warning("desk: wrong password from %s", visit.client)
            return await self._page(request, status=403, fault="Wrong password.")
        self._limits.forget_failures(device_of(visit.client))
        return self._start_session(request, kept.generation, fields.get("next", ""))

    async def _set_first_password(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = page_request_of(request)
        if await self.has_password():
            return see_other(request, LOGIN)
        self._check_rate(visit)
        code = fields.get("code", "").strip().upper().encode("utf-8", "replace")
        # The setup code is needed on this machine too: clients of a proxy or tunnel that runs here appear with its
        # address.
        if not secrets.compare_digest(code, self.setup_code.encode()):
            return await self._page(
                request, status=403, fault="Wrong set-up code. It changes each time linkmend starts."
            )
        fault = password_problem(fields.get("password", ""), fields.get("again", ""))
        if fault:
            return await self._page(request, status=400, fault=fault)
        async with self._hashing.take():
            is_first = await asyncio.to_thread(self._passwords.set_first_password, fields["password"])
        if not is_first:
            return see_other(request, LOGIN)
        self._limits.forget_failures(device_of(visit.client))
        log.info("desk: first password set from %s", visit.client)
        return self._start_session(request, (await asyncio.to_thread(self._passwords.load)).generation, "")

    def _start_session(self, request: web.Request, generation: str, wanted: str) -> web.StreamResponse:
        visit, lasts_s = page_request_of(request), self._settings().session_hours * 3600
        token = self._sessions.begin(
            AdminSession(
                ends_at=time.monotonic() + lasts_s,
                generation=generation,
                client=visit.client,
                secure=visit.secure,
            )
        )
        response = see_other(request, wanted or "/admin")
        response.set_cookie(
            cookie_name(visit),
            token,
            path="/" if visit.secure else "/admin",
            httponly=True,
            secure=visit.secure,
            samesite="Strict",
            max_age=int(lasts_s),
        )
        return response

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        visit = page_request_of(request)
        self._sessions.end(request.cookies.get(cookie_name(visit), ""))
        response = see_other(request, LOGIN)
        response.del_cookie(cookie_name(visit), path="/" if visit.secure else "/admin", secure=visit.secure)
        return response

    async def _access(self, request: web.Request) -> web.StreamResponse:
        return await self._access_page(request)

    async def _access_page(
        self, request: web.Request, *, status: int = 200, fault: str = "", token: str = ""
    ) -> web.Response:
        kept = await asyncio.to_thread(self._passwords.load)
        return render(
            request,
            "desk/access.html.jinja",
            title="Access",
            status=status,
            fault=fault,
            token=token,
            tokens=kept.tokens,
            scopes=ABOUT,
            min_length=MIN_LENGTH,
            max_length=MAX_LENGTH,
        )

    async def _change(self, request: web.Request) -> web.StreamResponse:
        """Ask for the old password: an open browser must not be enough to take over the admin server."""
        fields, visit = await form(request), page_request_of(request)
        kept = await asyncio.to_thread(self._passwords.load)
        self._check_rate(visit)
        async with self._hashing.take():
            right = kept.password is not None and await asyncio.to_thread(
                matches, fields.get("old", ""), kept.password
            )
        fault = (
            password_problem(fields.get("password", ""), fields.get("again", ""))
            if right
            else "Wrong password."
        )
        if fault:
            return await self._access_page(request, status=400, fault=fault)
        await asyncio.to_thread(self._passwords.set_password, fields["password"])
        self._sessions.end_all()
        log.info("desk: password changed from %s", visit.client)
        return see_other(request, LOGIN)

    async def _new_token(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        name, scopes = (
            fields.get("name", "").strip()[:60],
            [each for each in ALL if f"scope-{each}" in fields],
        )
        if not name.isprintable() or not name:
            return await self._access_page(request, status=400, fault="Enter a name for the token.")
        if not scopes:
            return await self._access_page(
                request, status=400, fault="Choose at least one right for the token."
            )
        try:
            token = await asyncio.to_thread(self._passwords.new_token, name, scopes)
        except StoreError as error:
            return await self._access_page(request, status=400, fault=str(error))
        return await self._access_page(request, token=token)

    async def _remove_token(self, request: web.Request) -> web.StreamResponse:
        name = (await form(request)).get("name", "")
        gone = await asyncio.to_thread(self._passwords.remove_token, name)
        notice = "Token removed." if gone else "No such token."
        return see_other(request, "/admin/access", notice=notice)

    def _check_rate(self, visit: PageRequest) -> None:
        """Raises ApiProblem when this client, or all unknown clients together, tried too often."""
        known = _is_local(visit) or self._sessions.knows(visit.client)
        wait = self._limits.wait_s(device_of(visit.client), known=known, now=time.monotonic())
        if wait:
            seconds = int(wait) + 1
            raise ApiProblem(
                429, f"too many attempts; try again in {seconds} s", {"Retry-After": str(seconds)}
            )


class _HashingSlots:
    """Checks one password at a time: each check takes 32 MB and a tenth of a second of a small machine."""

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for the turn. Raises ApiProblem when too many wait already."""
        if self._waiting >= _MAX_WAITING:
            raise ApiProblem(429, "too many logins at once; try again", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._one:
                yield
        finally:
            self._waiting -= 1


def _is_local(visit: PageRequest) -> bool:
    """Whether the client connects to the admin port directly from loopback. Through a proxy, ours or another, that
    would be no proof: all clients of a proxy on this machine appear with its address.
    """
    return not visit.through_proxy and not visit.relayed and _is_loopback(visit.client)


def _is_unencrypted(visit: PageRequest) -> bool:
    """Whether the password would cross the network unencrypted."""
    return not visit.secure and not _is_loopback(visit.client)


def _is_loopback(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
