"""Missed pages for programs: the same lists and deeds as on the pages."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from aiohttp import web
from msgspec import Meta, Struct

from proxy.desk.frame import Call, Desk, Given, Problem, Route
from proxy.desk.missaddress import known_of, offers_now
from proxy.desk.missdeeds import Deeds
from proxy.desk.misspages import exported
from proxy.desk.missquery import MissQuery, PagedQuery, Url, wanted
from proxy.misses.record import MissRecord
from proxy.pages.display import link_target
from proxy.review.lists import Chosen, Group, Lists, MissedAddress, Tally
from proxy.review.marks import Marked
from proxy.review.wanted import Wanted
from repair.experience import Choice
from repair.model import MissKind
from repair.pins import Pin

_BASE = "/admin/api/misses"
T = TypeVar("T")


class Addresses(Struct, kw_only=True):
    """Missed addresses, the most missed first; `more` when there are further ones."""

    addresses: tuple[MissedAddress, ...]
    more: bool


class Groups(Struct, kw_only=True):
    """Sites, or pages with dead links."""

    groups: tuple[Group, ...]
    more: bool


class Choices(Struct, kw_only=True):
    """What readers opened in the place of what they missed."""

    choices: tuple[Chosen, ...]
    more: bool


class Records(Struct, kw_only=True):
    """Single misses, the latest first."""

    misses: tuple[MissRecord, ...]
    more: bool


class KindTally(Struct, kw_only=True):
    """How often a kind of miss occurred."""

    kind: MissKind
    tally: Tally


class Summary(Struct, kw_only=True):
    """All misses that are asked for, in numbers."""

    addresses: int
    tally: Tally
    kinds: tuple[KindTally, ...]


class Moment(Struct, kw_only=True):
    """A quarter of an hour in which something was missed."""

    at: datetime
    tally: Tally


class OfAddress(Struct, kw_only=True):
    """Which address."""

    url: Url


class OrderedQuery(PagedQuery, kw_only=True, frozen=True):
    """A page of addresses in an order."""

    order: Literal["times", "latest"] = "times"


class Offer(Struct, kw_only=True):
    """A page that readers would be offered now."""

    url: str
    title: str
    confidence: float
    held: bool


class About(Struct, kw_only=True):
    """One address with all that is known of it; `missed` is null when nobody missed it.

    `choices` are clicks in the miss log; `counted` is what has a say in the order of equals: how many networks stand
    behind it, or which school told it.
    """

    url: str
    missed: MissedAddress | None
    pin: Pin | None
    marks: tuple[str, ...]
    offers: tuple[Offer, ...]
    sources: tuple[Group, ...]
    choices: tuple[Chosen, ...]
    counted: tuple[Choice, ...]


class Pinning(Struct, kw_only=True):
    """A page to be offered first for an address."""

    url: Url
    target: Annotated[str, Meta(min_length=1, max_length=2_000)]


class OfChoice(Struct, kw_only=True):
    """A page that was chosen for an address."""

    url: Url
    chosen: Url


class Marking(Struct, kw_only=True):
    """A mark on an address: left out of lists, or wrongly taken for missing."""

    url: Url
    mark: Literal["ignored", "wrong"]


class MarkQuery(Struct, kw_only=True):
    """Which marks."""

    mark: Literal["ignored", "wrong"]
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class PinQuery(Struct, kw_only=True):
    """A page of pins."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Redirecting(Struct, kw_only=True):
    """Where a redirect rule is to lead."""

    url: Url
    to: Annotated[str, Meta(min_length=1, max_length=2_000)]


class Erasing(Struct, kw_only=True):
    """What to erase for good: an address, or all misses of a reader (the code that stands in the log)."""

    url: Annotated[str, Meta(max_length=4_000)] = ""
    client: Annotated[str, Meta(max_length=100)] = ""


class Erased(Struct, kw_only=True):
    """How many misses were erased."""

    misses: int


