"""Checks names, passwords and class codes, at a limited rate, and begins and ends sessions. Pages are in `login`."""

import asyncio
import ipaddress
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from aiohttp import web

from proxy.admin.auditlog import AuditLog
from proxy.admin.auth.loginlimits import LoginLimits
from proxy.admin.auth.middleware import cookie_name
from proxy.admin.auth.passwords import Passwords, matches
from proxy.admin.roles import ADMIN, Role, home_of, may
from proxy.admin.routing import ApiProblem, PageRequest, page_request_of, see_other
from proxy.admin.sessions import AdminSession, Sessions
from proxy.pages.desktexts import tr
from proxy.privacy.clients import device_of
from proxy.settings import AdminSettings

log = logging.getLogger(__name__)

_MAX_WAITING = 8


class SignIn:
    """Who may have a session, and the cookie that stands for it."""

    def __init__(
        self,
        settings: Callable[[], AdminSettings],
        passwords: Passwords,
        sessions: Sessions,
        audit: AuditLog,
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._sessions = sessions
        self._audit = audit
        self._limits = LoginLimits()
        self.hashing = HashingSlots()

    async def check(self, visit: PageRequest, name: str, password: str) -> AdminSession | None:
        """A session that has not begun, for a name ("" or `admin` for the desk's own) and a password, or
        without a name for a class code; None when they are wrong. Raises ApiProblem when somebody tries too often.
        """
        self.check_rate(visit)
        name = name.strip()
        kept = await asyncio.to_thread(self._passwords.load)
        async with self.hashing.take():
            admins = kept.password if name.casefold() in ("", ADMIN) else None
            if admins is not None and await asyncio.to_thread(matches, password, admins):
                return self._admitted(visit, "", Role.ADMIN, kept.generation)
            found = None
            if admins is None or kept.account_of_code(password) is not None:  # each check takes its time
                found = await asyncio.to_thread(self._passwords.verify, name, password, datetime.now(UTC))
        if found is not None:
            return self._admitted(visit, found.name, found.role, found.generation)
        log.warning("desk: wrong password from %s", visit.client)
        known = kept.account(name)
        # A name that nobody has may be a password, typed into the wrong field.
        await asyncio.to_thread(
            self._audit.note, "login failed", who=known.name if known else ADMIN if name == ADMIN else ""
        )
        return None

    def _admitted(self, visit: PageRequest, account: str, role: Role, generation: str) -> AdminSession:
        self._limits.forget_failures(device_of(visit.client))
        return AdminSession(
            ends_at=0.0,
            generation=generation,
            client=visit.client,
            secure=visit.secure,
            account=account,
            role=role,
        )

    async def begin(
        self, request: web.Request, session: AdminSession, wanted: str = ""
    ) -> web.StreamResponse:
        """Begin a session, and redirect to the page that was wanted, if the role allows it."""
        visit, lasts_s = page_request_of(request), self._settings().session_hours * 3600
        session.ends_at = time.monotonic() + lasts_s
        token = self._sessions.begin(session)
        await asyncio.to_thread(self._audit.note, "login", who=session.account or ADMIN, role=session.role)
        path = wanted.partition("?")[0]
        response = see_other(
            request, wanted if path and may(session.role, "GET", path) else home_of(session.role)
        )
        response.set_cookie(
            cookie_name(visit),
            token,
            path="/",
            httponly=True,
            secure=visit.secure,
            samesite="Strict",
            max_age=int(lasts_s),
        )
        return response

    def end(self, request: web.Request, then: str) -> web.StreamResponse:
        visit = page_request_of(request)
        self._sessions.end(request.cookies.get(cookie_name(visit), ""))
        response = see_other(request, then)
        response.del_cookie(cookie_name(visit), path="/", secure=visit.secure)
        return response

    def end_all(self) -> None:
        self._sessions.end_all()

    def check_rate(self, visit: PageRequest) -> None:
        """Raises ApiProblem when this client, or all unknown clients together, tried too often."""
        known = is_local(visit) or self._sessions.knows(visit.client)
        wait = self._limits.wait_s(device_of(visit.client), known=known, now=time.monotonic())
        if wait:
            seconds = int(wait) + 1
            raise ApiProblem(
                429,
                tr("too many attempts; try again in {seconds} s", seconds=seconds),
                {"Retry-After": str(seconds)},
            )

    def forget_failures(self, visit: PageRequest) -> None:
        self._limits.forget_failures(device_of(visit.client))


class HashingSlots:
    """Checks one password at a time: each check takes 32 MB and a tenth of a second of a small machine."""

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for the turn. Raises ApiProblem when too many wait already."""
        if self._waiting >= _MAX_WAITING:
            raise ApiProblem(429, tr("too many logins at once; try again"), {"Retry-After": "2"})
        self._waiting += 1
        try:
            async with self._one:
                yield
        finally:
            self._waiting -= 1


def is_unencrypted(visit: PageRequest) -> bool:
    """Whether the password would cross the network unencrypted."""
    return not visit.secure and not _is_loopback(visit.client)


def is_local(visit: PageRequest) -> bool:
    """Whether the client connects to the admin port directly from loopback. Through a proxy, ours or another, that
    would be no proof: all clients of a proxy on this machine appear with its address.
    """
    return not visit.through_proxy and not visit.relayed and _is_loopback(visit.client)


def _is_loopback(client: str) -> bool:
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
