"""The office's stores as a worker sees them: of the same shape, and answering nothing when the office does not.

Whoever has to know that nothing came gets `NoAnswer`, a TimeoutError; elsewhere nothing found is an answer.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from proxy.archives.findings import Findings
from proxy.desk.door import Door
from proxy.mending import REMEMBER_S, Mended, Miss
from proxy.misses.record import MissRecord
from proxy.office import messages
from proxy.office.line import NoAnswer, OfficeLine
from proxy.office.shared import KnowledgeAlone, SharedKnowledge
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage
from proxy.portal.helper import Mementos
from proxy.seldom import Seldom
from proxy.settings import Settings
from proxy.watching.metrics import Metrics
from proxy.watching.recent import RecentProblems
from repair.model import Alternative, BrokenLink, HeldCopy, HeldPage, Page
from repair.versions import HeldVersions

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_ARCHIVES_S = 30.0  # they wait for news themselves
_FIRST_S = 10.0
_HEARD_S = 10.0
_COUNTED_S = 1.0

T = TypeVar("T")


class _Missing:
    """What to do without the office: go on with nothing, and say so seldom."""

    def __init__(self) -> None:
        self._seldom = Seldom(log)

    async def without(self, asking: Awaitable[T], nothing: T) -> T:
        try:
            return await asking
        except NoAnswer as error:
            self._seldom.warn("went on without the office: %s", error)
            return nothing


class DistantMender:
    """The making of repair pages, in the office."""

    def __init__(self, line: OfficeLine) -> None:
        self._line = line

    async def mend(self, miss: Miss, *, within_s: float) -> Mended:
        """Raises NoAnswer."""
        question = messages.Mend(miss=miss, within_s=within_s)
        # The office has a page with what is known after `within_s`; who asks allows it the time to send that.
        return await self._line.ask(question, messages.MENDED, within_s=within_s + 2 * REMEMBER_S)


class DistantSearch:
    """Searching the collection, in the office."""

    def __init__(self, line: OfficeLine, missing: _Missing, *, deadline_s: float) -> None:
        self._line = line
        self._missing = missing
        self.deadline_s = deadline_s

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        question = messages.Search(text=text, limit=limit)
        asking = self._line.ask(question, messages.ALTERNATIVES, within_s=self.deadline_s)
        return await self._missing.without(asking, ())


class DistantReader:
    """The collection, in the office."""

    def __init__(self, line: OfficeLine, missing: _Missing) -> None:
        self._line = line
        self._missing = missing

    async def copy(self, url: str) -> HeldCopy | None:
        asking = self._line.ask(messages.CopyOf(url=url), messages.COPY, within_s=_LOOK_S)
        return await self._missing.without(asking, None)

    async def versions(self, url: str) -> HeldVersions | None:
        asking = self._line.ask(messages.VersionsOf(url=url), messages.VERSIONS, within_s=_LOOK_S)
        return await self._missing.without(asking, None)

    async def version(self, url: str, moment: datetime) -> HeldCopy | None:
        asking = self._line.ask(messages.VersionOf(url=url, moment=moment), messages.COPY, within_s=_LOOK_S)
        return await self._missing.without(asking, None)

    async def page(self, url: str) -> HeldPage | None:
        asking = self._line.ask(messages.PageAt(url=url), messages.PAGE, within_s=_LOOK_S)
        return await self._missing.without(asking, None)

    async def count(self) -> int:
        asking = self._line.ask(messages.Count(), messages.NUMBER, within_s=_LOOK_S)
        return await self._missing.without(asking, 0)


class DistantMisses:
    """The miss log, in the office."""

    def __init__(self, line: OfficeLine) -> None:
        self._line = line

    def record(self, record: MissRecord) -> None:
        self._line.tell(messages.Record(record=record))

    def chosen(self, miss_id: str, number: int, *, client: str, network: str) -> None:
        note = messages.Chosen(miss_id=miss_id, number=number, client=client, network=network)
        self._line.tell(note)


class DistantHints:
    """What is learnt of moved pages, in the office."""

    def __init__(self, line: OfficeLine) -> None:
        self._line = line

    def note_redirect(self, old: str, new: str) -> None:
        self._line.tell(messages.Moved(old=old, new=new))


class DistantHarvester:
    """The reading of pages, in the office: a worker only sends their bytes."""

    def __init__(self, line: OfficeLine) -> None:
        self._line = line

    def offer(self, page: Page) -> bool:
        return self._line.tell(messages.Offer(page=page))

    def later(self, work: Callable[[], None]) -> bool:
        """At once: what it does is to tell the office, where it waits for its turn."""
        work()
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    search_template: str


class DistantArchives:
    """The client of web archives, in the office."""

    def __init__(self, line: OfficeLine, missing: _Missing, *, search_template: str, asked: bool) -> None:
        self._line = line
        self._missing = missing
        self.shown = _Shown(search_template=search_template)
        self.asked = asked

    def note(self, miss_id: str, client: str, link: BrokenLink, *, ask: bool = True) -> None:
        self._line.tell(messages.Missed(miss_id=miss_id, client=client, link=link, ask=ask))

    async def remembered(self, link: BrokenLink, *, ask: bool = True) -> Findings:
        """Raises NoAnswer."""
        question = messages.Remembered(link=link, ask=ask)
        return await self._line.ask(question, messages.FINDINGS, within_s=_LOOK_S)

    async def answer(self, call: Mementos, texts: Catalogue, client: str) -> RenderedPage | None:
        question = messages.FromArchives(call=call, language=texts.code, client=client)
        asking = self._line.ask(question, messages.RENDERED, within_s=_ARCHIVES_S)
        return await self._missing.without(asking, None)


class DistantLine:
    """Tells the office whether the internet line is up, a few times a minute at most."""

    def __init__(self, line: OfficeLine) -> None:
        self._line = line
        self._answered: bool | None = None
        self._told_at = float("-inf")

    def heard(self, now: float) -> None:
        """A site answered, whatever it said."""
        self._tell(now, answered=True)

    def silent(self, now: float) -> None:
        """Nobody answered."""
        self._tell(now, answered=False)

    def _tell(self, now: float, *, answered: bool) -> None:
        if answered != self._answered or now - self._told_at >= _HEARD_S:
            self._answered, self._told_at = answered, now
            self._line.tell(messages.Heard(at=now, answered=answered))


class DistantDesk:
    """The desk, in the office: where it is, and what a worker counts for it."""

    def __init__(self, line: OfficeLine, name: str) -> None:
        self._line = line
        self._name = name
        self._counting: asyncio.Task[None] | None = None
        self._on_ports: Callable[[Collection[int]], None] = lambda ports: None
        self._ports: frozenset[int] = frozenset()
        self.metrics = Metrics()
        self.problems = RecentProblems()
        self.line = DistantLine(line)
        self.door_address = ""
        self.door = Door()

    def welcomed(self, said: messages.Welcome) -> None:
        """The office says where the desk is; after a new start it is elsewhere."""
        self.door_address, self.door = said.door_address, Door(secret=said.door_secret)
        self._ports = frozenset(said.ports)
        self._on_ports(self._ports)

    def on_ports(self, hear: Callable[[Collection[int]], None]) -> None:
        """Have somebody know, now and later, where the office listens."""
        self._on_ports = hear
        hear(self._ports)

    def start(self) -> None:
        self.listen_to_log()
        self._counting = asyncio.create_task(self._tell_figures())

    def stop(self) -> None:
        if self._counting is not None:
            self._counting.cancel()
        logging.getLogger().removeHandler(self.problems)
        self._tell()

    def listen_to_log(self) -> None:
        """Again whenever logging was set up anew, which sends all listeners away."""
        logging.getLogger().addHandler(self.problems)

    async def _tell_figures(self) -> None:
        while True:
            await asyncio.sleep(_COUNTED_S)
            self._tell()

    def _tell(self) -> None:
        if self._line.is_up:
            figures, problems = self.metrics.snapshot(), self.problems.take()
            told = messages.Counted(worker=self._name, pid=os.getpid(), figures=figures, problems=problems)
            self._line.tell(told)


class DistantOffice:
    """The office as a worker sees it, and what it knows of clients together with the other workers."""

    def __init__(
        self, settings: Settings, socket: Path, *, name: str = "worker", alone: bool = False
    ) -> None:
        """`alone` when there are no other workers to be told what this one knows of clients."""
        self._line = OfficeLine(
            socket,
            on_news=lambda news: self._knowledge.hear(news),
            on_welcome=lambda said: self.desk.welcomed(said),
        )
        self.desk = DistantDesk(self._line, name)
        self._knowledge = KnowledgeAlone() if alone else SharedKnowledge(self._line.share)
        missing = _Missing()
        self.searcher = DistantSearch(self._line, missing, deadline_s=settings.repair.deadline_s)
        self.mender = DistantMender(self._line)
        self.reader = DistantReader(self._line, missing)
        self.misses = DistantMisses(self._line)
        self.hints = DistantHints(self._line)
        self.harvester = DistantHarvester(self._line)
        self.archives = DistantArchives(
            self._line,
            missing,
            search_template=settings.repair.search_template,
            asked=settings.archives.enabled,
        )
        self.visitors = self._knowledge.visitors
        self.withheld = self._knowledge.withheld
        self.redirects = self._knowledge.redirects

    def apply(self, settings: Settings) -> None:
        """Take over new settings while running."""
        self.desk.listen_to_log()
        self.searcher.deadline_s = settings.repair.deadline_s
        self.archives.shown = _Shown(search_template=settings.repair.search_template)
        self.archives.asked = settings.archives.enabled

    async def start(self) -> None:
        """Wait for the office for a while; without it readers get pages all the same."""
        await self._line.start(wait_s=_FIRST_S)
        self.desk.start()

    def leave(self) -> None:
        """Tell it that no more readers are taken here."""
        self._line.tell(messages.Leaving())

    async def close(self) -> None:
        """Send what waits."""
        self.desk.stop()
        await self._line.close()
