"""Shared DNS lookups, limited per domain, so that one domain's slow name servers do not delay all other names.

A lookup occupies a thread until the system's resolver gives up, which can take half a minute, and a page may use
hundreds of names under a domain whose name server does not answer. So the lookups of one registrable domain queue,
those that no request waits for any more are skipped, and a name that was not found is not looked up again at once.
mitmproxy opens connections through asyncio, which resolves names in the event loop: `install` replaces that.
"""

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from repair.text.urls import site

_THREADS = 64
_AT_ONCE = 4
"""Look-ups of one domain; with a name server that answers, still some hundred a second."""
_NOT_FOUND_S = 3.0
_MOST_NOT_FOUND = 1000

_Question = tuple[Any, ...]
_Answer = list[tuple[Any, ...]]


@dataclass(slots=True, kw_only=True)
class _Domain:
    """Limits the lookups of one domain; kept while any of its names is looked up."""

    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    pending: int = 0


@dataclass(slots=True, kw_only=True)
class _Lookup:
    """A lookup that is running or queued, shared by all that wait for it."""

    task: asyncio.Task[_Answer]
    waiting: int = 0


class DnsLookups:
    """Answers `getaddrinfo` for an event loop."""

    def __init__(
        self,
        look_up: Callable[..., _Answer] = lambda *question: socket.getaddrinfo(*question),
        *,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look_up = look_up
        self._executor = executor or ThreadPoolExecutor(_THREADS, thread_name_prefix="dns")
        self._clock = clock
        self._lookups: dict[_Question, _Lookup] = {}
        self._begun: set[_Question] = set()
        self._domains: dict[str, _Domain] = {}
        self._not_found: dict[_Question, tuple[float, str, int | None]] = {}

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.getaddrinfo = self.getaddrinfo  # type: ignore[method-assign,assignment]

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> _Answer:
        """As the event loop's own; raises socket.gaierror."""
        question = (host, port, family, type, proto, flags)
        self._raise_if_not_found(question)
        lookup = self._lookups.get(question)
        if lookup is None:
            lookup = self._lookups[question] = _Lookup(task=asyncio.ensure_future(self._ask(question)))
            lookup.task.add_done_callback(_taken_note_of)
        lookup.waiting += 1
        try:
            return await asyncio.shield(lookup.task)
        finally:
            lookup.waiting -= 1
            # One that has its thread goes on: its domain's turn ends with the thread, not before.
            if not lookup.waiting and question not in self._begun:
                lookup.task.cancel()
                self._forget(question, lookup)

    def _forget(self, question: _Question, lookup: _Lookup) -> None:
        if self._lookups.get(question) is lookup:
            del self._lookups[question]

    async def _ask(self, question: _Question) -> _Answer:
        name = _domain_of(question[0])
        domain = self._domains.setdefault(name, _Domain())
        domain.pending += 1
        try:
            async with domain.slots:
                return await self._in_a_thread(question)
        finally:
            domain.pending -= 1
            if not domain.pending:
                del self._domains[name]

    async def _in_a_thread(self, question: _Question) -> _Answer:
        self._begun.add(question)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._look_up, *question)
        except socket.gaierror as error:
            self._remember(question, error)
            raise
        except UnicodeError as error:  # mitmproxy expects an OSError
            raise socket.gaierror(socket.EAI_NONAME, f"not a host name: {error}") from error
        finally:
            self._begun.discard(question)
            self._lookups.pop(question, None)

    def _remember(self, question: _Question, error: socket.gaierror) -> None:
        if len(self._not_found) >= _MOST_NOT_FOUND:
            self._not_found.clear()
        self._not_found[question] = (self._clock() + _NOT_FOUND_S, str(error.strerror), error.errno)

    def _raise_if_not_found(self, question: _Question) -> None:
        until, words, number = self._not_found.get(question, (0.0, "", None))
        if words and self._clock() < until:
            raise socket.gaierror(number, words)
        self._not_found.pop(question, None)


def _taken_note_of(task: asyncio.Task[_Answer]) -> None:
    """An error that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()


def _domain_of(host: Any) -> str:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    return site(f"http://{name}/") or name
