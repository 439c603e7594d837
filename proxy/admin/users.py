"""The admin pages of accounts and of the audit log."""

import asyncio
from datetime import UTC, datetime, timedelta

from aiohttp import web

from proxy.admin.auditlog import AuditLog
from proxy.admin.auth.passwords import CODE_DAYS, MAX_CODE_DAYS, Passwords, new_password
from proxy.admin.roles import ABOUT_ROLES, Role
from proxy.admin.routing import AdminPage, ApiProblem, Route, form, page_request_of, render, see_other
from proxy.errors import StoreError
from proxy.pages.desktexts import tr

PATH = "/admin/users"
_SHOWN = 200


def routes(passwords: Passwords, audit: AuditLog) -> list[Route]:
    pages = UserPages(passwords)

    async def show_audit(request: web.Request) -> web.StreamResponse:
        entries = await asyncio.to_thread(audit.recent, _SHOWN)
        return render(request, "desk/audit.html.jinja", title=tr("Audit log"), entries=entries, shown=_SHOWN)

    return [
        AdminPage(path=PATH, handler=pages.show, menu=tr("Accounts")),
        AdminPage(path=f"{PATH}/add", handler=pages.add, method="POST"),
        AdminPage(path=f"{PATH}/code", handler=pages.add_code, method="POST"),
        AdminPage(path=f"{PATH}/remove", handler=pages.remove, method="POST"),
        AdminPage(path="/admin/audit", handler=show_audit, menu=tr("Audit log")),
    ]


class UserPages:
    """The pages over the accounts of a data folder."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    async def show(self, request: web.Request) -> web.StreamResponse:
        return await self._render(request)

    async def add(self, request: web.Request) -> web.StreamResponse:
        """Create an account with a password that is shown once, or give an account a new one."""
        fields = await form(request)
        try:
            role = Role(fields.get("role", ""))
        except ValueError:
            raise ApiProblem(400, tr("role: expected admin, reviewer or teacher")) from None
        name, password = fields.get("name", ""), new_password()
        try:
            await asyncio.to_thread(self._passwords.set_account, name, role, password)
        except StoreError as error:
            return await self._render(request, fault=str(error), status=400)
        page_request_of(request).about = f"{name} ({role})"
        return await self._render(request, name=name, secret=password)

    async def add_code(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        name, days = fields.get("name", ""), fields.get("days", "")
        if not (days.isascii() and days.isdigit() and len(days) < 6 and 0 < int(days) <= MAX_CODE_DAYS):
            raise ApiProblem(400, tr("days: expected 1 to {most}", most=MAX_CODE_DAYS))
        ends_at = datetime.now(UTC) + timedelta(days=int(days))
        try:
            code = await asyncio.to_thread(self._passwords.new_code, name, ends_at=ends_at)
        except StoreError as error:
            return await self._render(request, fault=str(error), status=400)
        page_request_of(request).about = name
        return await self._render(request, name=name, secret=code)

    async def remove(self, request: web.Request) -> web.StreamResponse:
        name = (await form(request)).get("name", "")
        page_request_of(request).about = name
        gone = await asyncio.to_thread(self._passwords.remove_account, name)
        notice = tr("Account removed; its sessions have ended.") if gone else tr("No such account.")
        return see_other(request, PATH, notice=notice)

    async def _render(
        self, request: web.Request, *, fault: str = "", name: str = "", secret: str = "", status: int = 200
    ) -> web.StreamResponse:
        kept = await asyncio.to_thread(self._passwords.load)
        return render(
            request,
            "desk/users.html.jinja",
            title=tr("Accounts"),
            status=status,
            accounts=sorted(kept.accounts, key=lambda each: each.name.casefold()),
            roles=ABOUT_ROLES,
            now=datetime.now(UTC),
            fault=fault,
            new_name=name,
            secret=secret,
            code_days=CODE_DAYS,
            max_days=MAX_CODE_DAYS,
        )
