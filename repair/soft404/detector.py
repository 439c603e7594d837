"""Detects soft 404s: is a page that was answered 200 really there? Cheap checks come first.

    a user vouched for it -> the site's known error page -> a telling redirect -> its text -> a probe of the site

For a page that scripts fill, only the redirect counts: its text may be the same on every page of the site.
The user waits for the first four checks, about a millisecond in a thread, and for the probe no longer than the
budget. A later answer is stored for the next page of that site.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from repair.bounded import BoundedDict
from repair.errors import RepairError
from repair.model import MissKind, Page
from repair.soft404.judge import (
    MISSES,
    ORDINARY,
    PageJudgement,
    PageKind,
    address_evidence,
    is_filled_by_scripts,
    is_plainly_there,
    judge,
)
from repair.soft404.model import Soft404Weights, shipped_weights
from repair.soft404.pageparts import parts_of
from repair.soft404.probe import Ask, ProbeVerdict, place_of, probe
from repair.soft404.redirects import landing
from repair.soft404.signals import signals
from repair.soft404.sitestore import SiteStore
from repair.soft404.sketch import KEPT, Sketch, is_alike, sketch_of
from repair.text.urls import site

log = logging.getLogger(__name__)

_REMEMBERED = 500
_REUSE_S = 30.0
"""How long a finding is reused for the same page, if nothing was learnt of any site meanwhile."""
_SILENT, _LEFT_ALONE = 2, 50
"""After so many pages of a host in a row whose first lines did not tell, so many are read in a thread at once."""
_MAX_PROBES = 20
_MAX_PROBES_OF_SITE = 2
"""Concurrent: one site that never answers does not keep all others from being probed."""

Key = tuple[str, int, int]
"""The key of one content of one address."""
Stamp = tuple[int, int]
"""The version of what is known of sites: a finding is valid while it stays the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soft404Finding:
    """What a page is. `why` names the check for technical users: content, memory, redirect, probe, reader."""

    judgement: PageJudgement
    why: str = "content"
    sketch: Sketch = ()

    @property
    def miss(self) -> MissKind | None:
        """The kind of miss; None for a page that is there, or that a user wants to see all the same."""
        return None if self.why == "reader" else self.judgement.miss


_MISSING = PageJudgement(kind=PageKind.NOT_FOUND, probability=1.0)


