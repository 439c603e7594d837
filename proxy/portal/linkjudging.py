"""Which links of a saved page lead nowhere, and which have a good replacement: judged behind the page, then kept.

A link needs a verdict only if its target is not saved, and if it cannot be opened: while there is no internet, or
because it was found dead here. A verdict takes a ranking, some 20 ms. So a page gets the verdicts that are known, in
one look at the database; the others are made in the background, one at a time and only while no user waits for a
repair, and are there for the next user who opens the page.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from collections.abc import Collection as Container
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol

from repair.bounded import BoundedDict
from repair.collection.collection import Collection
from repair.errors import RepairError
from repair.model import BrokenLink, Link, MissKind, RankedAlternatives, RankingOutcome
from repair.secrets.addresses import has_secret
from repair.text import urls

log = logging.getLogger(__name__)

MAX_LINKS = 300
"""Links of one page that get a verdict."""
GOOD = 0.95
"""Confidence from which a link leads straight to its replacement: nobody sees a list first (docs/evaluation.md)."""
_MAX_VERDICTS = 50_000
_MAX_WAITING = 1_000
_KEEP_S = 3_600.0
_RANK_S = 2.0
_WHILE_HURRIED_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMark:
    """A link of a page by its normal address: its replacement, or "" when it leads nowhere."""

    target: str
    replacement: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    mark: LinkMark | None
    until: float


class LinkRanker(Protocol):
    """Finds what may replace a page."""

    async def rank(self, link: BrokenLink, *, within_s: float | None = None) -> RankingOutcome: ...


class LinkJudge:
    """Verdicts on the links of saved pages. For one event loop."""

    def __init__(
        self,
        collection: Collection,
        ranker: LinkRanker,
        threads: Executor,
        *,
        is_stored: Callable[[str], Awaitable[bool]],
        known_dead: Callable[[Container[str]], frozenset[str]],
        is_hurried: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_stored` says whether the cache has a page, `known_dead` which addresses were found dead lately,
        `is_hurried` whether users wait for repairs."""
        self._collection = collection
        self._ranker = ranker
        self._threads = threads
        self._is_stored = is_stored
        self._known_dead = known_dead
        self._is_hurried = is_hurried
        self._clock = clock
        self._verdicts = BoundedDict[tuple[str, str], _Verdict](_MAX_VERDICTS)
        self._waiting: dict[tuple[str, str], Link] = {}
        self._working: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many links wait for a verdict."""
        return len(self._waiting)

    async def marks(self, source_url: str, offline: bool) -> tuple[LinkMark, ...]:
        """The links of a page that are to be marked, as far as this is known; the rest is judged later."""
        if not urls.is_web_url(source_url):
            return ()
        source_url = urls.normal(source_url)
        loop = asyncio.get_running_loop()
        links = await loop.run_in_executor(self._threads, self._unopenable, source_url, offline)
        found, now = [], self._clock()
        for target, link in links.items():
            key = (source_url, target)
            verdict = self._verdicts.get(key)
            if verdict is None or verdict.until < now:
                if len(self._waiting) < _MAX_WAITING:
                    self._waiting.setdefault(key, link)
            elif verdict.mark is not None:
                found.append(verdict.mark)
        if self._waiting and self._working is None:
            self._working = asyncio.create_task(self._judge_all())
        replacements = [mark.replacement for mark in found if mark.replacement]
        if not replacements:
            return tuple(found)
        held = await loop.run_in_executor(self._threads, self._collection.held_among, replacements)
        return tuple(mark for mark in found if not mark.replacement or mark.replacement in held)

    async def settle(self) -> None:
        """Return once all links that wait have a verdict."""
        if self._working is not None:
            await self._working

    async def close(self) -> None:
        """Judge no more."""
        self._waiting.clear()
        if self._working is not None:
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)

    def _unopenable(self, source_url: str, offline: bool) -> dict[str, Link]:
        """Links to pages that are not saved and cannot be opened now, by their targets; those with words first."""
        links: dict[str, Link] = {}
        for link in sorted(self._collection.outlinks(source_url)[: MAX_LINKS * 5], key=lambda each: each.nav):
            if len(links) < MAX_LINKS and not has_secret(link.target_url):
                links.setdefault(link.target_url, link)
        missing = links.keys() - self._collection.held_among(list(links)) - {source_url}
        if not offline:
            missing &= self._known_dead(missing)
        return {target: link for target, link in links.items() if target in missing}

    async def _judge_all(self) -> None:
        try:
            while self._waiting:
                if self._is_hurried():
                    await asyncio.sleep(_WHILE_HURRIED_S)
                    continue
                key = next(iter(self._waiting))
                link = self._waiting[key]
                try:
                    mark = await self._judge(key[0], link)
                    self._verdicts[key] = _Verdict(mark=mark, until=self._clock() + _KEEP_S)
                except (RepairError, TimeoutError) as error:
                    log.warning("a link is not judged: %s", error)
                self._waiting.pop(key, None)
        finally:
            self._working = None

    async def _judge(self, source_url: str, link: Link) -> LinkMark | None:
        if await self._is_stored(link.target_url):
            return None
        broken = BrokenLink(
            url=link.target_url,
            kind=MissKind.OFFLINE,
            source_url=source_url,
            anchor=link.anchor,
            before=link.before,
            after=link.after,
        )
        outcome = await self._ranker.rank(broken, within_s=_RANK_S)
        return mark_of(outcome.found)


def mark_of(found: RankedAlternatives) -> LinkMark | None:
    """The mark of a link by what was found for its target; None where a repair page would help more than a mark."""
    best = next((each for each in found.alternatives if each.held), None)
    if best is not None and best is found.alternatives[0] and best.confidence >= GOOD:
        return LinkMark(target=found.link.url, replacement=best.url, title=best.title)
    return None if found.alternatives or found.copy_at else LinkMark(target=found.link.url)
