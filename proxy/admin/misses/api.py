"""The API of missed pages: the same lists and actions as on the admin pages."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from aiohttp import web
from msgspec import Meta, Struct

from proxy.admin.misses.actions import MissActions
from proxy.admin.misses.address import address_details_of, offers_now
from proxy.admin.misses.pages import export_response
from proxy.admin.misses.query import MissQuery, PagedQuery, Url, filter_of
from proxy.admin.routing import AdminContext, ApiCall, ApiProblem, ApiRequest, Route
from proxy.misses.filters import MissFilter
from proxy.misses.lists import ChosenPage, MissedAddress, MissGroup, MissLists, MissTally
from proxy.misses.marks import MarkedAddress
from proxy.misses.record import MissRecord
from proxy.pages.display import link_target
from repair.collection.pins import Pin
from repair.evidence.choices import Choice
from repair.model import MissKind

_BASE = "/admin/api/misses"
T = TypeVar("T")


class AddressList(Struct, kw_only=True):
    """Missed addresses, the most missed first; `more` is true when the list goes on."""

    addresses: tuple[MissedAddress, ...]
    more: bool


class GroupList(Struct, kw_only=True):
    """Sites, or pages with dead links."""

    groups: tuple[MissGroup, ...]
    more: bool


class ChoiceList(Struct, kw_only=True):
    """The pages that users opened in place of missed ones."""

    choices: tuple[ChosenPage, ...]
    more: bool


class RecordList(Struct, kw_only=True):
    """Single misses, the latest first."""

    misses: tuple[MissRecord, ...]
    more: bool


class KindCount(Struct, kw_only=True):
    """The number of misses of one kind."""

    kind: MissKind
    tally: MissTally


class MissSummary(Struct, kw_only=True):
    """The figures of all misses that match the query."""

    addresses: int
    tally: MissTally
    kinds: tuple[KindCount, ...]


class TrendPoint(Struct, kw_only=True):
    """A quarter of an hour with at least one miss."""

    at: datetime
    tally: MissTally


class AddressQuery(Struct, kw_only=True):
    """One address."""

    url: Url


class OrderedMissQuery(PagedQuery, kw_only=True, frozen=True):
    """One page of addresses, in an order."""

    order: Literal["times", "latest"] = "times"


class OfferInfo(Struct, kw_only=True):
    """A page that users would be offered now."""

    url: str
    title: str
    confidence: float
    held: bool


class AddressInfo(Struct, kw_only=True):
    """One address with everything known about it; `missed` is null when nobody missed it.

    `choices` are clicks in the miss log. `counted` is what ranks alternatives of equal score: the number of
    networks behind a choice, or the school that reported it.
    """

    url: str
    missed: MissedAddress | None
    pin: Pin | None
    marks: tuple[str, ...]
    offers: tuple[OfferInfo, ...]
    sources: tuple[MissGroup, ...]
    choices: tuple[ChosenPage, ...]
    counted: tuple[Choice, ...]


class PinRequest(Struct, kw_only=True):
    """A page to offer first for an address."""

    url: Url
    target: Annotated[str, Meta(min_length=1, max_length=2_000)]


class ChoiceQuery(Struct, kw_only=True):
    """A page that was chosen for an address."""

    url: Url
    chosen: Url


class MarkRequest(Struct, kw_only=True):
    """A mark on an address: ignored in lists, or wrongly taken for missing."""

    url: Url
    mark: Literal["ignored", "wrong"]


class MarkQuery(Struct, kw_only=True):
    """Which marks to list."""

    mark: Literal["ignored", "wrong"]
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class PinQuery(Struct, kw_only=True):
    """One page of pins."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class RedirectRequest(Struct, kw_only=True):
    """The target of a redirect rule."""

    url: Url
    to: Annotated[str, Meta(min_length=1, max_length=2_000)]


class EraseRequest(Struct, kw_only=True):
    """What to erase for good: an address, or all misses of a user (given by the code in the log)."""

    url: Annotated[str, Meta(max_length=4_000)] = ""
    client: Annotated[str, Meta(max_length=100)] = ""


