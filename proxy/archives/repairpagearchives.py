"""Web archives on the repair page: stored answers come with the page, new answers follow it.

Archives are queried when the page's script asks for them, never while the page is made. Several users of the same
lost page share one query.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from proxy.archives.client import RememberedCopies, own_answer
from proxy.pages.archivefindings import ArchiveFindings, key_of, title_of
from proxy.pages.archivepage import LATEST, ArchiveContext, archive_page, archive_part
from proxy.pages.language import choose
from proxy.pages.render import RenderedPage
from proxy.portal.routemodel import MementosRoute
from proxy.portal.timeparameters import TimeView
from proxy.privacy.perclient import PerClientStore
from repair.bounded import BoundedDict
from repair.collection.versions import HeldVersions
from repair.evidence.neighbourhood import NeighbourhoodLimits
from repair.memento.client import MementoClient
from repair.memento.model import Memento, MementoCopy, merge_answers
from repair.memento.progress import ArchiveProgress
from repair.model import Alternative, BrokenLink, Document
from repair.newversion import NewVersionOptions, NewVersionQueries, Suggestion

_WAIT_S = 5.0  # for news; the script asks again then
_TITLES_S = 8.0
_MAX_TITLES = 2_000
_SEARCH_S = 3.0
_HELD = 3  # pages shown below each query
_MAX_QUERIES = 32
_QUERY_KEPT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDisplay:
    """The parts of linkmend that the archive section of a repair page uses.

    `search` finds saved pages by words; `versions` returns the saved versions of a page that clients may read.
    """

    portal: Callable[[], bool]
    versions: Callable[[str], Awaitable[HeldVersions | None]]
    search: Callable[[str, int], Awaitable[tuple[Alternative, ...]]]
    search_template: str = ""


class RepairPageArchives:
    """Finds archived versions of lost pages for users with a repair page."""

    def __init__(
        self,
        client: MementoClient,
        copies: RememberedCopies,
        new_version_queries: NewVersionQueries,
        executor: Executor,
        shown: ArchiveDisplay,
    ) -> None:
        self._client = client
        self._copies = copies
        self._new_version_queries = new_version_queries
        self._executor = executor
        self.shown = shown
        self._missed: PerClientStore[tuple[BrokenLink, bool]] = PerClientStore()
        self._titles = BoundedDict[str, str](_MAX_TITLES)
        self._queries: dict[str, tuple[ArchiveProgress, float]] = {}

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None:
        """Note that a client got a repair page and may ask for archived versions; without `ask`, only known ones."""
        self._missed.note(miss_id, client, (link, ask))

    async def stored_findings(self, link: BrokenLink, *, ask: bool = True) -> ArchiveFindings:
        """The stored findings about a lost page; without `ask` no query follows."""
        found = await self._client.stored_timemap(link.url)
        best = await self._copies.best_of(found)
        known = ArchiveFindings(link=link, found=found, best=best, offline=self._client.offline or not ask)
        known = replace(known, finished=known.offline)
        return await self._with_ours(await self._complete(known, TimeView(), ask=ask))

    async def answer(self, call: MementosRoute, language: str, client: str) -> RenderedPage | None:
        """The archives' findings about the page that this client missed; None for another client's miss."""
        missed = self._missed.of(call.miss_id, client)
        if missed is None:
            return None
        link, ask = missed
        query = await self._query_for(link.url) if ask else None
        if query is None:
            findings = replace(await self.stored_findings(link, ask=ask), finished=True)
        else:
            await query.wait(partial(_worth_showing, query, call), wait_s=_WAIT_S)
            self._copies.note(query.found, query.best)
            known = ArchiveFindings(
                link=link,
                found=query.found,
                best=query.best,
                version=max(1, query.version),
                finished=query.finished,
                offline=self._client.offline,
            )
            findings = await self._with_ours(await self._complete(known, call.view, ask=ask))
        if not call.part:
            findings = replace(findings, held=await self._search_saved_pages(findings.suggestions))
        context = ArchiveContext(
            texts=choose(language),
            miss_id=call.miss_id,
            now=datetime.now(UTC),
            view=call.view,
            search_template=self.shown.search_template,
            portal=self.shown.portal(),
        )
        # Thousands of mementos take some ten milliseconds to be counted and drawn.
        return await asyncio.to_thread(archive_part if call.part else archive_page, findings, context)

    async def close(self) -> None:
        """Stop all queries."""
        await asyncio.gather(*(query.stop() for query, _ in self._queries.values()))

    async def _query_for(self, url: str) -> ArchiveProgress | None:
        """The query about a URL, a running one if there is one; None when too many are running."""
        now = time.monotonic()
        query, since = self._queries.get(url, (None, 0.0))
        if query is not None and (not query.finished or now - since < _QUERY_KEPT_S):
            return query
        if len(self._queries) >= _MAX_QUERIES:
            done = next((name for name, (each, _) in self._queries.items() if each.finished), None)
            if done is None:
                return None
            del self._queries[done]
        query = ArchiveProgress(self._client, url)
        self._queries[url] = (query, now)
        query.start()
        return query

    async def _complete(self, findings: ArchiveFindings, view: TimeView, *, ask: bool) -> ArchiveFindings:
        """The findings with ways to the new version, and the last mementos with as many titles as are known."""
        chosen = next(
            (each for each in reversed(findings.found.mementos) if view.take and key_of(each) == view.take),
            None,
        )
        taken = await self._client.look(chosen, ask=ask) if chosen else findings.best
        loop = asyncio.get_running_loop()
        document = taken.document if taken else None
        suggestions = await loop.run_in_executor(
            self._executor, self._suggestions, findings.link, document, view
        )
        for copy in (taken, findings.best):
            self._note_title(copy)
        latest = findings.found.mementos[: -LATEST - 1 : -1]
        # To read ten pages for their titles takes too long for a page that somebody waits for.
        if findings.version:
            await self._look(latest, ask=ask and view.titles)
        titles = tuple((memento, *self._judge_title(self._titles.get(memento.url, ""))) for memento in latest)
        return replace(findings, taken=taken, suggestions=suggestions, titles=titles)

    async def _with_ours(self, findings: ArchiveFindings) -> ArchiveFindings:
        """The findings with the versions saved here."""
        held = await self.shown.versions(findings.link.url) if self.shown.portal() else None
        if held is None or not held.moments:
            return findings
        found = merge_answers(findings.found.url, (*findings.found.answers, own_answer(held)))
        return replace(findings, found=found)

    async def _search_saved_pages(
        self, suggestions: tuple[Suggestion, ...]
    ) -> dict[str, tuple[Alternative, ...]]:
        """The first saved pages that each query finds; none if it takes too long."""
        try:
            async with asyncio.timeout(_SEARCH_S):
                found = await asyncio.gather(
                    *(self.shown.search(suggestion.query, _HELD) for suggestion in suggestions)
                )
        except TimeoutError:
            return {}
        return {suggestion.kind: pages for suggestion, pages in zip(suggestions, found, strict=True)}

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

    def _note_title(self, copy: MementoCopy | None) -> None:
        if copy is not None:
            self._titles[copy.memento.url] = title_of(copy)

    def _judge_title(self, title: str) -> tuple[str, bool]:
        return title, bool(title) and self._new_version_queries.is_stop_title(title)

    def _suggestions(self, link: BrokenLink, copy: Document | None, view: TimeView) -> tuple[Suggestion, ...]:
        reach = NeighbourhoodLimits(backlinks=view.backlinks, levels=view.levels, radius=view.radius)
        choices = NewVersionOptions(terms=view.terms, weighting=view.weighting, reach=reach)
        return self._new_version_queries.suggestions(link, copy, choices)


def _worth_showing(query: ArchiveProgress, call: MementosRoute) -> bool:
    """Whether there is news for the script, which asks again, or for a page of its own the last good copy."""
    return query.version > call.seen if call.part else query.best is not None
