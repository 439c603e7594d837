"""The admin page on which files are imported into the collection."""

import asyncio

from aiohttp import web

from proxy.admin.imports import DeskImports, ImportRefused, ImportState
from proxy.admin.routing import AdminContext, AdminPage, Route, form, page_request_of, render, see_other
from proxy.pages.desktexts import tr
from proxy.sizes import size

PATH = "/admin/collection/import"


def routes(admin: AdminContext) -> list[Route]:
    if admin.imports is None:
        return []
    pages = ImportPages(admin.imports)
    return [
        AdminPage(path=PATH, handler=pages.show),
        AdminPage(path=PATH, handler=pages.begin, method="POST"),
    ]


class ImportPages:
    """The list of files that can be imported, and how the latest import stands."""

    def __init__(self, imports: DeskImports) -> None:
        self._imports = imports

    async def show(self, request: web.Request) -> web.StreamResponse:
        try:
            waiting, fault = await asyncio.to_thread(self._imports.waiting), ""
        except ImportRefused as error:
            waiting, fault = (), error.words
        latest = self._imports.latest
        return render(
            request,
            "desk/import.html.jinja",
            title=tr("Import pages"),
            waiting=waiting,
            fault=fault,
            folder=str(self._imports.folder),
            latest=latest,
            is_running=latest is not None and latest.state is ImportState.RUNNING,
            size=size,
        )

    async def begin(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        name = fields.get("name", "")
        page_request_of(request).about = name
        try:
            await self._imports.begin(name, fields.get("base_url", "").strip())
        except ImportRefused as error:
            return see_other(request, PATH, notice=error.words)
        return see_other(request, PATH)
