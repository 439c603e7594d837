"""Queries one archive: all that it lists for a URL, within its rate limit, with its health recorded afterwards."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from repair.fetch import FetchError, FetchLimits, PageFetcher
from repair.memento.archive import Archive, split_memento_url
from repair.memento.asyncstore import AsyncArchiveStore
from repair.memento.datetimes import as_http_date, http_date
from repair.memento.model import ArchiveAnswer, ArchiveOutcome, Memento
from repair.memento.ratelimits import retry_after
from repair.memento.timemaps import Capture, CaptureList, listing
from repair.memento.weblinks import weblinks
from repair.model import Page
from repair.parse.decode import identity_body
from repair.settings import ArchivesSettings
from repair.text import urls

MAX_PAGES = 8
"""Parts of a paged TimeMap that are fetched, the latest first."""
MAX_LIST_BYTES = 4 * 1024**2
_UNPACKED = 4  # times as large a list may be once unpacked
_LEAST_WAIT_S = 0.05
_NOTHING = frozenset((404, 410, 451))


class ArchiveRateLimited(Exception):
    """An archive may not be queried now: it is paused, or our rate limit is used up."""


class ArchiveRefused(FetchError):
    """The archive refuses this URL, to us or to anybody. This does not count as a failure of the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveQuery:
    """A question to an archive, which may take several requests; `until` is its deadline (loop time)."""

    archive: Archive
    until: float


