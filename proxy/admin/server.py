"""The small HTTP servers beside the proxy, for the admin pages and the metrics. They never block it.

A connection that sends nothing, or a byte a minute, is closed; the number of connections is limited. A port that is
in use costs the admin pages, not the proxy.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

from proxy.admin.app import AdminApp
from proxy.admin.routing import AdminContext
from proxy.eventloops import stop_accepting
from proxy.monitoring.recentproblems import LOG_ONLY
from proxy.portal.addresses import PORTAL, PORTAL_HOST
from proxy.settings import split_address

log = logging.getLogger(__name__)
# aiohttp would log a long traceback for each malformed request: anybody could fill the log with them.
_malformed = logging.getLogger(f"{__name__}.malformed")
_malformed.setLevel(logging.CRITICAL)

_MAX_CONNECTIONS = 200
_FIRST_REQUEST_S = 10.0
_KEEP_ALIVE_S = 15.0
_STOP_S = 2.0


class HttpListener:
    """One application on one address or more."""

    def __init__(self, app: web.Application, *, what: str) -> None:
        self._what = what
        self._speechless: dict[asyncio.BaseProtocol, asyncio.TimerHandle] = {}
        app.middlewares.insert(0, self._hear)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_malformed,
            keepalive_timeout=_KEEP_ALIVE_S,
            shutdown_timeout=_STOP_S,
            max_line_size=65_536,
            max_field_size=16_384,
        )
        self._servers: list[asyncio.Server] = []

    async def listen(self, listen: str) -> str:
        """Where it listens now, HOST:PORT with the real port; empty, with a log message, when it cannot listen."""
        host, port = split_address(listen)
        await self._set_up()
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self._connection, host or None, port, backlog=128)
        except OSError as error:
            log.warning("%s: cannot listen on %s: %s", self._what, listen, error.strerror or error)
            return ""
        self._servers.append(server)
        found_host, found_port = server.sockets[0].getsockname()[:2]
        return f"[{found_host}]:{found_port}" if ":" in found_host else f"{found_host}:{found_port}"

    async def listen_unix(self, path: Path) -> None:
        """Listen on a unix socket too; one that an earlier process left is replaced."""
        await self._set_up()
        _remove_socket(path)
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_unix_server(self._connection, str(path), backlog=128))

    async def _set_up(self) -> None:
        if self._runner.server is None:
            await self._runner.setup()

    async def stop(self) -> None:
        for server in self._servers:
            await stop_accepting(server)
        for timer in self._speechless.values():
            timer.cancel()
        await self._runner.cleanup()

    def _connection(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= _MAX_CONNECTIONS:
            return _Full()
        protocol = server()
        loop = asyncio.get_running_loop()
        self._speechless[protocol] = loop.call_later(_FIRST_REQUEST_S, self._hang_up_on, protocol)
        return protocol

    def _hang_up_on(self, protocol: web.RequestHandler) -> None:
        """Close a connection that sends no first request. aiohttp waits for it for ever; later ones must come
        within the keep-alive time.
        """
        self._speechless.pop(protocol, None)
        protocol.force_close()

    @web.middleware
    async def _hear(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        timer = self._speechless.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()
        return await handler(request)


class AdminServer:
    """The admin UI on its own port, and on a unix socket for requests that the proxy forwards."""

    def __init__(self, admin: AdminContext, gateway: Path) -> None:
        self._gateway = gateway
        self._settings = admin.settings
        self._app = AdminApp(admin)
        self._listener = HttpListener(self._app.web, what="desk")
        self.address = ""
        """Where it listens, empty while it does not."""

    async def start(self) -> None:
        if not self._settings().desk.enabled:
            _remove_socket(self._gateway)
            return
        await self._listener.listen_unix(self._gateway)
        self.address = await self._listener.listen(self._settings().desk.listen)
        code = self._app.login.setup_code
        if not await self._app.login.has_password():
            log.warning(
                "desk: no password set yet; set one at http://%s/admin/login?code=%s on this machine, or from"
                " another device at %s/admin with the set-up code %s",
                self.address or PORTAL_HOST,
                code,
                PORTAL,
                code,
                extra=LOG_ONLY,
            )

    async def stop(self) -> None:
        self.address = ""
        await self._listener.stop()


def _remove_socket(path: Path) -> None:
    """Remove what an earlier process left; on a file system in memory."""
    path.unlink(missing_ok=True)


class _Full(asyncio.Protocol):
    """Closes new connections when the limit is reached."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()
