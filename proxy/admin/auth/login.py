"""The way in: the first password, logging in and out, a new password, and tokens for programs."""

import asyncio
import ipaddress
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from proxy.desk.frame import Page, Problem, Route, Visit, form, render, see_other, visit_of
from proxy.desk.gate import LOGIN, cookie_name
from proxy.desk.limits import LoginLimits
from proxy.desk.passwords import MAX_LENGTH, MIN_LENGTH, Passwords, complaint, matches
from proxy.desk.scopes import ABOUT, ALL
from proxy.desk.sessions import Session, Sessions
from proxy.errors import StoreError
from proxy.settings import DeskSettings

log = logging.getLogger(__name__)

_MAX_WAITING = 8
_CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


class Login:
    """Pages that need no login, and those that change it."""

    def __init__(
        self, settings: Callable[[], DeskSettings], passwords: Passwords, sessions: Sessions
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._sessions = sessions
        self._limits = LoginLimits()
        self._turns = _Turns()
        self.setup_code = "-".join("".join(secrets.choice(_CODE_LETTERS) for _ in range(5)) for _ in range(2))
        """Told in the log alone: who can read it may set the first password, from wherever they are."""

    def routes(self) -> list[Route]:
        return [
            Page(path=LOGIN, handler=self._show, open_to_all=True),
            Page(path=LOGIN, handler=self._enter, method="POST", open_to_all=True),
            Page(path="/admin/first-password", handler=self._first, method="POST", open_to_all=True),
            Page(path="/admin/logout", handler=self._leave, method="POST"),
            Page(path="/admin/access", handler=self._access, menu="Access"),
            Page(path="/admin/access/password", handler=self._change, method="POST"),
            Page(path="/admin/access/token", handler=self._new_token, method="POST"),
            Page(path="/admin/access/token/remove", handler=self._remove_token, method="POST"),
        ]

    async def has_password(self) -> bool:
        return (await asyncio.to_thread(self._passwords.kept)).password is not None

    async def _show(self, request: web.Request) -> web.StreamResponse:
        if visit_of(request).is_admin:
            return see_other(request, "/admin")
        return await self._page(request)

    async def _page(self, request: web.Request, *, status: int = 200, fault: str = "") -> web.Response:
        visit = visit_of(request)
        if not await self.has_password():
            return render(
                request,
                "desk/first.html.jinja",
                title="Set a password",
                status=status,
                fault=fault,
                code=request.query.get("code", "")[:40],
                plain=_in_the_clear(visit),
                min_length=MIN_LENGTH,
                max_length=MAX_LENGTH,
            )
        return render(
            request,
            "desk/login.html.jinja",
            title="Log in",
            status=status,
            fault=fault,
            plain=_in_the_clear(visit),
            next=request.query.get("next", ""),
        )

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = visit_of(request)
        kept = await asyncio.to_thread(self._passwords.kept)
        if kept.password is None:
            return await self._page(request)
        self._count(visit)
        given = fields.get("password", "")
        async with self._turns.mine():
            right = await asyncio.to_thread(matches, given, kept.password)
        if not right:
            log.warning("a wrong password for the desk from %s", visit.client)
            return await self._page(request, status=403, fault="That is not the password.")
        self._limits.succeeded(_limited(visit.client))
        return self._begin(request, kept.generation, fields.get("next", ""))

    async def _first(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = visit_of(request)
        if await self.has_password():
            return see_other(request, LOGIN)
        self._count(visit)
        code = fields.get("code", "").strip().upper().encode("utf-8", "replace")
        # From this machine too: whatever proxy or tunnel runs here lends those behind it its own address.
        if not secrets.compare_digest(code, self.setup_code.encode()):
            return await self._page(request, status=403, fault="That is not the set-up code of this start.")
        fault = complaint(fields.get("password", ""), fields.get("again", ""))
        if fault:
            return await self._page(request, status=400, fault=fault)
        async with self._turns.mine():
            is_first = await asyncio.to_thread(self._passwords.set_first_password, fields["password"])
        if not is_first:
            return see_other(request, LOGIN)
        self._limits.succeeded(_limited(visit.client))
        log.info("the desk has its password now, set from %s", visit.client)
        return self._begin(request, (await asyncio.to_thread(self._passwords.kept)).generation, "")

    def _begin(self, request: web.Request, generation: str, wanted: str) -> web.StreamResponse:
        visit, lasts_s = visit_of(request), self._settings().session_hours * 3600
        token = self._sessions.begin(
            Session(
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

    async def _leave(self, request: web.Request) -> web.StreamResponse:
        visit = visit_of(request)
        self._sessions.end(request.cookies.get(cookie_name(visit), ""))
        response = see_other(request, LOGIN)
        response.del_cookie(cookie_name(visit), path="/" if visit.secure else "/admin", secure=visit.secure)
        return response

    async def _access(self, request: web.Request) -> web.StreamResponse:
        return await self._access_page(request)

    async def _access_page(
        self, request: web.Request, *, status: int = 200, fault: str = "", token: str = ""
    ) -> web.Response:
        kept = await asyncio.to_thread(self._passwords.kept)
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
        """The old password is asked for: an open browser must not be enough to take the desk over."""
        fields, visit = await form(request), visit_of(request)
        kept = await asyncio.to_thread(self._passwords.kept)
        self._count(visit)
        async with self._turns.mine():
            right = kept.password is not None and await asyncio.to_thread(
                matches, fields.get("old", ""), kept.password
            )
        fault = (
            complaint(fields.get("password", ""), fields.get("again", ""))
            if right
            else "That is not the password."
        )
        if fault:
            return await self._access_page(request, status=400, fault=fault)
        await asyncio.to_thread(self._passwords.set_password, fields["password"])
        self._sessions.end_all()
        log.info("the password of the desk was changed from %s", visit.client)
        return see_other(request, LOGIN)

    async def _new_token(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        name, scopes = (
            fields.get("name", "").strip()[:60],
            [each for each in ALL if f"scope-{each}" in fields],
        )
        if not name.isprintable() or not name:
            return await self._access_page(request, status=400, fault="A token needs a name.")
        if not scopes:
            return await self._access_page(request, status=400, fault="Say what the token is for.")
        try:
            token = await asyncio.to_thread(self._passwords.new_token, name, scopes)
        except StoreError as error:
            return await self._access_page(request, status=400, fault=str(error))
        return await self._access_page(request, token=token)

    async def _remove_token(self, request: web.Request) -> web.StreamResponse:
        name = (await form(request)).get("name", "")
        gone = await asyncio.to_thread(self._passwords.remove_token, name)
        notice = "The token no longer opens the desk." if gone else "There is no such token."
        return see_other(request, "/admin/access", notice=notice)

    def _count(self, visit: Visit) -> None:
        """Raises Problem when this client, or all strangers together, have tried too often."""
        known = _at_the_machine(visit) or self._sessions.knows(visit.client)
        wait = self._limits.wait_s(_limited(visit.client), known=known, now=time.monotonic())
        if wait:
            seconds = int(wait) + 1
            raise Problem(429, f"too many tries; the next is in {seconds} s", {"Retry-After": str(seconds)})


class _Turns:
    """One password is checked at a time: each takes 32 MB and a tenth of a second of a small machine."""

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    @asynccontextmanager
    async def mine(self) -> AsyncIterator[None]:
        """Raises Problem when too many wait already."""
        if self._waiting >= _MAX_WAITING:
            raise Problem(429, "too many log in at once", {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._one:
                yield
        finally:
            self._waiting -= 1


def _at_the_machine(visit: Visit) -> bool:
    """Directly on the desk's port from loopback. Through a proxy, ours or another, that would be no proof: one that
    runs on this machine lends all its clients its own address."""
    return not visit.through_proxy and not visit.relayed and _is_loopback(visit.client)


def _in_the_clear(visit: Visit) -> bool:
    """Whether what is typed here crosses the network unencrypted."""
    return not visit.secure and not _is_loopback(visit.client)


def _is_loopback(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False


def _limited(client: str) -> str:
    """Whose tries are counted together: an address, or the /64 that one device with IPv6 can choose from."""
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
