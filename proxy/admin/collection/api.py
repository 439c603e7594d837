"""The collection API."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.admin.collection.service import AdminCollection, PageDetails
from proxy.admin.routing import AdminContext, ApiCall, ApiProblem, ApiRequest, Route
from repair.collection.pins import Pins

Url = Annotated[str, Meta(min_length=1, max_length=4_000)]


class PageCount(Struct, kw_only=True):
    """The number of pages of one language or one day."""

    of: str
    pages: int


class CollectionSummary(Struct, kw_only=True):
    """The size of the collection. `indexed` pages can be found, `pending` ones are not indexed yet."""

    pages: int
    pinned: int
    copies: int
    links: int
    indexed: int
    pending: int
    bytes: int
    responses: int
    response_bytes: int
    languages: list[PageCount]
    days: list[PageCount]


class SearchParameters(Struct, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=300)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class SearchHit(Struct, kw_only=True):
    """A saved page that matches the words; the best has score 1."""

    url: str
    title: str
    snippet: str
    score: float


class AddressParameters(Struct, kw_only=True):
    url: Url


class RemovalRequest(Struct, kw_only=True):
    url: Url
    misses: bool = False
    """Whether to remove it from the miss log as well."""


class LinkInfo(Struct, kw_only=True):
    url: str
    anchor: str


class SavedPageInfo(Struct, kw_only=True):
    """A saved page. `versions` are the times at which its saved versions were fetched, `same` the addresses with
    the same text.
    """

    url: str
    title: str
    language: str
    fetched_at: datetime
    seen_at: datetime
    pinned: bool
    text_bytes: int
    copy_bytes: int
    versions: list[datetime]
    responses: int
    links_in: list[LinkInfo]
    links_out: list[LinkInfo]
    same: list[str]


class RemovedPageInfo(Struct, kw_only=True):
    """A removed page; `left` says where parts of it may remain."""

    url: str
    held: bool
    responses: int
    misses: int
    left: list[str]


class ListParameters(Struct, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class PinInfo(Struct, kw_only=True):
    """A pin: `target` is offered first for `url`."""

    url: str
    target: str
    by: str
    at: datetime


def routes(admin: AdminContext) -> list[Route]:
    calls = CollectionApi(admin)
    page = "/admin/api/collection/page"
    listed: list[Route] = [
        ApiCall(
            method="GET",
            path="/admin/api/collection",
            handler=calls.summary,
            summary="Size of the collection and the cache",
            answer=CollectionSummary,
        ),
        ApiCall(
            method="GET",
            path="/admin/api/collection/search",
            handler=calls.search,
            summary="Search the saved pages, best match first",
            query=SearchParameters,
            answer=list[SearchHit],
        ),
        ApiCall(
            method="GET",
            path=page,
            handler=calls.page,
            summary="Details of a saved page",
            query=AddressParameters,
            answer=SavedPageInfo,
            problems=(404,),
        ),
    ]
    if admin.remover is not None:
        listed.append(
            ApiCall(
                method="DELETE",
                path=page,
                handler=calls.remove,
                summary="Remove a page permanently from cache, collection and index",
                query=RemovalRequest,
                answer=RemovedPageInfo,
                problems=(404,),
            )
        )
    return [*listed, *_pins(admin.pins)]


def _pins(pins: Pins | None) -> list[Route]:
    if pins is None:
        return []

    async def listed(given: ApiRequest) -> list[PinInfo]:
        query = given.query
        found = await asyncio.to_thread(pins.list, query.limit, offset=query.offset)
        return [PinInfo(url=pin.url, target=pin.target, by=pin.by, at=pin.at) for pin in found]

    return [
        ApiCall(
            method="GET",
            path="/admin/api/collection/pins",
            handler=listed,
            summary="Pages pinned for dead links, latest first",
            query=ListParameters,
            answer=list[PinInfo],
        )
    ]


class CollectionApi:
    """The API calls over one collection."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin
        self._holder = AdminCollection(admin)

    async def summary(self, given: ApiRequest) -> CollectionSummary:
        held = await self._holder.all(datetime.now().astimezone())
        stats = held.stats
        return CollectionSummary(
            pages=stats.pages,
            pinned=stats.pinned,
            copies=stats.copies,
            links=stats.links,
            indexed=stats.indexed,
            pending=stats.pending,
            bytes=held.collection_bytes,
            responses=held.responses,
            response_bytes=held.response_bytes,
            languages=[PageCount(of=name, pages=count) for name, count in held.languages],
            days=[PageCount(of=day, pages=count) for day, count in held.days],
        )

    async def search(self, given: ApiRequest) -> list[SearchHit]:
        found = await self._admin.repairer.search(given.query.q, given.query.limit)
        return [
            SearchHit(
                url=each.url,
                title=each.title,
                snippet="".join(span.text for span in each.snippet),
                score=round(each.confidence, 4),
            )
            for each in found
        ]

    async def page(self, given: ApiRequest) -> SavedPageInfo:
        about = await self._holder.about(given.query.url)
        if about is None:
            raise ApiProblem(404, "no page is saved for this address")
        return _page_info(about)

    async def remove(self, given: ApiRequest) -> RemovedPageInfo:
        about = await self._holder.about(given.query.url)
        if about is None or self._admin.remover is None or not (about.page or about.responses):
            raise ApiProblem(404, "nothing is saved for this address")
        removed = await self._admin.remover.remove(about.url, from_log=given.query.misses)
        return RemovedPageInfo(
            url=removed.url,
            held=removed.held,
            responses=removed.responses,
            misses=removed.misses,
            left=list(removed.left),
        )


def _page_info(about: PageDetails) -> SavedPageInfo:
    page, facts = about.page, about.facts
    if page is None or facts is None:
        raise ApiProblem(404, "no page is saved for this address")
    return SavedPageInfo(
        url=about.url,
        title=page.title,
        language=page.language,
        fetched_at=page.fetched_at,
        seen_at=facts.seen_at,
        pinned=page.pinned,
        text_bytes=facts.text_bytes,
        copy_bytes=facts.copy_bytes,
        versions=list(about.versions.moments) if about.versions else [],
        responses=about.responses,
        links_in=[LinkInfo(url=each.source_url, anchor=each.link.anchor) for each in about.links_in],
        links_out=[LinkInfo(url=each.target_url, anchor=each.anchor) for each in about.links_out],
        same=list(about.same),
    )
