"""The port for monitoring systems: /metrics, /healthz (it answers) and /readyz (it serves users)."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from proxy.monitoring.metrics import MetricsSnapshot, exposition

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(snapshot: Callable[[], MetricsSnapshot], unready: Callable[[], str]) -> web.Application:
    """`unready` returns the reason why users are not served at the moment; empty when they are."""

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(
            body=await asyncio.to_thread(lambda: exposition(snapshot())),
            headers={"Content-Type": CONTENT_TYPE},
        )

    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        reason = unready()
        return web.Response(status=503 if reason else 200, text=f"{reason or 'ready'}\n")

    app = web.Application(client_max_size=1024)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app
