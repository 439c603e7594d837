"""The collection for programs."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.desk.frame import Call, Desk, Given, Problem, Route
from proxy.desk.holdings import About, Holder
from repair.pins import Pins

Url = Annotated[str, Meta(min_length=1, max_length=4_000)]


class Count(Struct, kw_only=True):
    """How many pages there are of something: a language, or a day."""

    of: str
    pages: int


class Summary(Struct, kw_only=True):
    """How much is held; `indexed` pages can be found, `pending` ones will be."""

    pages: int
    pinned: int
    copies: int
    links: int
    indexed: int
    pending: int
    bytes: int
    responses: int
    response_bytes: int
    languages: list[Count]
    days: list[Count]


class Words(Struct, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=300)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class Hit(Struct, kw_only=True):
    """A held page that has the words; the best has score 1."""

    url: str
    title: str
    snippet: str
    score: float


class Address(Struct, kw_only=True):
    url: Url


class Removal(Struct, kw_only=True):
    url: Url
    misses: bool = False
    """Whether the miss log is to forget it as well."""


class LinkTold(Struct, kw_only=True):
    url: str
    anchor: str


class Held(Struct, kw_only=True):
    """A held page; `versions` are when those that are kept were fetched, `same` addresses with the very same text."""

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
    links_in: list[LinkTold]
    links_out: list[LinkTold]
    same: list[str]


class Gone(Struct, kw_only=True):
    """What was removed; `left` says where something of it may still be."""

    url: str
    held: bool
    responses: int
    misses: int
    left: list[str]


class Listing(Struct, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=500)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class PinTold(Struct, kw_only=True):
    """`target` stands in for `url`."""

    url: str
    target: str
    by: str
    at: datetime


def routes(desk: Desk) -> list[Route]:
    calls = CollectionCalls(desk)
    page = "/admin/api/collection/page"
    listed: list[Route] = [
        Call(
            method="GET",
            path="/admin/api/collection",
            handler=calls.summary,
            summary="How much is held",
            answer=Summary,
        ),
        Call(
            method="GET",
            path="/admin/api/collection/search",
            handler=calls.search,
            summary="Held pages that have some words, best first",
            query=Words,
            answer=list[Hit],
        ),
        Call(
            method="GET",
            path=page,
            handler=calls.page,
            summary="What is known of a held page",
            query=Address,
            answer=Held,
            problems=(404,),
        ),
    ]
    if desk.remover is not None:
        listed.append(
            Call(
                method="DELETE",
                path=page,
                handler=calls.remove,
                summary="Remove a page for good, wherever it is held",
                query=Removal,
                answer=Gone,
                problems=(404,),
            )
        )
    return [*listed, *_pins(desk.pins)]


def _pins(pins: Pins | None) -> list[Route]:
    if pins is None:
        return []

    async def listed(given: Given) -> list[PinTold]:
        query = given.query
        found = await asyncio.to_thread(pins.list, query.limit, offset=query.offset)
        return [PinTold(url=pin.url, target=pin.target, by=pin.by, at=pin.at) for pin in found]

    return [
        Call(
            method="GET",
            path="/admin/api/collection/pins",
            handler=listed,
            summary="Pages pinned in the place of missing ones, the latest first",
            query=Listing,
            answer=list[PinTold],
        )
    ]


class CollectionCalls:
    """The calls over one collection."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._holder = Holder(desk)

    async def summary(self, given: Given) -> Summary:
        held = await self._holder.all(datetime.now().astimezone())
        stats = held.stats
        return Summary(
            pages=stats.pages,
            pinned=stats.pinned,
            copies=stats.copies,
            links=stats.links,
            indexed=stats.indexed,
            pending=stats.pending,
            bytes=held.collection_bytes,
            responses=held.responses,
            response_bytes=held.response_bytes,
            languages=[Count(of=name, pages=count) for name, count in held.languages],
            days=[Count(of=day, pages=count) for day, count in held.days],
        )

    async def search(self, given: Given) -> list[Hit]:
        found = await self._desk.repairer.search(given.query.q, given.query.limit)
        return [
            Hit(
                url=each.url,
                title=each.title,
                snippet="".join(span.text for span in each.snippet),
                score=round(each.confidence, 4),
            )
            for each in found
        ]

    async def page(self, given: Given) -> Held:
        about = await self._holder.about(given.query.url)
        if about is None:
            raise Problem(404, "no page is held under this address")
        return _held(about)

    async def remove(self, given: Given) -> Gone:
        about = await self._holder.about(given.query.url)
        if about is None or self._desk.remover is None or not (about.page or about.responses):
            raise Problem(404, "nothing is held under this address")
        removed = await self._desk.remover.remove(about.url, from_log=given.query.misses)
        return Gone(
            url=removed.url,
            held=removed.held,
            responses=removed.responses,
            misses=removed.misses,
            left=list(removed.left),
        )


def _held(about: About) -> Held:
    page, facts = about.page, about.facts
    if page is None or facts is None:
        raise Problem(404, "no page is held under this address")
    return Held(
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
        links_in=[LinkTold(url=each.source_url, anchor=each.link.anchor) for each in about.links_in],
        links_out=[LinkTold(url=each.target_url, anchor=each.anchor) for each in about.links_out],
        same=list(about.same),
    )
