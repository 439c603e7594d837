"""What an admin may do about a missed page, by a form or by an API call. Disk access runs in threads."""

import asyncio
from datetime import UTC, datetime
from typing import Literal

from proxy.admin.routing import AdminContext, ApiProblem
from proxy.errors import LinkmendError
from proxy.fetching.entries import NotQueuedError
from proxy.fetching.queue import FetchQueue
from proxy.misses.addresseraser import AddressEraser
from proxy.misses.erasure import spellings
from proxy.misses.marks import Mark
from proxy.misses.review import MissReview
from proxy.pages.desktexts import tr
from proxy.pages.display import link_target
from proxy.rules.history import RuleEdits
from proxy.rules.model import RulesError
from repair.collection.pins import Pin, Pins, same_page_key
from repair.text import urls

BY = "admin"


class MissActions:
    """The actions; each raises ApiProblem when it cannot be done."""

    def __init__(self, admin: AdminContext) -> None:
        self._admin = admin

    @property
    def review(self) -> MissReview:
        if self._admin.review is None:
            raise ApiProblem(503, tr("dead links are not logged here"))
        return self._admin.review

    @property
    def pins(self) -> Pins:
        if self._admin.pins is None:
            raise ApiProblem(503, tr("pinning is not available here"))
        return self._admin.pins

    @property
    def fetches(self) -> FetchQueue | None:
        return self._admin.fetches

    @property
    def edits(self) -> RuleEdits | None:
        return self._admin.rules if isinstance(self._admin.rules, RuleEdits) else None

    async def pin(self, url: str, target: str) -> Pin:
        """Offer a page first for an address."""
        target = target.strip()
        if not urls.is_web_url(url):
            raise ApiProblem(400, tr("not a web address (start with http:// or https://)"))
        if link_target(target) is None:
            raise ApiProblem(400, tr("the page to pin is not a web address (start with http:// or https://)"))
        try:
            return await asyncio.to_thread(self.pins.pin, url, target, BY, datetime.now(UTC))
        except ValueError as error:
            raise ApiProblem(400, str(error)) from error

    async def unpin(self, url: str) -> None:
        if not await asyncio.to_thread(self.pins.forget, url):
            raise ApiProblem(404, tr("no page is pinned for this address"))

    async def mark(self, url: str, mark: Mark) -> None:
        await asyncio.to_thread(self.review.marks.put, url, mark, BY, datetime.now(UTC))

    async def unmark(self, url: str, mark: Mark) -> None:
        await asyncio.to_thread(self.review.marks.take, url, mark)

    async def fetch(self, url: str, when: Literal["now", "line", "night"]) -> None:
        """Put a page into the fetch queue."""
        if self.fetches is None:
            raise ApiProblem(503, tr("fetching is not available here"))
        try:
            await asyncio.to_thread(self.fetches.add, url, when=when, why="missed")
        except NotQueuedError as error:
            raise ApiProblem(400, str(error)) from error

    async def redirect(self, url: str, to: str) -> None:
        """Add a rule that redirects users from one address to another."""
        edits, to = self.edits, to.strip()
        if edits is None:
            raise ApiProblem(503, tr("editing rules is not available here"))
        if not urls.is_web_url(url) or link_target(to) is None:
            raise ApiProblem(400, tr("a redirect needs two web addresses (start with http:// or https://)"))
        if same_page_key(url) == same_page_key(to):
            raise ApiProblem(400, tr("a page can't redirect to itself"))
        try:
            await asyncio.to_thread(edits.add_redirect, url, to, by=BY)
        except RulesError as error:
            raise ApiProblem(400, str(error)) from error

    async def unredirect(self, url: str) -> None:
        """Take back the redirect of an address."""
        if (edits := self.edits) is None:
            raise ApiProblem(503, tr("editing rules is not available here"))
        try:
            await asyncio.to_thread(edits.remove_redirect, url, by=BY)
        except RulesError as error:
            raise ApiProblem(400, str(error)) from error
        except LinkmendError as error:
            raise ApiProblem(404, tr("no redirect of the desk for this address")) from error

    async def forget_choice(self, url: str, chosen: str) -> int:
        """Forget that users chose a page for an address. Returns how many schools, ours among them, had reported
        the choice.
        """
        if self._admin.hints is None:
            raise ApiProblem(503, tr("choices are not recorded here"))
        return await asyncio.to_thread(self._admin.hints.forget_choice, url, chosen)

    async def erase(self, url: str) -> int:
        """Forget an address in every store. Returns the number of misses."""
        if self._admin.hints is None:
            raise ApiProblem(503, tr("deleting is not available here"))
        eraser = AddressEraser(
            misses=self._admin.misses,
            hints=self._admin.hints,
            pins=self.pins,
            database=self._admin.collection.database,
            fetches=self.fetches,
        )
        erased = await asyncio.to_thread(eraser.erase, url)
        for address in spellings(url):
            await self._admin.mementos.forget(address)
            if self._admin.missing_now is not None:
                self._admin.missing_now.forget(address)
        return erased

    async def erase_client(self, client: str) -> int:
        """Forget all misses of a user, given by the code in the log. Returns their number."""
        return await asyncio.to_thread(self._admin.misses.erase, client=client)
