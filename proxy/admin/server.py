"""Listening for the desk and for figures: small HTTP servers beside the proxy that never hold it up.

Whoever opens connections and sends nothing, or a byte a minute, is cut off; so many connections are served and no
more. A port that is taken costs the desk, not the proxy.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from proxy.desk.app import DeskApp
from proxy.desk.door import Door
from proxy.desk.frame import Desk
from proxy.portal.helper import PORTAL
from proxy.processes.loops import close_door
from proxy.settings import split_address

log = logging.getLogger(__name__)
# aiohttp would write a trace of many lines for each request that is no HTTP: anybody could fill the log with them.
_malformed = logging.getLogger(f"{__name__}.malformed")
_malformed.setLevel(logging.CRITICAL)

_MAX_CONNECTIONS = 200
_FIRST_REQUEST_S = 10.0
_KEEP_ALIVE_S = 15.0
_STOP_S = 2.0


class Listener:
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
        """Where it listens now, HOST:PORT with the real port; empty, and a word in the log, when that cannot be."""
        host, port = split_address(listen)
        if self._runner.server is None:
            await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(self._connection, host or None, port, backlog=128)
        except OSError as error:
            log.warning("no %s: cannot listen on %s: %s", self._what, listen, error.strerror or error)
            return ""
        self._servers.append(server)
        found_host, found_port = server.sockets[0].getsockname()[:2]
        return f"[{found_host}]:{found_port}" if ":" in found_host else f"{found_host}:{found_port}"

    async def stop(self) -> None:
        for server in self._servers:
            await close_door(server)
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
        """aiohttp waits for a first request for ever; later ones must come within the keep-alive time."""
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


class DeskServer:
    """The desk on its own port, and on one that only the proxy is told, for those who come through it."""

    def __init__(self, desk: Desk) -> None:
        self.door = Door()
        self._settings = desk.settings
        self._app = DeskApp(desk, self.door)
        self._listener = Listener(self._app.web, what="desk")
        self.address = ""
        """Where it listens, empty while it does not."""
        self.door_address = ""

    async def start(self) -> None:
        if not self._settings().desk.enabled:
            return
        self.door_address = await self._listener.listen("127.0.0.1:0")
        self.address = await self._listener.listen(self._settings().desk.listen)
        code = self._app.login.setup_code
        if not await self._app.login.has_password():
            log.warning(
                "the desk has no password yet: set one at http://%s/admin/login?code=%s on this machine, or elsewhere"
                " at %s/admin with the set-up code %s",
                self.address or self.door_address,
                code,
                PORTAL,
                code,
            )

    async def stop(self) -> None:
        self.address = self.door_address = ""
        await self._listener.stop()


class _Full(asyncio.Protocol):
    """Turns away whoever comes when all places are taken."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()
