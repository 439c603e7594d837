"""One missed address: how often and when, the current alternatives, the users' choices, and what the admin may do."""

import asyncio
import logging
import tomllib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from proxy.admin.misses.actions import MissActions
from proxy.admin.misses.views import (
    KINDS,
    about_site,
    about_source,
    percent,
    plain,
    shown_address,
    tally_meter,
    trend_chart,
    when,
)
from proxy.admin.routing import AdminContext, ApiProblem, render
from proxy.misses.filters import IgnoredFilter, MissFilter
from proxy.misses.lists import ChosenPage, MissedAddress, MissGroup
from proxy.pages.desktexts import tr
from proxy.rules.model import RulesError
from repair.errors import RepairError
from repair.evidence.choices import Choice
from repair.model import JUDGED, Alternative, BrokenLink, MissKind
from repair.text import urls

log = logging.getLogger(__name__)

_HISTORY = 25
_LINKED_FROM = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressDetails:
    """What the log and the collection know about an address."""

    missed: MissedAddress | None
    sources: tuple[MissGroup, ...]
    choices: tuple[ChosenPage, ...]
    counted: tuple[Choice, ...]
    """The choices that break ties, with the number of networks behind each."""
    linked_from: tuple[str, ...]


class AddressPage:
    """The page about one address."""

    def __init__(self, admin: AdminContext, actions: MissActions) -> None:
        self._admin = admin
        self._actions = actions

    async def show(self, request: web.Request) -> web.StreamResponse:
        url, offset = request.query.get("url", ""), request.query.get("offset", "0")
        if not 0 < len(url) <= 4_000 or not (offset.isascii() and offset.isdigit() and len(offset) < 8):
            raise ApiProblem(400, tr("no address given"))
        known = await asyncio.to_thread(address_details_of, self._admin, self._actions, url)
        if known.missed is None and not urls.is_web_url(url):
            raise ApiProblem(404, tr("no log entry for this address"))
        offers = await offers_now(self._admin, url, known)
        now = datetime.now().astimezone()
        return render(
            request,
            "desk/missedaddress.html.jinja",
            title=tr("Dead link"),
            url=url,
            known=known,
            offers=offers,
            now=now,
            back=request.path_qs,
            **await asyncio.to_thread(self._more, url, int(offset), now),
            **_TOOLS,
        )

    def _more(self, url: str, offset: int, now: datetime) -> dict[str, Any]:
        review = self._actions.review
        filters = MissFilter(url=url, shown=IgnoredFilter.ALL)
        history = review.lists.records(filters, _HISTORY + 1, offset=offset)
        return {
            "chart": trend_chart(review.lists.moments(filters), filters, now),
            "pin": self._actions.pins.of(url),
            "marks": review.marks.of(url),
            "history": history[:_HISTORY],
            "offset": offset,
            "older": offset + _HISTORY if len(history) > _HISTORY else 0,
            "can_fetch": self._actions.fetches is not None,
            "can_redirect": self._actions.edits is not None,
            "redirected_to": self._redirected_to(url),
        }

    def _redirected_to(self, url: str) -> str:
        try:
            return self._actions.edits.redirect_of(url) if self._actions.edits is not None else ""
        except (RulesError, tomllib.TOMLDecodeError):
            return ""  # the desk's file cannot be read; the page of the rules says why


_TOOLS: dict[str, Any] = {
    "kinds_named": KINDS,
    "judged": JUDGED,
    "shown_address": shown_address,
    "about_site": about_site,
    "about_source": about_source,
    "tally_meter": tally_meter,
    "percent": percent,
    "plain": plain,
    "when": when,
}


def address_details_of(admin: AdminContext, actions: MissActions, url: str) -> AddressDetails:
    """Everything known about an address, whatever its age; reads the disk."""
    lists = actions.review.lists
    filters = MissFilter(url=url, shown=IgnoredFilter.ALL)
    found = lists.addresses(filters, 1)
    return AddressDetails(
        missed=found[0] if found else None,
        sources=lists.sources(filters, 50),
        choices=lists.choices(filters, 20),
        counted=admin.hints.choices.of(url) if admin.hints is not None else (),
        linked_from=tuple(
            dict.fromkeys(inlink.source_url for inlink in admin.collection.inlinks(url, _LINKED_FROM))
        ),
    )


async def offers_now(admin: AdminContext, url: str, known: AddressDetails) -> tuple[Alternative, ...]:
    """The alternatives that a user would be offered for the address at this moment."""
    if not urls.is_web_url(url):
        return ()
    link = BrokenLink(
        url=url,
        kind=known.missed.kind if known.missed else MissKind.NOT_FOUND,
        source_url=known.sources[0].name if known.sources else None,
    )
    try:
        async with asyncio.timeout(admin.settings().repair.deadline_s):
            return (await admin.repairer.repair(link)).alternatives
    except (TimeoutError, RepairError) as error:
        log.warning("desk: no suggestions: %s", str(error) or "late")
        return ()
