"""Work that costs less for many at once than one by one: what comes while a batch is under way makes up the next."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batches(Generic[T, R]):
    """Batches of things, one batch at a time, in the order in which they come. For one event loop."""

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, most: int) -> None:
        """`work` gives a result for each thing of a batch, `most` things at a time; when it raises, so does `do` for
        all of them."""
        self._work = work
        self._most = most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._task: asyncio.Task[None] | None = None

    async def do(self, thing: T) -> R:
        """The result for one thing."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((thing, future))
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await future

    async def finish(self) -> None:
        """Wait until nothing is under way."""
        while self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._do_batch(batch)
        finally:
            self._task = None

    async def _do_batch(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self._work([thing for thing, _ in batch])
        except Exception as error:  # noqa: BLE001  (each that waits gets it)
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
