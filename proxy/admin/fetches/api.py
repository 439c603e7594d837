"""The fetch queue API."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.admin.routing import AdminContext, ApiCall, ApiProblem, ApiRequest, Route
from proxy.fetching.entries import FetchEntry, FetchState, FetchTime, NotQueuedError
from proxy.fetching.queue import FetchQueue

Url = Annotated[str, Meta(min_length=1, max_length=4_000)]


class FetchInfo(Struct, kw_only=True):
    """A page in the queue; `percent` is null when it is unknown."""

    id: int
    url: str
    when: FetchTime
    why: str
    state: FetchState
    tries: int
    next_try_at: datetime
    said: str
    received_bytes: int
    percent: int | None
    added_at: datetime
    changed_at: datetime


class FetchList(Struct, kw_only=True):
    """Part of the queue, and the number of pages in each state."""

    counts: dict[FetchState, int]
    fetches: list[FetchInfo]


class FetchListParameters(Struct, kw_only=True):
    state: FetchState | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class FetchRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page to fetch: now, as soon as there is connectivity, or at night."""

    url: Url
    when: FetchTime = FetchTime.LINE
    why: Annotated[str, Meta(max_length=200)] = ""


class FetchNumber(Struct, kw_only=True):
    id: Annotated[int, Meta(ge=1, le=2**53)]


def routes(admin: AdminContext) -> list[Route]:
    return FetchApi(admin.fetches).routes() if admin.fetches is not None else []


class FetchApi:
    """The API calls over one queue."""

    def __init__(self, queue: FetchQueue) -> None:
        self._queue = queue

    def routes(self) -> list[Route]:
        one = "/admin/api/fetches/{id}"
        return [
            ApiCall(
                method="GET",
                path="/admin/api/fetches",
                handler=self._list,
                summary="The fetch queue: pages being fetched, waiting, done and failed",
                query=FetchListParameters,
                answer=FetchList,
            ),
            ApiCall(
                method="POST",
                path="/admin/api/fetches",
                handler=self._add,
                summary="Add a page to the fetch queue, or queue it again",
                body=FetchRequest,
                answer=FetchInfo,
                status=201,
                problems=(409,),
            ),
            ApiCall(
                method="GET",
                path=one,
                handler=self._get,
                summary="One entry of the fetch queue",
                names=FetchNumber,
                answer=FetchInfo,
                problems=(404,),
            ),
            ApiCall(
                method="POST",
                path=one + "/retry",
                handler=self._retry,
                summary="Fetch a page again now",
                names=FetchNumber,
                answer=FetchInfo,
                problems=(404,),
            ),
            ApiCall(
                method="DELETE",
                path=one,
                handler=self._remove,
                summary="Remove a page from the queue; a page already fetched stays saved",
                names=FetchNumber,
                answer=None,
                status=204,
                problems=(404,),
            ),
        ]

    async def _list(self, given: ApiRequest) -> FetchList:
        query = given.query

        def read() -> FetchList:
            entries = self._queue.list(query.limit, offset=query.offset, state=query.state)
            return FetchList(counts=self._queue.counts(), fetches=[_fetch_info(entry) for entry in entries])

        return await asyncio.to_thread(read)

    async def _add(self, given: ApiRequest) -> FetchInfo:
        wish = given.body
        try:
            entry = await asyncio.to_thread(self._queue.add, wish.url, when=wish.when, why=wish.why)
        except NotQueuedError as error:
            raise ApiProblem(409, str(error)) from error
        return _fetch_info(entry)

    async def _get(self, given: ApiRequest) -> FetchInfo:
        return _info_or_404(await asyncio.to_thread(self._queue.get, given.path.id))

    async def _retry(self, given: ApiRequest) -> FetchInfo:
        return _info_or_404(await asyncio.to_thread(self._queue.retry, given.path.id))

    async def _remove(self, given: ApiRequest) -> None:
        if not await asyncio.to_thread(self._queue.remove, given.path.id):
            raise ApiProblem(404, "no such page in the fetch queue")


def _info_or_404(entry: FetchEntry | None) -> FetchInfo:
    if entry is None:
        raise ApiProblem(404, "no such page in the fetch queue")
    return _fetch_info(entry)


def _fetch_info(entry: FetchEntry) -> FetchInfo:
    return FetchInfo(
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