class EraseResult(Struct, kw_only=True):
    """The number of erased misses."""

    misses: int


def routes(admin: AdminContext) -> list[Route]:
    if admin.review is None:
        return []
    calls = MissApi(admin)
    return [*calls.lists(), *calls.actions()]


class MissApi:
    """The API calls of missed pages."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin
        self._actions = MissActions(admin)

    def lists(self) -> list[Route]:
        """The calls that read."""
        return [
            _get("", self._records, "Log entries, latest first", RecordList, PagedQuery),
            _get("/summary", self._summary, "Totals", MissSummary, MissQuery),
            _get("/addresses", self._addresses, "Dead links by address", AddressList, OrderedMissQuery),
            _get("/sites", self._sites, "Dead links by site", GroupList, PagedQuery),
            _get("/sources", self._sources, "Pages with dead links", GroupList, PagedQuery),
            _get("/choices", self._choices, "What users opened instead", ChoiceList, PagedQuery),
            _get("/trend", self._trend, "Dead links over time", tuple[TrendPoint, ...], MissQuery),
            _get("/address", self._about, "Everything known about one address", AddressInfo, AddressQuery),
            _get("/pins", self._pins, "Pinned pages, latest first", tuple[Pin, ...], PinQuery),
            _get(
                "/marks", self._marks, "Marked addresses, latest first", tuple[MarkedAddress, ...], MarkQuery
            ),
            _get("/export.csv", self._csv, "All log entries as CSV", str, MissQuery, media_type="text/csv"),
            _get(
                "/export.jsonl",
                self._jsonl,
                "All log entries as JSON lines",
                str,
                MissQuery,
                media_type="application/x-ndjson",
            ),
        ]

    def actions(self) -> list[Route]:
        """The calls that change something."""
        return [
            _change("POST", "/pins", self._pin, "Pin a page for an address", answer=Pin, body=PinRequest),
            _change("DELETE", "/pins", self._unpin, "Unpin an address", query=AddressQuery, problems=(404,)),
            _change("DELETE", "/choices", self._forget_choice, "Delete a choice", query=ChoiceQuery),
            _change("POST", "/marks", self._mark, "Mark an address", body=MarkRequest),
            _change("DELETE", "/marks", self._unmark, "Remove a mark from an address", query=MarkRequest),
            _change(
                "POST",
                "/redirects",
                self._redirect,
                "Add a redirect rule for an address",
                body=RedirectRequest,
            ),
            _change(
                "POST",
                "/erase",
                self._erase,
                "Delete all log entries of an address or a client",
                answer=EraseResult,
                body=EraseRequest,
            ),
        ]

    async def _list_page(
        self, given: ApiRequest, read: Callable[[MissLists, MissFilter, int], tuple[T, ...]]
    ) -> tuple[tuple[T, ...], bool]:
        """One page of a list, and whether the list goes on."""
        filters, limit = _filter_of(given), given.query.limit
        rows = await asyncio.to_thread(read, self._actions.review.lists, filters, limit + 1)
        return rows[:limit], len(rows) > limit

    async def _records(self, given: ApiRequest) -> RecordList:
        offset = given.query.offset
        rows, more = await self._list_page(
            given, lambda lists, filters, limit: lists.records(filters, limit, offset=offset)
        )
        return RecordList(misses=rows, more=more)

    async def _addresses(self, given: ApiRequest) -> AddressList:
        query = given.query
        rows, more = await self._list_page(
            given,
            lambda lists, filters, limit: lists.addresses(
                filters, limit, offset=query.offset, order=query.order
            ),
        )
        return AddressList(addresses=rows, more=more)

    async def _sites(self, given: ApiRequest) -> GroupList:
        offset = given.query.offset
        rows, more = await self._list_page(
            given, lambda lists, filters, limit: lists.sites(filters, limit, offset=offset)
        )
        return GroupList(groups=rows, more=more)

    async def _sources(self, given: ApiRequest) -> GroupList:
        offset = given.query.offset
        rows, more = await self._list_page(
            given, lambda lists, filters, limit: lists.sources(filters, limit, offset=offset)
        )
        return GroupList(groups=rows, more=more)

    async def _choices(self, given: ApiRequest) -> ChoiceList:
        offset = given.query.offset
        rows, more = await self._list_page(
            given, lambda lists, filters, limit: lists.choices(filters, limit, offset=offset)
        )
        return ChoiceList(choices=rows, more=more)

    async def _summary(self, given: ApiRequest) -> MissSummary:
        lists, filters = self._actions.review.lists, _filter_of(given)
        totals = await asyncio.to_thread(lists.totals, filters)
        kinds = await asyncio.to_thread(lists.kinds, filters)
        return MissSummary(
            addresses=totals.addresses,
            tally=totals.tally,
            kinds=tuple(KindCount(kind=kind, tally=tally) for kind, tally in kinds),
        )

    async def _trend(self, given: ApiRequest) -> tuple[TrendPoint, ...]:
        moments = await asyncio.to_thread(self._actions.review.lists.moments, _filter_of(given))
        return tuple(TrendPoint(at=at, tally=tally) for at, tally in moments)

    async def _about(self, given: ApiRequest) -> AddressInfo:
        url = given.query.url
        known = await asyncio.to_thread(address_details_of, self._admin, self._actions, url)
        offers = await offers_now(self._admin, url, known)
        return AddressInfo(
            url=url,
            missed=known.missed,
            pin=await asyncio.to_thread(self._actions.pins.of, url),
            marks=tuple(sorted(await asyncio.to_thread(self._actions.review.marks.of, url))),
            offers=tuple(
                OfferInfo(url=each.url, title=each.title, confidence=each.confidence, held=each.held)
                for each in offers
                if link_target(each.url)
            ),
            sources=known.sources,
            choices=known.choices,
            counted=known.counted,
        )

    async def _pins(self, given: ApiRequest) -> tuple[Pin, ...]:
        return await asyncio.to_thread(self._actions.pins.list, given.query.limit, offset=given.query.offset)

    async def _marks(self, given: ApiRequest) -> tuple[MarkedAddress, ...]:
        query = given.query
        return await asyncio.to_thread(
            self._actions.review.marks.list, query.mark, query.limit, offset=query.offset
        )

    async def _csv(self, given: ApiRequest) -> web.StreamResponse:
        return await export_response(given.request, self._actions, _filter_of(given), "csv")

    async def _jsonl(self, given: ApiRequest) -> web.StreamResponse:
        return await export_response(given.request, self._actions, _filter_of(given), "jsonl")

    async def _pin(self, given: ApiRequest) -> Pin:
        return await self._actions.pin(given.body.url, given.body.target)

    async def _unpin(self, given: ApiRequest) -> None:
        await self._actions.unpin(given.query.url)

    async def _forget_choice(self, given: ApiRequest) -> None:
        await self._actions.forget_choice(given.query.url, given.query.chosen)

    async def _mark(self, given: ApiRequest) -> None:
        await self._actions.mark(given.body.url, given.body.mark)

    async def _unmark(self, given: ApiRequest) -> None:
        await self._actions.unmark(given.query.url, given.query.mark)

    async def _redirect(self, given: ApiRequest) -> None:
        await self._actions.redirect(given.body.url, given.body.to)

    async def _erase(self, given: ApiRequest) -> EraseResult:
        url, client = given.body.url, given.body.client
        if bool(url) == bool(client):
            raise ApiProblem(400, "give either an address or a client")
        erased = self._actions.erase(url) if url else self._actions.erase_client(client)
        return EraseResult(misses=await erased)


def _filter_of(given: ApiRequest) -> MissFilter:
    return filter_of(given.query, datetime.now().astimezone())


def _get(
    path: str,
    handler: Any,
    summary: str,
    answer: Any,
    query: type[Struct],
    *,
    media_type: str = "application/json",
) -> ApiCall:
    return ApiCall(
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
) -> ApiCall:
    return ApiCall(
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
