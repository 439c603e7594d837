"""The login: setting the first password, logging in and out, changing the password, and API tokens."""

import asyncio
import logging
import secrets

from aiohttp import web

from proxy.admin.auth.middleware import LOGIN
from proxy.admin.auth.passwords import MAX_LENGTH, MIN_LENGTH, Passwords, matches, password_problem
from proxy.admin.auth.scopes import ABOUT, ALL
from proxy.admin.auth.signin import SignIn, is_unencrypted
from proxy.admin.roles import home_of
from proxy.admin.routing import (
    AdminPage,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.errors import StoreError
from proxy.pages.desktexts import COOKIE, tr
from proxy.pages.language import LANGUAGES

log = logging.getLogger(__name__)

_YEAR_S = 365 * 86_400
_CODE_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


async def choose_language(request: web.Request) -> web.StreamResponse:
    """Keep the language that somebody chose for the desk, in a cookie that says nothing else."""
    fields = await form(request)
    response = see_other(request, fields.get("back", "/admin"))
    if fields.get("language") in LANGUAGES:
        response.set_cookie(
            COOKIE, fields["language"], path="/", max_age=_YEAR_S, samesite="Lax", httponly=True
        )
    return response


class Login:
    """The pages that need no login, and those that change it."""

    def __init__(self, passwords: Passwords, sign_in: SignIn, *, first_page: str) -> None:
        """`first_page` is where somebody goes on who has set the first password."""
        self._passwords = passwords
        self._sign_in = sign_in
        self._first_page = first_page
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
            AdminPage(path="/admin/language", handler=choose_language, method="POST", open_to_all=True),
            AdminPage(path="/admin/logout", handler=self._log_out, method="POST"),
            AdminPage(path="/admin/access", handler=self._access, menu=tr("Access")),
            AdminPage(path="/admin/access/password", handler=self._change, method="POST"),
            AdminPage(path="/admin/access/token", handler=self._new_token, method="POST"),
            AdminPage(path="/admin/access/token/remove", handler=self._remove_token, method="POST"),
        ]

    async def has_password(self) -> bool:
        return (await asyncio.to_thread(self._passwords.load)).password is not None

    async def _show(self, request: web.Request) -> web.StreamResponse:
        role = page_request_of(request).role
        if role is not None:
            return see_other(request, home_of(role))
        return await self._page(request)

    async def _page(self, request: web.Request, *, status: int = 200, fault: str = "") -> web.Response:
        visit = page_request_of(request)
        if not await self.has_password():
            return render(
                request,
                "desk/first.html.jinja",
                title=tr("Set a password"),
                status=status,
                fault=fault,
                code=request.query.get("code", "")[:40],
                plain=is_unencrypted(visit),
                min_length=MIN_LENGTH,
                max_length=MAX_LENGTH,
            )
        return render(
            request,
            "desk/login.html.jinja",
            title=tr("Log in"),
            status=status,
            fault=fault,
            plain=is_unencrypted(visit),
            next=request.query.get("next", ""),
        )

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = page_request_of(request)
        kept = await asyncio.to_thread(self._passwords.load)
        if kept.password is None:
            return await self._page(request)
        session = await self._sign_in.check(visit, fields.get("username", ""), fields.get("password", ""))
        if session is None:
            return await self._page(request, status=403, fault=tr("Wrong name or password."))
        return await self._sign_in.begin(request, session, fields.get("next", ""))

    async def _set_first_password(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        visit = page_request_of(request)
        if await self.has_password():
            return see_other(request, LOGIN)
        self._sign_in.check_rate(visit)
        code = fields.get("code", "").strip().upper().encode("utf-8", "replace")
        # The setup code is needed on this machine too: clients of a proxy or tunnel that runs here appear with its
        # address.
        if not secrets.compare_digest(code, self.setup_code.encode()):
            return await self._page(
                request, status=403, fault=tr("Wrong set-up code. It changes each time linkmend starts.")
            )
        fault = password_problem(fields.get("password", ""), fields.get("again", ""))
        if fault:
            return await self._page(request, status=400, fault=fault)
        async with self._sign_in.hashing.take():
            is_first = await asyncio.to_thread(self._passwords.set_first_password, fields["password"])
        if not is_first:
            return see_other(request, LOGIN)
        self._sign_in.forget_failures(visit)
        log.info("desk: first password set from %s", visit.client)
        session = await self._sign_in.check(visit, "", fields["password"])
        if session is None:
            return see_other(request, LOGIN)
        return await self._sign_in.begin(request, session, self._first_page)

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        return self._sign_in.end(request, LOGIN)

    async def _access(self, request: web.Request) -> web.StreamResponse:
        return await self._access_page(request)

    async def _access_page(
        self, request: web.Request, *, status: int = 200, fault: str = "", token: str = ""
    ) -> web.Response:
        kept = await asyncio.to_thread(self._passwords.load)
        return render(
            request,
            "desk/access.html.jinja",
            title=tr("Access"),
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
        self._sign_in.check_rate(visit)
        async with self._sign_in.hashing.take():
            right = kept.password is not None and await asyncio.to_thread(
                matches, fields.get("old", ""), kept.password
            )
        fault = (
            password_problem(fields.get("password", ""), fields.get("again", ""))
            if right
            else tr("Wrong password.")
        )
        if fault:
            return await self._access_page(request, status=400, fault=fault)
        await asyncio.to_thread(self._passwords.set_password, fields["password"])
        self._sign_in.end_all()
        log.info("desk: password changed from %s", visit.client)
        return see_other(request, LOGIN)

    async def _new_token(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        name, scopes = (
            fields.get("name", "").strip()[:60],
            [each for each in ALL if f"scope-{each}" in fields],
        )
        if not name.isprintable() or not name:
            return await self._access_page(request, status=400, fault=tr("Enter a name for the token."))
        if not scopes:
            return await self._access_page(
                request, status=400, fault=tr("Choose at least one right for the token.")
            )
        try:
            token = await asyncio.to_thread(self._passwords.new_token, name, scopes)
        except StoreError as error:
            return await self._access_page(request, status=400, fault=str(error))
        page_request_of(request).about = name
        return await self._access_page(request, token=token)

    async def _remove_token(self, request: web.Request) -> web.StreamResponse:
        name = (await form(request)).get("name", "")
        gone = await asyncio.to_thread(self._passwords.remove_token, name)
        page_request_of(request).about = name
        notice = tr("Token removed.") if gone else tr("No such token.")
        return see_other(request, "/admin/access", notice=notice)
