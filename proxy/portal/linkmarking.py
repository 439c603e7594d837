"""Asks for the marks of a page's links, and waits for them no longer than a user notices.

The switch `portal.mark_links` is looked up each time. What comes late is kept a while, for the next user.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from proxy.portal.linkjudging import LinkMark
from repair.collapsing import MadeResult, ResultCollapser

WAIT_S = 0.03
"""How long a page may wait for its marks."""
_KEEP_S = 10.0
_KEEP_NONE_S = 1.0  # most are being judged
_MAX_KEPT = 500


class LinkMarkSource(Protocol):
    """Knows the marks: the backend, or its client in a worker."""

    async def marks(self, source_url: str, offline: bool) -> tuple[LinkMark, ...]: ...


class LinkMarker:
    """The marks of pages, for those who show saved copies."""

    def __init__(
        self,
        source: LinkMarkSource,
        *,
        enabled: Callable[[], bool],
        offline: Callable[[], bool],
        count: Callable[[str, int], None] = lambda kind, times: None,
    ) -> None:
        """`count` is told how many links were marked, and how many pages got their marks too late."""
        self._source = source
        self._enabled = enabled
        self._offline = offline
        self._count = count
        self._known = ResultCollapser[tuple[str, bool], tuple[LinkMark, ...]](limit=_MAX_KEPT)

    async def marks(self, url: str) -> tuple[LinkMark, ...]:
        """The marks of the links of a saved page; none when they take too long."""
        if not self._enabled():
            return ()
        request = (url, self._offline())
        asking = asyncio.ensure_future(self._known.get(request, partial(self._ask, *request)))
        try:
            async with asyncio.timeout(WAIT_S):
                marks = await asyncio.shield(asking)
        except TimeoutError:
            self._count("marks_late", 1)
            asking.add_done_callback(_take_result)
            return ()
        for kind, times in (
            ("link_replaced", sum(bool(mark.replacement) for mark in marks)),
            ("link_nowhere", sum(not mark.replacement for mark in marks)),
        ):
            if times:
                self._count(kind, times)
        return marks

    async def _ask(self, url: str, offline: bool) -> MadeResult[tuple[LinkMark, ...]]:
        marks = await self._source.marks(url, offline)
        return MadeResult(value=marks, keep_s=_KEEP_S if marks else _KEEP_NONE_S)


def _take_result(asked: "asyncio.Future[tuple[LinkMark, ...]]") -> None:
    """Nobody waits for it any more; an error is the backend's, which has logged it."""
    if not asked.cancelled():
        asked.exception()
