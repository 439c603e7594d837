"""Is a page that was answered 200 really there? All that is known, asked in the order of what it costs.

    a reader vouched for it -> the site's known error page -> a telling redirect -> what it says -> asking the site

Of a page that scripts fill only the redirect says anything: its words may be those of any page of the site.
The reader waits for the first four, which take about a millisecond in a thread, and for the site's answer no longer
than the budget. What comes later is remembered for the next page of that site.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TypeVar

from repair.errors import RepairError
from repair.model import MissKind, Page
from repair.soft404.judge import (
    MISSES,
    ORDINARY,
    Judgement,
    PageKind,
    address_evidence,
    is_filled_by_scripts,
    judge,
)
from repair.soft404.model import Weights, shipped
from repair.soft404.parts import parts_of
from repair.soft404.probe import Ask, Verdict, place_of, probe
from repair.soft404.redirects import landing
from repair.soft404.signals import signals
from repair.soft404.sites import Sites
from repair.soft404.sketch import KEPT, Sketch, is_alike, sketch_of
from repair.urls import site

log = logging.getLogger(__name__)

_REMEMBERED = 500
_SETTLED_S = 30.0
"""How long a page that came again is not looked up anew, if nothing was learnt of any site meanwhile."""
_MAX_PROBES = 20
_MAX_PROBES_OF_SITE = 2
"""At once: one site that never answers does not keep all others from being asked."""

K = TypeVar("K")
V = TypeVar("V")
Key = tuple[str, int, int]
"""Of one content of one address."""
Stamp = tuple[int, int]
"""Of what is known of sites: a finding holds as long as that is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a page is. `why` is a word for technical readers: content, memory, redirect, probe, reader."""

    judgement: Judgement
    why: str = "content"
    sketch: Sketch = ()

    @property
    def miss(self) -> MissKind | None:
        """The kind to answer it with; None for a page that is there, or that a reader wants to see all the same."""
        return None if self.why == "reader" else self.judgement.miss


class _Recent(OrderedDict[K, V]):
    """What was noted last, so many of it."""

    def note(self, key: K, value: V) -> V:
        self[key] = value
        while len(self) > _REMEMBERED:
            self.popitem(last=False)
        return value


_MISSING = Judgement(kind=PageKind.NOT_FOUND, probability=1.0)


class Detector:
    """Judges pages; `ask` and `may_probe` decide whether sites are asked at all (robots.txt is the asker's part)."""

    def __init__(
        self,
        sites: Sites,
        executor: Executor,
        *,
        ask: Ask | None = None,
        may_probe: Callable[[str], bool] = lambda url: True,
        weights: Weights | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sites = sites
        self._executor = executor
        self._ask = ask
        self._may_probe = may_probe
        self._weights = weights or shipped()
        self._judged = _Recent[Key, Judgement]()
        self._sketched = _Recent[tuple[Key, int], Sketch]()
        self._settled = _Recent[Key, tuple[Finding, float, Stamp]]()
        self._clock = clock
        self._probes: dict[asyncio.Task[Finding], str] = {}
        self._vouched = _Recent[str, None]()

    async def find(self, page: Page, *, asked: str | None = None, budget_s: float = 0.0) -> Finding:
        """What the page is; `asked` is the address that led to it by redirects. Never raises RepairError."""
        loop = asyncio.get_running_loop()
        if asked is None and (settled := self.settled(page)) is not None:
            return settled
        stamp = self._sites.stamp()
        try:
            found = await loop.run_in_executor(self._executor, self._known, page, asked)
        except RepairError as error:
            log.warning("%s", error)
            return Finding(judgement=ORDINARY)
        if not found.judgement.unsure and asked is None:
            self._settle(page, found, stamp)
        if not found.judgement.unsure or not found.sketch or self._ask is None:
            return found
        if self._has_enough_to_ask(page.url) or not place_of(page.url) or not self._may_probe(page.url):
            return found
        task = loop.create_task(self._probed(page.url, found))
        self._probes[task] = site(page.url)
        task.add_done_callback(self._probes.pop)
        done, _ = await asyncio.wait({task}, timeout=budget_s)
        return task.result() if done else found

    def settled(self, page: Page) -> Finding | None:
        """What was found of it a moment ago, if nothing was learnt since; None: it has to be looked at."""
        found, until, stamp = self._settled.get(_key(page), (None, 0.0, None))
        return found if until > self._clock() and stamp == self._sites.stamp() else None

    async def learn_error_page(self, page: Page) -> None:
        """A page that was honestly answered 404: the site may send the same text with a 200 elsewhere."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._learn, page)
        except RepairError as error:
            log.warning("%s", error)

    async def vouch(self, url: str, sketch: Sketch) -> None:
        """A reader wanted to see the page after all; what cannot be written down holds until the next start."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._sites.forget, url, sketch)
        except RepairError as error:
            log.warning("%s", error)
            self._settled.clear()
            self._vouched.note(url, None)

    async def close(self) -> None:
        """Give up what sites have not answered."""
        for task in tuple(self._probes):
            task.cancel()
        if self._probes:
            await asyncio.wait(self._probes)

    def _has_enough_to_ask(self, url: str) -> bool:
        if len(self._probes) >= _MAX_PROBES:
            return True
        return list(self._probes.values()).count(site(url)) >= _MAX_PROBES_OF_SITE

    def _settle(self, page: Page, found: Finding, stamp: Stamp) -> None:
        self._settled.note(_key(page), (found, self._clock() + _SETTLED_S, stamp))

    def _known(self, page: Page, asked: str | None) -> Finding:
        """All that needs no answer of the site."""
        judgement = self._judgement(page)
        if self._is_fine(page.url) or (asked is not None and self._is_fine(asked)):
            return Finding(judgement=replace(judgement, unsure=False), why="reader")
        # Never a start page: single-page applications send it, with a 404, for every address of theirs.
        # Nor a page with much to say: on a host of many, whoever sends its text with a 404 would hide it from all.
        has_little_to_say = judgement != ORDINARY
        error_pages = self._sites.error_pages(page.url) if place_of(page.url) and has_little_to_say else []
        sketch = self._sketch(page, judgement, error_pages)
        if any(is_alike(sketch, known) for known in error_pages) and not self._may_show_another(
            page, judgement
        ):
            return Finding(judgement=_MISSING, why="memory", sketch=sketch)
        if asked is not None and judgement.kind not in MISSES and self._led_astray(asked, page):
            return Finding(judgement=_MISSING, why="redirect", sketch=sketch)
        return Finding(judgement=judgement, sketch=sketch)

    def _is_fine(self, url: str) -> bool:
        return url in self._vouched or self._sites.is_fine(url)

    def _judgement(self, page: Page) -> Judgement:
        """By content, remembered for pages that come again."""
        key = _key(page)
        known = self._judged.get(key)
        return known if known is not None else self._judged.note(key, judge(page, self._weights))

    def _sketch(self, page: Page, judgement: Judgement, error_pages: list[Sketch]) -> Sketch:
        """Of a page in doubt, or one that may be an error page of its site; of others nobody asks for it."""
        is_wanted = judgement.unsure or judgement.miss is not None
        like = KEPT if is_wanted else max(map(len, error_pages), default=0)
        if not like:
            return ()
        key = _key(page), like
        known = self._sketched.get(key)
        return known if known is not None else self._sketched.note(key, sketch_of(page, like=like))

    def _may_show_another(self, page: Page, judgement: Judgement) -> bool:
        """Whether the text of the page does not tell which page it is: an application sends one for all of them."""
        return judgement.kind is PageKind.SHELL or (judgement.miss is None and is_filled_by_scripts(page))

    def _led_astray(self, asked: str, page: Page) -> bool:
        """Whether the redirect tells of a missing page, and the page it led to does not answer to the address."""
        if landing(asked, page.url) is None:
            return False
        parts = parts_of(page)
        return parts is not None and address_evidence(asked, signals(parts)) >= 0

    async def _probed(self, url: str, found: Finding) -> Finding:
        """Ask the site, once in a while for each directory, and remember what it gave away."""
        loop = asyncio.get_running_loop()
        try:
            if self._ask is None or not await loop.run_in_executor(
                self._executor, self._sites.may_ask, place_of(url)
            ):
                return found
            answer = await probe(url, found.sketch, self._ask)
            if answer.error_page:
                await loop.run_in_executor(self._executor, self._sites.remember, url, answer.error_page)
        except RepairError as error:
            log.warning("%s", error)
            return found
        if answer.verdict is Verdict.MISSING:
            return replace(found, judgement=_MISSING, why="probe")
        return found

    def _learn(self, page: Page) -> None:
        self._sites.remember(page.url, sketch_of(page))


def _key(page: Page) -> Key:
    """By Python's own hash, ten times as quick as a digest: who forges one deceives us about a page of its own."""
    return page.url, len(page.body), hash(page.body)