class Soft404Detector:
    """Judges pages. Sites are probed only with `ask` and where `may_probe` allows; `ask` respects robots.txt."""

    def __init__(
        self,
        sites: SiteStore,
        executor: Executor,
        *,
        ask: Ask | None = None,
        may_probe: Callable[[str], bool] = lambda url: True,
        weights: Soft404Weights | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sites = sites
        self._executor = executor
        self._ask = ask
        self._may_probe = may_probe
        self._weights = weights or shipped_weights()
        self._judged = BoundedDict[Key, PageJudgement](_REMEMBERED)
        self._sketched = BoundedDict[tuple[Key, int], Sketch](_REMEMBERED)
        self._settled = BoundedDict[Key, tuple[Soft404Finding, float, Stamp]](_REMEMBERED)
        self._silent = BoundedDict[str, int](_REMEMBERED)
        self._brief = BoundedDict[str, bool](_REMEMBERED)
        self._clock = clock
        self._probes: dict[asyncio.Task[Soft404Finding], str] = {}
        self._vouched = BoundedDict[str, None](_REMEMBERED)

    async def find(
        self, page: Page, *, redirected_from: str | None = None, budget_s: float = 0.0
    ) -> Soft404Finding:
        """What the page is; `redirected_from` is the address that redirected to it. Never raises RepairError."""
        loop = asyncio.get_running_loop()
        if redirected_from is None:
            if (settled := self.recent_finding(page)) is not None:
                return settled
            if self._judged.get(_key(page)) == ORDINARY:  # nothing that is known of its site changes that
                return Soft404Finding(judgement=ORDINARY)
        stamp = self._sites.stamp()
        try:
            found = await loop.run_in_executor(self._executor, self._find_locally, page, redirected_from)
        except RepairError as error:
            log.warning("%s", error)
            return Soft404Finding(judgement=ORDINARY)
        if not found.judgement.unsure and redirected_from is None:
            self._settle(page, found, stamp)
        if not found.judgement.unsure or not found.sketch or self._ask is None:
            return found
        if self._has_enough_to_ask(page.url) or not place_of(page.url) or not self._may_probe(page.url):
            return found
        task = loop.create_task(self._probe(page.url, found))
        self._probes[task] = site(page.url)
        task.add_done_callback(self._probes.pop)
        done, _ = await asyncio.wait({task}, timeout=budget_s)
        return task.result() if done else found

    def note_judgement(self, page: Page, judgement: PageJudgement) -> None:
        """Take over a judgement by content that another process made."""
        self._judged[_key(page)] = judgement

    def recent_finding(self, page: Page) -> Soft404Finding | None:
        """The recent finding for the same page, if it is still valid; None when the page must be judged."""
        found, until, stamp = self._settled.get(_key(page), (None, 0.0, None))
        return found if until > self._clock() and stamp == self._sites.stamp() else None

    def find_at_once(self, page: Page) -> Soft404Finding | None:
        """What a page is that nobody was redirected to, if its first lines tell; None when a thread must read it.

        A page with much text is there whatever is known of the site. Most sites have such pages or have none, so
        where the first lines did not tell, they are left alone for a while.
        """
        host = page.url.split("/", 3)[2]
        silent = self._silent.get(host, 0)
        is_left_alone = _SILENT <= silent < _LEFT_ALONE
        if is_left_alone or not self._is_plainly_there(page, host):
            self._silent[host] = silent + 1 if silent < _LEFT_ALONE else _SILENT
            return None
        self._silent.pop(host, None)
        found = Soft404Finding(judgement=ORDINARY)
        self._settle(page, found, self._sites.stamp())
        return found

    def _is_plainly_there(self, page: Page, host: str) -> bool:
        """As `is_plainly_there` says; a brief glance is tried first at sites where it was enough."""
        if self._brief.get(host):
            self._brief[host] = is_plainly_there(page, brief=True)
        if self._brief.get(host):
            return True
        found = is_plainly_there(page)
        if found and host not in self._brief:
            self._brief[host] = is_plainly_there(page, brief=True)
        return found

    async def learn_error_page(self, page: Page) -> None:
        """Store the text of a page that was answered 404: the site may send the same text with a 200."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._learn, page)
        except RepairError as error:
            log.warning("%s", error)

    async def vouch(self, url: str, sketch: Sketch) -> None:
        """A user wanted to see the page after all; if that cannot be stored, it is valid until the next start."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, self._sites.vouch, url, sketch)
        except RepairError as error:
            log.warning("%s", error)
            self._settled.clear()
            self._vouched[url] = None

    async def close(self) -> None:
        """Cancel the probes that are under way."""
        for task in tuple(self._probes):
            task.cancel()
        if self._probes:
            await asyncio.wait(self._probes)

    def _has_enough_to_ask(self, url: str) -> bool:
        if len(self._probes) >= _MAX_PROBES:
            return True
        return list(self._probes.values()).count(site(url)) >= _MAX_PROBES_OF_SITE

    def _settle(self, page: Page, found: Soft404Finding, stamp: Stamp) -> None:
        self._settled[_key(page)] = (found, self._clock() + _REUSE_S, stamp)

    def _find_locally(self, page: Page, redirected_from: str | None) -> Soft404Finding:
        """All checks that need no request to the site."""
        judgement = self._judgement(page)
        if judgement == ORDINARY and redirected_from is None:
            return Soft404Finding(judgement=judgement)
        if self._is_fine(page.url) or (redirected_from is not None and self._is_fine(redirected_from)):
            return Soft404Finding(judgement=replace(judgement, unsure=False), why="reader")
        # Never a start page: single-page applications send it, with a 404, for all their addresses.
        # Nor a page with much text: on a shared host, another site could send that text with a 404 and so hide it.
        has_little_to_say = judgement != ORDINARY
        error_pages = self._sites.error_pages(page.url) if place_of(page.url) and has_little_to_say else []
        sketch = self._sketch(page, judgement, error_pages)
        if any(is_alike(sketch, known) for known in error_pages) and not self._may_show_another(
            page, judgement
        ):
            return Soft404Finding(judgement=_MISSING, why="memory", sketch=sketch)
        if (
            redirected_from is not None
            and judgement.kind not in MISSES
            and self._is_telling_redirect(redirected_from, page)
        ):
            return Soft404Finding(judgement=_MISSING, why="redirect", sketch=sketch)
        return Soft404Finding(judgement=judgement, sketch=sketch)

    def _is_fine(self, url: str) -> bool:
        return url in self._vouched or self._sites.is_fine(url)

    def _judgement(self, page: Page) -> PageJudgement:
        """The judgement by content, cached for pages that come again."""
        key = _key(page)
        known = self._judged.get(key)
        return known if known is not None else self._judged.keep(key, judge(page, self._weights))

    def _sketch(self, page: Page, judgement: PageJudgement, error_pages: list[Sketch]) -> Sketch:
        """The sketch of a page that is in doubt or may be a known error page; empty for others, which need none."""
        is_wanted = judgement.unsure or judgement.miss is not None
        like = KEPT if is_wanted else max(map(len, error_pages), default=0)
        if not like:
            return ()
        key = _key(page), like
        known = self._sketched.get(key)
        return known if known is not None else self._sketched.keep(key, sketch_of(page, like=like))

    def _may_show_another(self, page: Page, judgement: PageJudgement) -> bool:
        """Whether other pages of the site may have the same text: an application sends one shell for all of them."""
        return judgement.kind is PageKind.SHELL or (judgement.miss is None and is_filled_by_scripts(page))

    def _is_telling_redirect(self, redirected_from: str, page: Page) -> bool:
        """Whether the redirect suggests a missing page, and the page it led to does not match the address."""
        if landing(redirected_from, page.url) is None:
            return False
        parts = parts_of(page)
        return parts is not None and address_evidence(redirected_from, signals(parts)) >= 0

    async def _probe(self, url: str, found: Soft404Finding) -> Soft404Finding:
        """Probe the site, once in a while for each directory, and store the error page it shows."""
        loop = asyncio.get_running_loop()
        try:
            if self._ask is None or not await loop.run_in_executor(
                self._executor, self._sites.claim_probe, place_of(url)
            ):
                return found
            answer = await probe(url, found.sketch, self._ask)
            if answer.error_page:
                await loop.run_in_executor(self._executor, self._sites.remember, url, answer.error_page)
        except RepairError as error:
            log.warning("%s", error)
            return found
        if answer.verdict is ProbeVerdict.MISSING:
            return replace(found, judgement=_MISSING, why="probe")
        return found

    def _learn(self, page: Page) -> None:
        self._sites.remember(page.url, sketch_of(page))


def _key(page: Page) -> Key:
    """By Python's hash, ten times as fast as a digest: a site that forges one only affects pages of its own."""
    return page.url, len(page.body), hash(page.body)
