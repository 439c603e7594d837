"""The port for monitoring systems."""

from aiohttp.test_utils import TestClient, TestServer

from proxy.monitoring.endpoints import create_app
from proxy.monitoring.metrics import MetricsSnapshot


async def test_endpoints_serve_metrics_liveness_and_readiness():
    reasons = ["not listening yet", ""]
    app = create_app(lambda: MetricsSnapshot(requests={"hit": 3}), lambda: reasons[0])
    async with TestClient(TestServer(app)) as client:
        figures = await client.get("/metrics")
        assert 'linkmend_requests_total{outcome="hit"} 3.0' in await figures.text()
        assert figures.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert (await client.get("/healthz")).status == 200
        unready = await client.get("/readyz")
        assert (unready.status, await unready.text()) == (503, "not listening yet\n")
        reasons.pop(0)
        assert (await client.get("/readyz")).status == 200