def routes(desk: Desk) -> list[Route]:
    if desk.review is None:
        return []
    calls = MissCalls(desk)
    return [*calls.lists(), *calls.deeds()]


class MissCalls:
    """The calls over what the desk has."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._deeds = Deeds(desk)

    def lists(self) -> list[Route]:
        """What can be asked."""
        return [
            _get("", self._records, "Single misses, the latest first", Records, PagedQuery),
            _get("/summary", self._summary, "All misses in numbers", Summary, MissQuery),
            _get("/addresses", self._addresses, "Missed addresses", Addresses, OrderedQuery),
            _get("/sites", self._sites, "Sites whose pages were missed", Groups, PagedQuery),
            _get("/sources", self._sources, "Pages with dead links", Groups, PagedQuery),
            _get("/choices", self._choices, "What readers opened instead", Choices, PagedQuery),
            _get("/trend", self._trend, "Misses over time", tuple[Moment, ...], MissQuery),
            _get("/address", self._about, "One address with all that is known of it", About, OfAddress),
            _get("/pins", self._pins, "Pinned pages, the latest first", tuple[Pin, ...], PinQuery),
            _get("/marks", self._marks, "Marked addresses, the latest first", tuple[Marked, ...], MarkQuery),
            _get("/export.csv", self._csv, "Every miss as CSV", str, MissQuery, media_type="text/csv"),
            _get(
                "/export.jsonl",
                self._jsonl,
                "Every miss as lines of JSON",
                str,
                MissQuery,
                media_type="application/x-ndjson",
            ),
        ]

    def deeds(self) -> list[Route]:
        """What can be done."""
        return [
            _change("POST", "/pins", self._pin, "Pin a page for an address", answer=Pin, body=Pinning),
            _change("DELETE", "/pins", self._unpin, "Unpin an address", query=OfAddress, problems=(404,)),
            _change("DELETE", "/choices", self._forget_choice, "Forget a choice", query=OfChoice),
            _change("POST", "/marks", self._mark, "Mark an address", body=Marking),
            _change("DELETE", "/marks", self._unmark, "Take a mark off an address", query=Marking),
            _change(
                "POST", "/redirects", self._redirect, "Add a redirect rule for an address", body=Redirecting
            ),
            _change(
                "POST", "/erase", self._erase, "Erase an address or a reader", answer=Erased, body=Erasing
            ),
        ]

    async def _listed(
        self, given: Given, read: Callable[[Lists, Wanted, int], tuple[T, ...]]
    ) -> tuple[tuple[T, ...], bool]:
        """A page of a list, and whether there is more of it."""
        asked, limit = _wanted(given), given.query.limit
        rows = await asyncio.to_thread(read, self._deeds.review.lists, asked, limit + 1)
        return rows[:limit], len(rows) > limit

    async def _records(self, given: Given) -> Records:
        offset = given.query.offset
        rows, more = await self._listed(
            given, lambda lists, asked, limit: lists.records(asked, limit, offset=offset)
        )
        return Records(misses=rows, more=more)

    async def _addresses(self, given: Given) -> Addresses:
        query = given.query
        rows, more = await self._listed(
            given,
            lambda lists, asked, limit: lists.addresses(
                asked, limit, offset=query.offset, latest=query.order == "latest"
            ),
        )
        return Addresses(addresses=rows, more=more)

    async def _sites(self, given: Given) -> Groups:
        offset = given.query.offset
        rows, more = await self._listed(
            given, lambda lists, asked, limit: lists.sites(asked, limit, offset=offset)
        )
        return Groups(groups=rows, more=more)

    async def _sources(self, given: Given) -> Groups:
        offset = given.query.offset
        rows, more = await self._listed(
            given, lambda lists, asked, limit: lists.sources(asked, limit, offset=offset)
        )
        return Groups(groups=rows, more=more)

    async def _choices(self, given: Given) -> Choices:
        offset = given.query.offset
        rows, more = await self._listed(
            given, lambda lists, asked, limit: lists.choices(asked, limit, offset=offset)
        )
        return Choices(choices=rows, more=more)

    async def _summary(self, given: Given) -> Summary:
        lists, asked = self._deeds.review.lists, _wanted(given)
        totals = await asyncio.to_thread(lists.totals, asked)
        kinds = await asyncio.to_thread(lists.kinds, asked)
        return Summary(
            addresses=totals.addresses,
            tally=totals.tally,
            kinds=tuple(KindTally(kind=kind, tally=tally) for kind, tally in kinds),
        )

    async def _trend(self, given: Given) -> tuple[Moment, ...]:
        moments = await asyncio.to_thread(self._deeds.review.lists.moments, _wanted(given))
        return tuple(Moment(at=at, tally=tally) for at, tally in moments)

    async def _about(self, given: Given) -> About:
        url = given.query.url
        known = await asyncio.to_thread(known_of, self._desk, self._deeds, url)
        offers = await offers_now(self._desk, url, known)
        return About(
            url=url,
            missed=known.missed,
            pin=await asyncio.to_thread(self._deeds.pins.of, url),
            marks=tuple(sorted(await asyncio.to_thread(self._deeds.review.marks.of, url))),
            offers=tuple(
                Offer(url=each.url, title=each.title, confidence=each.confidence, held=each.held)
                for each in offers
                if link_target(each.url)
            ),
            sources=known.sources,
            choices=known.choices,
            counted=known.counted,
        )

    async def _pins(self, given: Given) -> tuple[Pin, ...]:
        return await asyncio.to_thread(self._deeds.pins.list, given.query.limit, offset=given.query.offset)

    async def _marks(self, given: Given) -> tuple[Marked, ...]:
        query = given.query
        return await asyncio.to_thread(
            self._deeds.review.marks.list, query.mark, query.limit, offset=query.offset
        )

    async def _csv(self, given: Given) -> web.StreamResponse:
        return await exported(given.request, self._deeds, _wanted(given), "csv")

    async def _jsonl(self, given: Given) -> web.StreamResponse:
        return await exported(given.request, self._deeds, _wanted(given), "jsonl")

    async def _pin(self, given: Given) -> Pin:
        return await self._deeds.pin(given.body.url, given.body.target)

    async def _unpin(self, given: Given) -> None:
        await self._deeds.unpin(given.query.url)

    async def _forget_choice(self, given: Given) -> None:
        await self._deeds.forget_choice(given.query.url, given.query.chosen)

    async def _mark(self, given: Given) -> None:
        await self._deeds.mark(given.body.url, given.body.mark)

    async def _unmark(self, given: Given) -> None:
        await self._deeds.unmark(given.query.url, given.query.mark)

    async def _redirect(self, given: Given) -> None:
        await self._deeds.redirect(given.body.url, given.body.to)

    async def _erase(self, given: Given) -> Erased:
        url, client = given.body.url, given.body.client
        if bool(url) == bool(client):
            raise Problem(400, "name either an address or a reader")
        erased = self._deeds.erase(url) if url else self._deeds.erase_reader(client)
        return Erased(misses=await erased)


def _wanted(given: Given) -> Wanted:
    return wanted(given.query, datetime.now().astimezone())


def _get(
    path: str,
    handler: Any,
    summary: str,
    answer: Any,
    query: type[Struct],
    *,
    media_type: str = "application/json",
) -> Call:
    return Call(
        method="GET",
        path=_BASE + path,
        handler=handler,
        summary=summary,
        answer=answer,
        query=query,
        media_type=media_type,
    )


def _change(
    method: str,
    path: str,
    handler: Any,
    summary: str,
    *,
    answer: Any = None,
    body: type[Struct] | None = None,
    query: type[Struct] | None = None,
    problems: tuple[int, ...] = (),
) -> Call:
    return Call(
        method=method,
        path=_BASE + path,
        handler=handler,
        summary=summary,
        answer=answer,
        status=204 if answer is None else 200,
        body=body,
        query=query,
        problems=problems,
    )
