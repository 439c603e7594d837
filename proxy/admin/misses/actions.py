"""What an admin may do about a missed page, whether by a form or by a call; disks are waited for in threads."""

import asyncio
from datetime import UTC, datetime
from typing import Literal

from proxy.desk.frame import Desk, Problem
from proxy.fetching.entries import NotQueued
from proxy.fetching.queue import FetchQueue
from proxy.misses.erasure import spellings
from proxy.pages.display import link_target
from proxy.review.erase import Remembering
from proxy.review.marks import Mark
from proxy.review.review import Review
from proxy.rules.history import RuleEdits
from proxy.rules.model import RulesError
from repair import urls
from repair.pins import Pin, Pins, same_page_key

BY = "admin"


class Deeds:
    """The deeds, over what the desk has; each raises Problem when it cannot be done."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def review(self) -> Review:
        if self._desk.review is None:
            raise Problem(503, "missed pages are not kept here")
        return self._desk.review

    @property
    def pins(self) -> Pins:
        if self._desk.pins is None:
            raise Problem(503, "pages cannot be pinned here")
        return self._desk.pins

    @property
    def fetches(self) -> FetchQueue | None:
        return self._desk.fetches

    @property
    def edits(self) -> RuleEdits | None:
        return self._desk.rules if isinstance(self._desk.rules, RuleEdits) else None

    async def pin(self, url: str, target: str) -> Pin:
        """Have a page offered first for an address."""
        target = target.strip()
        if not urls.is_web_url(url):
            raise Problem(400, "this is no web address that a page could stand in for")
        if link_target(target) is None:
            raise Problem(400, "pin the address of a web page, beginning with http:// or https://")
        try:
            return await asyncio.to_thread(self.pins.pin, url, target, BY, datetime.now(UTC))
        except ValueError as error:
            raise Problem(400, str(error)) from error

    async def unpin(self, url: str) -> None:
        if not await asyncio.to_thread(self.pins.forget, url):
            raise Problem(404, "nothing is pinned for this address")

    async def mark(self, url: str, mark: Mark) -> None:
        await asyncio.to_thread(self.review.marks.put, url, mark, BY, datetime.now(UTC))

    async def unmark(self, url: str, mark: Mark) -> None:
        await asyncio.to_thread(self.review.marks.take, url, mark)

    async def fetch(self, url: str, when: Literal["now", "line", "night"]) -> None:
        """Put a page into the fetch queue."""
        if self.fetches is None:
            raise Problem(503, "pages are not fetched here")
        try:
            await asyncio.to_thread(self.fetches.add, url, when=when, why="missed")
        except NotQueued as error:
            raise Problem(400, str(error)) from error

    async def redirect(self, url: str, to: str) -> None:
        """Have readers sent from an address to another by a rule."""
        edits, to = self.edits, to.strip()
        if edits is None:
            raise Problem(503, "rules cannot be edited here")
        if not urls.is_web_url(url) or link_target(to) is None:
            raise Problem(400, "a redirect leads from one web address to another, http:// or https://")
        if same_page_key(url) == same_page_key(to):
            raise Problem(400, "a page cannot be redirected to itself")
        try:
            await asyncio.to_thread(edits.add_redirect, url, to, by=BY)
        except RulesError as error:
            raise Problem(400, str(error)) from error

    async def forget_choice(self, url: str, chosen: str) -> int:
        """Forget that users chose a page for an address; by how many schools, ours among them, it was told."""
        if self._desk.hints is None:
            raise Problem(503, "choices are not kept here")
        return await asyncio.to_thread(self._desk.hints.forget_choice, url, chosen)

    async def erase(self, url: str) -> int:
        """Forget an address wherever it is remembered; how many misses that were."""
        if self._desk.hints is None:
            raise Problem(503, "nothing can be erased here")
        remembering = Remembering(
            misses=self._desk.misses,
            hints=self._desk.hints,
            pins=self.pins,
            database=self._desk.collection.database,
            fetches=self.fetches,
        )
        erased = await asyncio.to_thread(remembering.forget, url)
        for address in spellings(url):
            await self._desk.mementos.forget(address)
            if self._desk.missing_now is not None:
                self._desk.missing_now.forget(address)
        return erased

    async def erase_reader(self, client: str) -> int:
        """Forget all misses of a reader, by the code that stands in the log; how many they were."""
        return await asyncio.to_thread(self._desk.misses.erase, client=client)
