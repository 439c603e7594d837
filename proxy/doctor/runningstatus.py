"""How the running linkmend is doing, read from its port for monitoring."""

import aiohttp
from msgspec import Struct
from prometheus_client.parser import text_string_to_metric_families

from proxy.settings import Settings

_WITHIN_S = 8.0


class RunningStatus(Struct, frozen=True, kw_only=True):
    """Counts since the start; `state` is the reason when users are not served."""

    ready: bool
    state: str
    requests: dict[str, int]
    repaired: dict[str, int]
    hit_ratio: float | None
    saved_bytes: int
    fetched_bytes: int
    queues: dict[str, int]
    open_connections: int
    lost_records: int
    resident_bytes: int


async def status_of(settings: Settings) -> RunningStatus | None:
    """None when nobody answers."""
    base = f"http://{settings.metrics.listen}"
    try:
        limit = aiohttp.ClientTimeout(total=_WITHIN_S)
        async with aiohttp.ClientSession(timeout=limit) as session:
            async with session.get(f"{base}/readyz") as response:
                ready, state = response.status == 200, (await response.text()).strip()
            async with session.get(f"{base}/metrics") as response:
                text = await response.text()
        return parse_status(text, ready=ready, state=state)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        return None


def parse_status(text: str, *, ready: bool, state: str) -> RunningStatus:
    """The figures of the metrics in Prometheus's text format. Raises ValueError for another format."""
    known: dict[str, dict[str, int]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            label = next(iter(sample.labels.values()), "")
            known.setdefault(sample.name, {})[label] = int(sample.value)
    requests, sent = known.get("linkmend_requests_total", {}), known.get("linkmend_bytes_total", {})
    asked = requests.get("hit", 0) + requests.get("miss", 0)

    def one(name: str) -> int:
        return known.get(name, {}).get("", 0)

    return RunningStatus(
        ready=ready,
        state=state,
        requests=requests,
        repaired=known.get("linkmend_repaired_total", {}),
        hit_ratio=requests.get("hit", 0) / asked if asked else None,
        saved_bytes=sent.get("cache", 0),
        fetched_bytes=sent.get("origin", 0),
        queues=known.get("linkmend_queue_length", {}),
        open_connections=one("linkmend_open_connections"),
        lost_records=one("linkmend_lost_records_total"),
        resident_bytes=one("linkmend_resident_bytes"),
    )
