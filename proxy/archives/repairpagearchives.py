"""Web archives behind the repair page: what is remembered goes out with the page, what they say later follows it.

Archives are asked when a reader's page asks for them, never while it is made. Several readers of the same lost page
wait for one question.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from proxy.archives.client import RememberedCopies, held_here
from proxy.archives.findings import Findings, key_of, title_of
from proxy.pages.archivepage import LATEST, ArchiveContext, archive_page, archive_part
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage
from proxy.pages.timeview import TimeView
from proxy.portal.helper import Mementos
from proxy.readers.forreader import ForReader
from repair.memento.client import MementoClient
from repair.memento.following import Following
from repair.memento.model import Copy, Memento, merged
from repair.model import Alternative, BrokenLink, Document
from repair.neighbourhood import Reach
from repair.newversion import Choices, NewVersion, Suggestion
from repair.versions import HeldVersions

_WAIT_S = 5.0  # for news; the script asks again then
_TITLES_S = 8.0
_MAX_TITLES = 2_000
_SEARCH_S = 3.0
_HELD = 3  # pages shown below each query
_MAX_FOLLOWED = 32
_FOLLOWED_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivesShown:
    """What depends on the rest of linkmend in what readers see.

    `search` finds held pages for words, `versions` tells which versions of a page are held here and may be read.
    """

    portal: Callable[[], bool]
    versions: Callable[[str], Awaitable[HeldVersions | None]]
    search: Callable[[str, int], Awaitable[tuple[Alternative, ...]]]
    search_template: str = ""


class Archives:
    """Finds archived versions of lost pages for the readers who were shown a repair page."""

    def __init__(
        self,
        client: MementoClient,
        copies: RememberedCopies,
        ways: NewVersion,
        executor: Executor,
        shown: ArchivesShown,
        *,
        asked: bool = True,
    ) -> None:
        """`asked` says whether archives are asked where no rule says otherwise."""
        self.asked = asked
        self._client = client
        self._copies = copies
        self._ways = ways
        self._executor = executor
        self.shown = shown
        self._missed: ForReader[tuple[BrokenLink, bool]] = ForReader()
        self._titles: OrderedDict[str, str] = OrderedDict()
        self._followed: OrderedDict[str, tuple[Following, float]] = OrderedDict()

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None:
        """A reader was shown a repair page, and may ask for archived versions; without `ask`, known ones."""
        self._missed.note(miss_id, client, (link, ask))

    async def remembered(self, link: BrokenLink, *, ask: bool = True) -> Findings:
        """What is known of a lost page without asking anybody; without `ask` that is all there will be."""
        found = await self._client.remembered(link.url)
        best = await self._copies.best_of(found)
        known = Findings(link=link, found=found, best=best, offline=self._client.offline or not ask)
        known = replace(known, finished=known.offline)
        return await self._with_ours(await self._completed(known, TimeView(), ask=ask))

    async def answer(self, call: Mementos, texts: Catalogue, client: str) -> RenderedPage | None:
        """What archives have of the page that this reader missed; None when it was not theirs to see."""
        missed = self._missed.of(call.miss_id, client)
        if missed is None:
            return None
        link, ask = missed
        followed = await self._follow(link.url) if ask else None
        if followed is None:
            findings = replace(await self.remembered(link, ask=ask), finished=True)
        else:
            await followed.wait(partial(_worth_showing, followed, call), wait_s=_WAIT_S)
            self._copies.note(followed.found, followed.best)
            known = Findings(
                link=link,
                found=followed.found,
                best=followed.best,
                version=max(1, followed.version),
                finished=followed.finished,
                offline=self._client.offline,
            )
            findings = await self._with_ours(await self._completed(known, call.view, ask=ask))
        if not call.part:
            findings = replace(findings, held=await self._held(findings.suggestions))
        context = ArchiveContext(
            texts=texts,
            miss_id=call.miss_id,
            now=datetime.now(UTC),
            view=call.view,
            search_template=self.shown.search_template,
            portal=self.shown.portal(),
        )
        # Thousands of mementos take some ten milliseconds to be counted and drawn.
        return await asyncio.to_thread(archive_part if call.part else archive_page, findings, context)

    async def close(self) -> None:
        """Follow nothing any more."""
        await asyncio.gather(*(followed.stop() for followed, _ in self._followed.values()))

    async def _follow(self, url: str) -> Following | None:
        """The question about a URL, asked now unless it was a moment ago; None when too many are under way."""
        now = time.monotonic()
        followed, since = self._followed.get(url, (None, 0.0))
        if followed is not None and (not followed.finished or now - since < _FOLLOWED_S):
            return followed
        if len(self._followed) >= _MAX_FOLLOWED:
            done = next((name for name, (each, _) in self._followed.items() if each.finished), None)
            if done is None:
                return None
            del self._followed[done]
        begun = Following(self._client, url)
        self._followed[url] = (begun, now)
        begun.start()
        return begun

    async def _completed(self, findings: Findings, view: TimeView, *, ask: bool) -> Findings:
        """The findings with ways to the new version, and the last mementos with as many titles as are known."""
        chosen = next(
            (each for each in reversed(findings.found.mementos) if view.take and key_of(each) == view.take),
            None,
        )
        taken = await self._client.look(chosen, ask=ask) if chosen else findings.best
        loop = asyncio.get_running_loop()
        document = taken.document if taken else None
        ways = await loop.run_in_executor(self._executor, self._suggestions, findings.link, document, view)
        for copy in (taken, findings.best):
            self._note_title(copy)
        latest = findings.found.mementos[: -LATEST - 1 : -1]
        # To read ten pages for their titles takes too long for a page that somebody waits for.
        if findings.version:
            await self._look(latest, ask=ask and view.titles)
        titles = tuple((memento, *self._judged(self._titles.get(memento.url, ""))) for memento in latest)
        return replace(findings, taken=taken, suggestions=ways, titles=titles)

    async def _with_ours(self, findings: Findings) -> Findings:
        """The findings with the versions that are held here."""
        held = await self.shown.versions(findings.link.url) if self.shown.portal() else None
        if held is None or not held.moments:
            return findings
        found = merged(findings.found.url, (*findings.found.answers, held_here(held)))
        return replace(findings, found=found)

    async def _held(self, ways: tuple[Suggestion, ...]) -> dict[str, tuple[Alternative, ...]]:
        """The first held pages that each query finds; one that takes too long finds none."""
        try:
            async with asyncio.timeout(_SEARCH_S):
                found = await asyncio.gather(*(self.shown.search(way.query, _HELD) for way in ways))
        except TimeoutError:
            return {}
        return {way.kind: pages for way, pages in zip(ways, found, strict=True)}

    async def _look(self, latest: tuple[Memento, ...], *, ask: bool) -> None:
        """Learn titles that are not known yet; without `ask`, only those of pages that are remembered."""
        unknown = (each for each in latest if each.url not in self._titles)
        tasks = [asyncio.ensure_future(self._client.look(each, ask=ask)) for each in unknown]
        if tasks:
            done, late = await asyncio.wait(tasks, timeout=_TITLES_S)
            for task in late:
                task.cancel()
            for task in done:
                self._note_title(task.result())

    def _note_title(self, copy: Copy | None) -> None:
        if copy is not None:
            self._titles[copy.memento.url] = title_of(copy)
            while len(self._titles) > _MAX_TITLES:
                self._titles.popitem(last=False)

    def _judged(self, title: str) -> tuple[str, bool]:
        return title, bool(title) and self._ways.is_stop_title(title)

    def _suggestions(self, link: BrokenLink, copy: Document | None, view: TimeView) -> tuple[Suggestion, ...]:
        reach = Reach(backlinks=view.backlinks, levels=view.levels, radius=view.radius)
        choices = Choices(terms=view.terms, weighting=view.weighting, reach=reach)
        return self._ways.suggestions(link, copy, choices)


def _worth_showing(followed: Following, call: Mementos) -> bool:
    """Whether there is news for the script, which asks again, or for a page of its own the last good copy."""
    return followed.version > call.seen if call.part else followed.best is not None
