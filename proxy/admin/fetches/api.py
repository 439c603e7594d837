"""The fetch queue for programs."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.desk.frame import Call, Desk, Given, Problem, Route
from proxy.fetching.entries import FetchEntry, NotQueued, State, When
from proxy.fetching.queue import FetchQueue

Url = Annotated[str, Meta(min_length=1, max_length=4_000)]


class Fetch(Struct, kw_only=True):
    """A page in the queue; `percent` is null when it cannot be told."""

    id: int
    url: str
    when: When
    why: str
    state: State
    tries: int
    next_try_at: datetime
    said: str
    received_bytes: int
    percent: int | None
    added_at: datetime
    changed_at: datetime


class Fetches(Struct, kw_only=True):
    """A part of the queue, and how many pages are in which state."""

    counts: dict[State, int]
    fetches: list[Fetch]


class Listing(Struct, kw_only=True):
    state: State | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Wish(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page to fetch: now, as soon as the line is up, or at night."""

    url: Url
    when: When = When.LINE
    why: Annotated[str, Meta(max_length=200)] = ""


class Number(Struct, kw_only=True):
    id: Annotated[int, Meta(ge=1, le=2**53)]


def routes(desk: Desk) -> list[Route]:
    return FetchCalls(desk.fetches).routes() if desk.fetches is not None else []


class FetchCalls:
    """The calls over one queue."""

    def __init__(self, queue: FetchQueue) -> None:
        self._queue = queue

    def routes(self) -> list[Route]:
        one = "/admin/api/fetches/{id}"
        return [
            Call(
                method="GET",
                path="/admin/api/fetches",
                handler=self._list,
                summary="What is under way, what waits, and what became of the others",
                query=Listing,
                answer=Fetches,
            ),
            Call(
                method="POST",
                path="/admin/api/fetches",
                handler=self._add,
                summary="Want a page fetched; one that is in the queue already is wanted again",
                body=Wish,
                answer=Fetch,
                status=201,
                problems=(409,),
            ),
            Call(
                method="GET",
                path=one,
                handler=self._get,
                summary="One page of the queue",
                names=Number,
                answer=Fetch,
                problems=(404,),
            ),
            Call(
                method="POST",
                path=one + "/retry",
                handler=self._retry,
                summary="Fetch a page again, now",
                names=Number,
                answer=Fetch,
                problems=(404,),
            ),
            Call(
                method="DELETE",
                path=one,
                handler=self._remove,
                summary="Take a page out of the queue; what was fetched stays",
                names=Number,
                answer=None,
                status=204,
                problems=(404,),
            ),
        ]

    async def _list(self, given: Given) -> Fetches:
        query = given.query

        def read() -> Fetches:
            entries = self._queue.list(query.limit, offset=query.offset, state=query.state)
            return Fetches(counts=self._queue.counts(), fetches=[_told(entry) for entry in entries])

        return await asyncio.to_thread(read)

    async def _add(self, given: Given) -> Fetch:
        wish = given.body
        try:
            entry = await asyncio.to_thread(self._queue.add, wish.url, when=wish.when, why=wish.why)
        except NotQueued as error:
            raise Problem(409, str(error)) from error
        return _told(entry)

    async def _get(self, given: Given) -> Fetch:
        return _found(await asyncio.to_thread(self._queue.get, given.path.id))

    async def _retry(self, given: Given) -> Fetch:
        return _found(await asyncio.to_thread(self._queue.retry, given.path.id))

    async def _remove(self, given: Given) -> None:
        if not await asyncio.to_thread(self._queue.remove, given.path.id):
            raise Problem(404, "there is no such page in the queue")


def _found(entry: FetchEntry | None) -> Fetch:
    if entry is None:
        raise Problem(404, "there is no such page in the queue")
    return _told(entry)


def _told(entry: FetchEntry) -> Fetch:
    return Fetch(
        id=entry.id,
        url=entry.url,
        when=entry.when,
        why=entry.why,
        state=entry.state,
        tries=entry.tries,
        next_try_at=entry.next_try_at,
        said=entry.error,
        received_bytes=entry.received_bytes,
        percent=entry.percent,
        added_at=entry.added_at,
        changed_at=entry.changed_at,
    )
