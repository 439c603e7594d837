"""A backup as a download, for admins who do not reach the machine: without the cache and the authority's key."""

import asyncio
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from aiohttp import web

from proxy.admin.auth.signin import is_unencrypted
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, page_request_of
from proxy.backup.contents import STAGING
from proxy.backup.create import BackupRequest, make_backup
from proxy.errors import BackupError
from proxy.pages.desktexts import tr

_PIECE = 256 * 1024


def routes(admin: AdminContext) -> list[Route]:
    one_at_a_time = asyncio.Lock()

    async def download(request: web.Request) -> web.StreamResponse:
        if is_unencrypted(page_request_of(request)):
            raise ApiProblem(403, tr("open the desk at https://linkmend.internal/admin for a backup"))
        if one_at_a_time.locked():
            raise ApiProblem(409, tr("another backup is being made"))
        async with one_at_a_time:
            return await _send(request, admin)

    return [AdminPage(path="/admin/access/backup", handler=download, method="POST")]


async def _send(request: web.Request, admin: AdminContext) -> web.StreamResponse:
    made = admin.data / f"{STAGING}-desk.tar.zst"
    settings = await asyncio.to_thread(admin.settings_file)
    wanted = BackupRequest(cache=False, ca=False, settings=settings, rules=_rules_folder(admin))
    try:
        await asyncio.to_thread(make_backup, admin.data, made, wanted)
        with await asyncio.to_thread(made.open, "rb") as file:
            made.unlink()  # it is there as long as it is open
            name = f"linkmend-{datetime.now().astimezone():%Y-%m-%d}.tar.zst"
            headers = {
                "Content-Type": "application/zstd",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            while piece := await asyncio.to_thread(file.read, _PIECE):
                await response.write(piece)
            await response.write_eof()
            return response
    except BackupError as error:
        raise ApiProblem(503, str(error)) from error
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def _rules_folder(admin: AdminContext) -> Path | None:
    return admin.rules.live.folder if admin.rules is not None else None
