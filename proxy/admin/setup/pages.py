"""The set-up: a form until somebody has made the choices, then what `linkmend doctor` finds.

It is open once only: whoever steals a session later must not lead the school's traffic elsewhere. After that,
settings are changed in the file, or with `linkmend setup` on the machine.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from proxy.admin.auth.passwordcheck import check_password
from proxy.admin.collection.importpages import PATH as IMPORT_PATH
from proxy.admin.home.warnings import CHECK_NAMES
from proxy.admin.imports import ImportRefused
from proxy.admin.routing import AdminContext, AdminPage, Route, form, page_request_of, render, see_other
from proxy.doctor.examine import examine
from proxy.doctor.model import Finding
from proxy.errors import LinkmendError
from proxy.pages.desktexts import tr
from proxy.settings import Settings
from proxy.setup import installation
from proxy.setup.choices import (
    NONE,
    network_settings,
    own_address,
    parent_problem,
    shown_networks,
)
from proxy.setup.shipped import DEMO

PATH = "/admin/setup"
OWN = "own"
"""Pages of one's own to begin with: the set-up leads on to their import."""
_MAX_TEXT = 300
_EXAMINES_S = 20.0


def routes(admin: AdminContext) -> list[Route]:
    pages = SetupPages(admin)
    return [
        AdminPage(path=PATH, handler=pages.show, menu=tr("Set-up")),
        AdminPage(path=PATH, handler=pages.save, method="POST"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupForm:
    """What was typed, or the settings in force."""

    listen: str
    networks: str
    parent: str
    parent_https: str
    contact: str
    content: str = NONE
    use_parent: bool = False
    """Although it does not answer."""

    @classmethod
    def of_settings(cls, settings: Settings) -> "SetupForm":
        proxy = settings.proxy
        return cls(
            listen=proxy.listen,
            networks=shown_networks(proxy.clients),
            parent=proxy.parent,
            parent_https=proxy.parent_https,
            contact=proxy.contact,
        )

    @classmethod
    def of_fields(cls, fields: dict[str, str]) -> "SetupForm":
        texts = {name: " ".join(value[:_MAX_TEXT].split()) for name, value in fields.items()}
        return cls(
            listen=texts.get("listen", ""),
            networks=texts.get("networks", ""),
            parent=texts.get("parent", ""),
            parent_https="connect" if texts.get("parent_https") == "connect" else "absolute",
            contact=texts.get("contact", ""),
            content=content if (content := texts.get("content", "")) in (DEMO, OWN) else NONE,
            use_parent=texts.get("use_parent") == "yes",
        )

    def chosen(self) -> dict[str, Any]:
        """The settings. Raises SettingsError."""
        chosen = network_settings(self.listen, self.networks)
        if self.parent not in ("", NONE):
            chosen |= {"proxy.parent": self.parent, "proxy.parent_https": self.parent_https}
        return chosen | ({"proxy.contact": self.contact} if self.contact else {})


class SetupPages:
    """The form, and the result."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin

    async def show(self, request: web.Request) -> web.StreamResponse:
        if await asyncio.to_thread(self._admin.is_set_up):
            return await self._result(request)
        return await self._form(request, SetupForm.of_settings(self._admin.settings()))

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Write the settings and take them over, or show the form again with what is wrong."""
        given = SetupForm.of_fields(await form(request))
        if await asyncio.to_thread(self._admin.is_set_up):
            return see_other(request, PATH, notice=tr("linkmend is set up already; nothing was changed."))
        try:
            chosen = given.chosen()
        except LinkmendError as error:
            return await self._form(request, given, fault=str(error))
        problem = "" if given.parent in ("", NONE) else await parent_problem(given.parent)
        if problem and not given.use_parent:
            return await self._form(request, given, parent_fault=problem)
        page_request_of(request).about = ", ".join(sorted(chosen)) or "defaults"
        path = await asyncio.to_thread(self._admin.settings_file) or installation.own_settings_path()
        try:
            await asyncio.to_thread(installation.write_settings, path, chosen)
        except LinkmendError as error:
            text = installation.new_settings_text(chosen)
            return await self._form(request, given, fault=str(error), file=str(path), text=text)
        await asyncio.to_thread(installation.note_done, self._admin.data)
        self._reload()
        imports, next_page = self._admin.imports, PATH
        if imports is not None and given.content == DEMO:
            with suppress(ImportRefused):
                imports.begin_demo()
        elif imports is not None and given.content == OWN:
            next_page = IMPORT_PATH
        return see_other(request, next_page, notice=tr("Settings written to {file}.", file=str(path)))

    async def _form(
        self,
        request: web.Request,
        given: SetupForm,
        *,
        fault: str = "",
        parent_fault: str = "",
        file: str = "",
        text: str = "",
    ) -> web.Response:
        certificate, fingerprint = await asyncio.to_thread(installation.make_certificate, self._admin.data)
        return render(
            request,
            "desk/setup.html.jinja",
            title=tr("Set-up"),
            status=400 if fault or parent_fault else 200,
            given=given,
            fault=fault,
            parent_fault=parent_fault,
            file=file,
            text=text,
            own_address=own_address(),
            certificate=str(certificate),
            fingerprint=fingerprint,
            is_service="INVOCATION_ID" in os.environ,
            data=str(self._admin.data),
        )

    async def _result(self, request: web.Request) -> web.Response:
        findings: list[Finding] | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXAMINES_S):
                findings = await examine(self._admin.settings(), self._admin.data, (check_password,))
        running = await asyncio.to_thread(self._admin.running)
        return render(
            request,
            "desk/setupdone.html.jinja",
            title=tr("Set-up"),
            findings=findings,
            checks=CHECK_NAMES,
            config=running.config if running is not None else "",
            listen=running.listen if running is not None else self._admin.settings().proxy.listen,
            can_import=self._admin.imports is not None,
        )

    def _reload(self) -> None:
        """Have all processes read the settings, as `systemctl reload linkmend` does."""
        running = self._admin.running()
        if running is not None:
            with suppress(OSError):
                os.kill(running.pid, signal.SIGHUP)
