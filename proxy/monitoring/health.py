"""The state of linkmend in one value: connectivity, parent proxy, archives, cache, queues, model, rules, recent
errors.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from proxy.fetching.connectivity import Connectivity
from proxy.monitoring.metrics import MetricsSnapshot
from proxy.monitoring.recentproblems import LoggedProblem, RecentProblems
from proxy.monitoring.traffic import TrafficHour
from proxy.settings import Settings
from proxy.store.reserve import FULL_BYTES, free_bytes
from proxy.store.responses import ResponseStore
from repair.errors import ModelMismatch
from repair.memento.client import MementoClient
from repair.ranking.schoolmodel import NAME, SchoolModel

_REFUSED_HOSTS = 20
ConnectivityState = Literal["up", "down", "offline"]
"""`offline` when the settings say so, whatever the connectivity is."""


class WorkerHealth(Struct, frozen=True, kw_only=True):
    """One process of linkmend."""

    name: str
    pid: int
    resident_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSources:
    """The objects that the health report is read from."""

    snapshot: Callable[[], MetricsSnapshot]
    connectivity: Connectivity
    problems: RecentProblems
    model: SchoolModel
    workers: Callable[[], list[WorkerHealth]]
    started_at: datetime
    data: Path
    parent_fault: Callable[[], str] = lambda: ""
    traffic: Callable[[], tuple[TrafficHour, ...]] = tuple


class ArchiveHealth(Struct, frozen=True, kw_only=True):
    """One web archive: whether it is in use, and until when it is paused after failures."""

    name: str
    state: Literal["asked", "resting", "off"]
    failures: int
    rests_until: datetime | None


class CacheHealth(Struct, frozen=True, kw_only=True):
    """The cache since the start of linkmend; `hit_ratio` is None before the first request."""

    hit_ratio: float | None
    saved_bytes: int
    fetched_bytes: int
    held_bytes: int
    held_responses: int
    max_bytes: int


class DiskHealth(Struct, frozen=True, kw_only=True):
    """The disk of the data folder. While it is `full`, pages are passed on and nothing new is stored."""

    free_bytes: int
    full: bool


class ModelHealth(Struct, frozen=True, kw_only=True):
    """The ranking model in use, and its score on the examples it was trained with."""

    ranking: str
    name: str
    figures: dict[str, float]


class TrustHealth(Struct, frozen=True, kw_only=True):
    """How many of today's devices with https trust our certificate, and the hosts for which it was refused."""

    devices: int
    trusting: int
    refused_hosts: dict[str, int]


class HealthReport(Struct, frozen=True, kw_only=True):
    """The state of linkmend at this moment."""

    line: ConnectivityState
    last_reply_s: int | None
    """Seconds since a site last answered; None before the first answer."""
    started_at: datetime
    parent: str
    parent_fault: str = ""
    """Why no page comes through the parent proxy; empty when all is well, or none is set."""
    archives: list[ArchiveHealth]
    cache: CacheHealth
    disk: DiskHealth
    queues: dict[str, int]
    lost_records: int
    open_connections: int
    trust: TrustHealth
    held_pages: int
    model: ModelHealth
    rules_fault: str
    workers: list[WorkerHealth]
    problems: list[LoggedProblem]


async def health_of(
    sources: HealthSources,
    settings: Settings,
    *,
    responses: ResponseStore,
    mementos: MementoClient,
    held_pages: int,
    rules_fault: str,
) -> HealthReport:
    """Build the report. Raises StoreError when the disk of the cache fails."""
    counted = await asyncio.to_thread(sources.snapshot)
    since_reply_s = sources.connectivity.since_reply_s(time.monotonic())
    return HealthReport(
        line=connectivity_state(sources.connectivity, offline=settings.proxy.offline),
        last_reply_s=None if since_reply_s is None else int(since_reply_s),
        started_at=sources.started_at,
        parent=settings.proxy.parent,
        parent_fault=sources.parent_fault(),
        archives=await _archives(mementos, enabled=settings.archives.enabled and not settings.proxy.offline),
        cache=CacheHealth(
            hit_ratio=counted.hit_ratio,
            saved_bytes=counted.cache_bytes,
            fetched_bytes=counted.origin_bytes,
            held_bytes=await responses.volume(),
            held_responses=await responses.count(),
            max_bytes=settings.cache.max_bytes,
        ),
        disk=await asyncio.to_thread(_disk, sources.data),
        queues=counted.queues,
        lost_records=counted.lost_records,
        open_connections=counted.open_connections,
        trust=_trust(counted),
        held_pages=held_pages,
        model=await asyncio.to_thread(_model, sources.model, settings.repair.ranking),
        rules_fault=rules_fault,
        workers=sources.workers(),
        problems=list(sources.problems.latest()),
    )


def connectivity_state(connectivity: Connectivity, *, offline: bool) -> ConnectivityState:
    return "offline" if offline else "up" if connectivity.is_up() else "down"


async def _archives(mementos: MementoClient, *, enabled: bool) -> list[ArchiveHealth]:
    now, found = time.time(), []
    for name, health in (await mementos.healths()).items():
        resting = health.rests_until > now
        state: Literal["asked", "resting", "off"] = (
            "off" if not enabled else "resting" if resting else "asked"
        )
        until = datetime.fromtimestamp(health.rests_until, UTC) if resting else None
        found.append(ArchiveHealth(name=name, state=state, failures=health.failures, rests_until=until))
    return found


def _trust(counted: MetricsSnapshot) -> TrustHealth:
    most = sorted(counted.refused_hosts.items(), key=lambda pair: (-pair[1], pair[0]))[:_REFUSED_HOSTS]
    return TrustHealth(
        devices=len(counted.trusting.keys() | counted.refusing.keys()),
        trusting=len(counted.trusting),
        refused_hosts=dict(most),
    )


def _disk(data: Path) -> DiskHealth:
    free = free_bytes(data)
    return DiskHealth(free_bytes=free, full=free < FULL_BYTES)


def _model(own: SchoolModel, ranking: str) -> ModelHealth:
    """The figures in the model's own file; none for a ranking that was not learnt."""
    if ranking != "learned":
        return ModelHealth(ranking=ranking, name="", figures={})
    try:
        about = own.current().about
    except ModelMismatch as error:
        return ModelHealth(ranking="plain", name=str(error), figures={})
    scores = about.get("R@1 left out")
    figures = {
        str(name): float(value)
        for name, value in (scores.items() if isinstance(scores, dict) else ())
        if str(name).endswith("moved")  # the other lessons are variations of these
    }
    folders = about.get("folders")
    name = ", ".join(map(str, folders)) if isinstance(folders, list) else ""
    return ModelHealth(ranking=ranking, name=name, figures=figures)


def model_beside(collection: Path) -> SchoolModel:
    """The school's own model in the folder of its collection, else the model that ships with linkmend."""
    return SchoolModel(collection / NAME)
