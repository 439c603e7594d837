"""Identical work is done once: whoever asks for a result that is being made waits for it, and it is kept a while.

A class that clicks the same dead link in the same minute needs one ranking, not thirty. What belongs into the key is
the caller's business: everything that the result depends on, so that nobody gets what was made for somebody else.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from repair.bounded import BoundedDict

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeResult(Generic[V]):
    """A result, and for how long it may be given to others that ask for the same; 0 for no longer than now."""

    value: V
    keep_s: float = 0.0


Make = Callable[[], Coroutine[Any, Any, MadeResult[V]]]


@dataclass(slots=True)
class _Run(Generic[V]):
    task: asyncio.Task[MadeResult[V]]
    begun_at: float
    waiting: int = 0


class ResultCollapser(Generic[K, V]):
    """Results by key: those being made, and the newest `limit` of those that may be kept. For one event loop.

    Exceptions reach everybody who waits, and are not remembered. `made` and `collapsed` count the requests that made
    a result and those that got another's.
    """

    def __init__(self, *, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._running: dict[K, _Run[V]] = {}
        self._kept = BoundedDict[K, tuple[V, float]](limit)
        self._clock = clock
        self.made = 0
        self.collapsed = 0

    async def get(self, key: K, make: Make[V]) -> V:
        """The result for a key; `make` is called unless somebody else's can be had.

        Who is cancelled while waiting cancels nobody else: the work ends with the last who waits for it.
        """
        kept = self.kept(key)
        if kept is not None:
            self.collapsed += 1
            return kept
        run = self._running.get(key)
        if run is None:
            self.made += 1
            run = self._begin(key, make)
        else:
            self.collapsed += 1
        return await self._wait(key, run)

    def kept(self, key: K) -> V | None:
        """The result for a key if it is known by now."""
        kept = self._kept.get(key)
        return kept[0] if kept is not None and self._clock() < kept[1] else None

    def forget(self, applies: Callable[[K], bool] = lambda key: True) -> None:
        """Give nobody the results under these keys from now on, nor those that are being made."""
        self.drop(applies)
        for key in [each for each in self._running if applies(each)]:
            del self._running[key]

    def drop(self, applies: Callable[[K], bool] = lambda key: True) -> None:
        """Keep the results under these keys no longer."""
        for key in [each for each in self._kept if applies(each)]:
            del self._kept[key]

    def _begin(self, key: K, make: Make[V]) -> _Run[V]:
        run = self._running[key] = _Run(asyncio.create_task(make()), begun_at=self._clock())
        run.task.add_done_callback(lambda _: self._end(key, run))
        return run

    def _end(self, key: K, run: _Run[V]) -> None:
        if self._running.get(key) is not run:
            return  # forgotten, or cancelled
        del self._running[key]
        if run.task.cancelled() or run.task.exception() is not None:
            return
        result = run.task.result()
        if result.keep_s > 0:
            self._kept[key] = (result.value, run.begun_at + result.keep_s)

    async def _wait(self, key: K, run: _Run[V]) -> V:
        run.waiting += 1
        try:
            return (await asyncio.shield(run.task)).value
        finally:
            run.waiting -= 1
            if not run.waiting and not run.task.done():
                if self._running.get(key) is run:
                    del self._running[key]  # nobody joins what is being cancelled
                run.task.cancel()
