"""How linkmend fares: the line, the parent, archives, cache, queues, model, rules and recent errors, in one value."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from proxy.fetching.line import Line
from proxy.settings import Settings
from proxy.store.ballast import FULL_BYTES, free_bytes
from proxy.store.responses import ResponseStore
from proxy.watching.metrics import Snapshot
from proxy.watching.recent import Logged, RecentProblems
from repair.errors import ModelMismatch
from repair.memento.client import MementoClient
from repair.ownmodel import NAME, OwnModel

LineState = Literal["up", "down", "offline"]
"""`offline` when the admin says so, whatever the line is."""


class Worker(Struct, frozen=True, kw_only=True):
    """One process of linkmend."""

    name: str
    pid: int
    resident_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSources:
    """Who knows how linkmend fares."""

    snapshot: Callable[[], Snapshot]
    line: Line
    problems: RecentProblems
    model: OwnModel
    workers: Callable[[], list[Worker]]
    started_at: datetime
    data: Path


class ArchiveHealth(Struct, frozen=True, kw_only=True):
    """One web archive: whether it is asked, and until when it is left alone after failures."""

    name: str
    state: Literal["asked", "resting", "off"]
    failures: int
    rests_until: datetime | None


class CacheHealth(Struct, frozen=True, kw_only=True):
    """The cache since the start of linkmend; `hit_ratio` is None before anything was asked."""

    hit_ratio: float | None
    saved_bytes: int
    fetched_bytes: int
    held_bytes: int
    held_responses: int
    max_bytes: int


class DiskHealth(Struct, frozen=True, kw_only=True):
    """The disk of the data folder. On a `full` one pages are passed on, and nothing new is kept."""

    free_bytes: int
    full: bool


class ModelHealth(Struct, frozen=True, kw_only=True):
    """The ranking in use, and what it scored when it was learnt."""

    ranking: str
    name: str
    figures: dict[str, float]


class Health(Struct, frozen=True, kw_only=True):
    """How linkmend fares at this moment."""

    line: LineState
    started_at: datetime
    parent: str
    archives: list[ArchiveHealth]
    cache: CacheHealth
    disk: DiskHealth
    queues: dict[str, int]
    lost_records: int
    open_connections: int
    held_pages: int
    model: ModelHealth
    rules_fault: str
    workers: list[Worker]
    problems: list[Logged]


async def health_of(
    sources: HealthSources,
    settings: Settings,
    *,
    responses: ResponseStore,
    mementos: MementoClient,
    held_pages: int,
    rules_fault: str,
) -> Health:
    """Raises StoreError when the cache's disk fails."""
    counted = await asyncio.to_thread(sources.snapshot)
    return Health(
        line=line_state(sources.line, offline=settings.proxy.offline),
        started_at=sources.started_at,
        parent=settings.proxy.parent,
        archives=await _archives(mementos, asked=settings.archives.enabled and not settings.proxy.offline),
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
        held_pages=held_pages,
        model=await asyncio.to_thread(_model, sources.model, settings.repair.ranking),
        rules_fault=rules_fault,
        workers=sources.workers(),
        problems=list(sources.problems.latest()),
    )


def line_state(line: Line, *, offline: bool) -> LineState:
    return "offline" if offline else "up" if line.is_up() else "down"


async def _archives(mementos: MementoClient, *, asked: bool) -> list[ArchiveHealth]:
    now, found = time.time(), []
    for name, health in (await mementos.healths()).items():
        resting = health.rests_until > now
        state: Literal["asked", "resting", "off"] = "off" if not asked else "resting" if resting else "asked"
        until = datetime.fromtimestamp(health.rests_until, UTC) if resting else None
        found.append(ArchiveHealth(name=name, state=state, failures=health.failures, rests_until=until))
    return found


def _disk(data: Path) -> DiskHealth:
    free = free_bytes(data)
    return DiskHealth(free_bytes=free, full=free < FULL_BYTES)


def _model(own: OwnModel, ranking: str) -> ModelHealth:
    """The figures that the model's own file tells of; none for a ranking that was not learnt."""
    if ranking != "learned":
        return ModelHealth(ranking=ranking, name="", figures={})
    try:
        about = own.current().about
    except ModelMismatch as error:
        return ModelHealth(ranking="plain", name=str(error), figures={})
    told = about.get("R@1")
    figures = {str(name): float(value) for name, value in told.items()} if isinstance(told, dict) else {}
    folders = about.get("folders")
    name = ", ".join(map(str, folders)) if isinstance(folders, list) else ""
    return ModelHealth(ranking=ranking, name=name, figures=figures)


def model_beside(collection: Path) -> OwnModel:
    """The school's own model in the folder of its collection, else the one that ships."""
    return OwnModel(collection / NAME)
