"""The API of growth."""

import asyncio
from datetime import date, datetime

from msgspec import Struct

from proxy.admin.growth.service import GrowthReader, moment
from proxy.admin.routing import AdminContext, ApiCall, ApiRequest, Route
from proxy.misses.lists import MissTally
from repair.growing.growthstore import BroughtBy, Night


class GrowthTally(Struct, kw_only=True):
    """How often something was missed, and how often the user opened a suggestion."""

    times: int
    opened: int


class TopicWeeks(Struct, kw_only=True):
    """The misses of a topic ("" for none), a tally for each week."""

    topic: str
    weeks: list[GrowthTally]


class NightInfo(Struct, kw_only=True):
    """A night: the pages it brought, by how, and what it cost."""

    started_at: datetime
    ended_at: datetime | None
    stopped: str
    pages: dict[BroughtBy, int]
    received_bytes: int


class GrowthInfo(Struct, kw_only=True):
    """Misses by topic and week (`weeks` are their first days), misses of `helped` addresses before and after a night
    brought something for them, and the latest nights."""

    weeks: list[date]
    topics: list[TopicWeeks]
    helped: int
    before: GrowthTally
    after: GrowthTally
    nights: list[NightInfo]


def routes(admin: AdminContext) -> list[Route]:
    if admin.topics is None:
        return []
    reader = GrowthReader(admin.misses, admin.topics)

    async def show(given: ApiRequest) -> GrowthInfo:
        found = await asyncio.to_thread(reader.read, datetime.now().astimezone())
        return GrowthInfo(
            weeks=[begin.date() for begin in found.begins],
            topics=[
                TopicWeeks(topic=each.topic, weeks=[_tally(week) for week in each.weeks])
                for each in found.topics
            ],
            helped=found.helped,
            before=_tally(found.before),
            after=_tally(found.after),
            nights=[_night(night) for night in found.nights],
        )

    return [
        ApiCall(
            method="GET",
            path="/admin/api/growth",
            handler=show,
            summary="Misses by topic and week, and what the nights brought",
            answer=GrowthInfo,
        )
    ]


def _tally(tally: MissTally) -> GrowthTally:
    return GrowthTally(times=tally.times, opened=tally.opened)


def _night(night: Night) -> NightInfo:
    return NightInfo(
        started_at=moment(night.started_at),
        ended_at=None if night.ended_at is None else moment(night.ended_at),
        stopped=night.stopped,
        pages=dict(night.pages),
        received_bytes=night.received,
    )