class ArchiveQuerier:
    """Asks archives; every request goes through `get`, which keeps the rate limits."""

    def __init__(
        self,
        settings: ArchivesSettings,
        fetcher: PageFetcher,
        memory: AsyncArchiveStore,
        clock: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._fetcher = fetcher
        self._memory = memory
        self._clock = clock

    async def ask(self, archive: Archive, url: str) -> ArchiveAnswer:
        """What an archive lists for a URL. Never raises, and takes no longer than the deadline of one archive."""
        question = self.question(archive)
        mementos: tuple[Memento, ...] = ()
        note = ""
        try:
            async with asyncio.timeout_at(question.until):
                mementos = await self._fetch_mementos(question, url)
            outcome = health = ArchiveOutcome.ANSWERED if mementos else ArchiveOutcome.NOTHING
        except TimeoutError:
            outcome = health = ArchiveOutcome.LATE
            note = f"no answer within {self._settings.archive_deadline_s:g} s"
        except ArchiveRateLimited as error:
            outcome, health, note = ArchiveOutcome.LIMITED, ArchiveOutcome.LIMITED, str(error)
        except ArchiveRefused as error:
            outcome, health, note = ArchiveOutcome.BROKEN, ArchiveOutcome.ANSWERED, str(error)
        except FetchError as error:
            outcome, health, note = ArchiveOutcome.BROKEN, ArchiveOutcome.BROKEN, str(error)
        await self.note(archive, health)
        return ArchiveAnswer(
            archive=archive.name, outcome=outcome, said_at=self._now(), mementos=mementos, note=note
        )

    def question(self, archive: Archive) -> ArchiveQuery:
        """A question whose deadline counts from now."""
        until = asyncio.get_running_loop().time() + self._settings.archive_deadline_s
        return ArchiveQuery(archive=archive, until=until)

    async def get(
        self,
        question: ArchiveQuery,
        url: str,
        *,
        kind: str,
        max_bytes: int,
        headers: dict[str, str] | None = None,
    ) -> Page:
        """One request, once the archive may be queried; FetchError for server errors, ArchiveRateLimited for a pause.

        `kind` is "list" or "page": archives allow fewer requests to their indexes than for pages.
        """
        archive = question.archive
        if not archive.owns(url):
            raise FetchError("leads to a foreign host")
        await self._wait_for_turn(question, kind)
        # The deadline of the question comes first: a request has no shorter one.
        within_s = self._settings.archive_deadline_s
        limits = FetchLimits(max_bytes=max_bytes, timeout_s=within_s, connect_s=within_s, silence_s=within_s)
        page = await self._fetcher.get(
            url, limits=limits, headers={"Accept-Encoding": "gzip", **(headers or {})}
        )
        # With Memento-Datetime, a 503 is an archived page like any other.
        if page.status in (429, 503) and page.header("memento-datetime") is None:
            wait_s = retry_after(page.header("retry-after"), self._now())
            await self._memory.ask(partial(self._memory.admission.note_refusal, archive.name, wait_s), None)
            raise ArchiveRateLimited(f"status {page.status}")
        if page.status >= 500 and page.header("memento-datetime") is None:
            raise FetchError(f"status {page.status}")
        await self._memory.ask(
            partial(self._memory.admission.end_trial, archive.name, self._settings.archive_deadline_s), None
        )
        return page

    async def note(self, archive: Archive, outcome: ArchiveOutcome) -> None:
        """Record the outcome of a question for the archive's health; `get` has already recorded refusals."""
        admission = self._memory.admission
        if outcome in (ArchiveOutcome.LATE, ArchiveOutcome.BROKEN):
            await self._memory.ask(partial(admission.note_failure, archive.name), None)
        elif outcome in (ArchiveOutcome.ANSWERED, ArchiveOutcome.NOTHING):
            await self._memory.ask(partial(admission.note_success, archive.name), None)

    async def _wait_for_turn(self, question: ArchiveQuery, kind: str) -> None:
        """Wait until the archive may be queried; ArchiveRateLimited when it is paused, or the deadline would pass.

        Without that limit, waiting for our own rate limit would count as the archive's failure.
        """
        per_minute = self._settings.lists_per_minute if kind == "list" else self._settings.pages_per_minute
        take = partial(
            self._memory.admission.take,
            question.archive.name,
            kind,
            per_minute,
            trial_s=self._settings.archive_deadline_s,
        )
        while (wait_s := await self._memory.ask(take, None)) != 0.0:
            if wait_s is None:
                raise ArchiveRateLimited("paused after failures")
            if asyncio.get_running_loop().time() + wait_s >= question.until:
                raise ArchiveRateLimited("rate limit reached")
            await asyncio.sleep(max(_LEAST_WAIT_S, wait_s))

    async def _fetch_mementos(self, question: ArchiveQuery, url: str) -> tuple[Memento, ...]:
        """The mementos of the first endpoint that answers."""
        complaint = FetchError("not asked for this address")
        for kind, template in question.archive.questions:
            address = question.archive.fill_template(template, url)
            try:
                captures = await (
                    self._ask_timegate(question, address)
                    if kind == "timegate"
                    else self._fetch_captures(question, address)
                )
            except FetchError as error:
                complaint = error
                continue
            return await asyncio.to_thread(question.archive.mementos, url, captures)
        raise complaint

    async def _fetch_captures(self, question: ArchiveQuery, address: str) -> tuple[Capture, ...]:
        """All captures of a list and its further parts; a failing part ends it, and raises only as the first."""
        captures: list[Capture] = []
        waiting, seen = [address], set[str]()
        while waiting and len(seen) < MAX_PAGES and len(captures) < self._settings.max_mementos:
            part = waiting.pop(0)
            if part in seen:
                continue
            seen.add(part)
            try:
                found = await self._fetch_list(question, part)
            except (FetchError, ArchiveRateLimited):
                if not captures:
                    raise
                break
            captures += found.captures
            resolved = (urls.resolve(part, page) for page in found.pages)
            waiting += [page for page in resolved if page and question.archive.owns(page)]
        return tuple(captures[: self._settings.max_mementos])

    async def _fetch_list(self, question: ArchiveQuery, address: str) -> CaptureList:
        page = await self._follow_redirects(question, address)
        if page.status in _NOTHING:
            return CaptureList()
        if page.status != 200:
            raise (ArchiveRefused if page.status >= 400 else FetchError)(f"status {page.status}")
        # Parsing megabytes of lines would block the event loop.
        found = await asyncio.to_thread(_read, page, self._settings.max_mementos)
        if found is None:
            raise FetchError("response is not a list of captures")
        return found

    async def _follow_redirects(self, question: ArchiveQuery, address: str) -> Page:
        for _ in range(self._settings.max_redirects + 1):
            page = await self.get(question, address, kind="list", max_bytes=MAX_LIST_BYTES)
            location = page.header("location")
            target = urls.resolve(address, location) if location and 300 <= page.status <= 399 else None
            if target is None:
                return page
            address = target
        raise FetchError("redirect loop")

    async def _ask_timegate(self, question: ArchiveQuery, address: str) -> tuple[Capture, ...]:
        """The captures that a TimeGate names: its target and those of its Link header, or of its TimeMap."""
        headers = {"Accept-Datetime": as_http_date(self._now())}
        page = await self.get(
            question, address, kind="list", max_bytes=self._settings.max_page_bytes, headers=headers
        )
        if page.status in _NOTHING:
            return ()
        links = page.header("link") or ""
        named = _timemap(links)
        timemap = urls.resolve(address, named) if named else None
        if timemap and question.archive.owns(timemap):
            return await self._fetch_captures(question, timemap)
        found = listing(links, limit=self._settings.max_mementos) or CaptureList()
        captures = (*_timegate_captures(page, address), *found.captures)
        if not captures:
            raise FetchError(f"status {page.status} without a memento")
        return captures

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def with_earlier_mementos(answer: ArchiveAnswer, earlier: ArchiveAnswer | None) -> ArchiveAnswer:
    """A failed answer with the mementos of an earlier one; a good answer stays as it is."""
    if earlier is None or answer.outcome in (ArchiveOutcome.ANSWERED, ArchiveOutcome.NOTHING):
        return answer
    note = f"{answer.note}; as of {earlier.said_at:%Y-%m-%d}"
    return replace(answer, mementos=earlier.mementos, note=note)


def _read(page: Page, limit: int) -> CaptureList | None:
    """Lists of archives are UTF-8 or ASCII."""
    body = identity_body(page, _UNPACKED * MAX_LIST_BYTES)
    if body is None:
        raise FetchError("too large, or packed in a broken way")
    return listing(body.decode("utf-8", "replace"), limit=limit)


def _timemap(links: str) -> str:
    """The TimeMap that a Link header names; "" when it names none."""
    maps = (link for link in weblinks(links) if "timemap" in link.rels)
    return next((link.target for link in maps if "json" not in link.parameters.get("type", "")), "")


def _timegate_captures(page: Page, address: str) -> tuple[Capture, ...]:
    """The memento that a TimeGate leads to: the redirect target, or the answer itself."""
    location = page.header("location") or page.header("content-location")
    target = urls.resolve(address, location) if location else None
    named = split_memento_url(target) if target else None
    at = http_date(page.header("memento-datetime") or "") or (named[0] if named else None)
    return (Capture(at=at, url=target),) if target and at else ()
