"""One missed address: how often and when, what is offered for it now, what readers chose, and what may be done."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web

from proxy.desk.frame import Desk, Problem, render
from proxy.desk.missdeeds import Deeds
from proxy.desk.missviews import (
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
from proxy.review.lists import Chosen, Group, MissedAddress
from proxy.review.marks import JUDGED
from proxy.review.wanted import Shown, Wanted
from repair import urls
from repair.errors import RepairError
from repair.experience import Choice
from repair.model import Alternative, BrokenLink, MissKind

log = logging.getLogger(__name__)

_HISTORY = 25
_LINKED_FROM = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the log and the collection know of an address."""

    missed: MissedAddress | None
    sources: tuple[Group, ...]
    choices: tuple[Chosen, ...]
    counted: tuple[Choice, ...]
    """What has a say in the order of equals, with how many networks stand behind it."""
    linked_from: tuple[str, ...]


class AddressPage:
    """The page about one address."""

    def __init__(self, desk: Desk, deeds: Deeds) -> None:
        self._desk = desk
        self._deeds = deeds

    async def show(self, request: web.Request) -> web.StreamResponse:
        url, offset = request.query.get("url", ""), request.query.get("offset", "0")
        if not 0 < len(url) <= 4_000 or not (offset.isascii() and offset.isdigit() and len(offset) < 8):
            raise Problem(400, "this page is about one address, which is missing")
        known = await asyncio.to_thread(known_of, self._desk, self._deeds, url)
        if known.missed is None and not urls.is_web_url(url):
            raise Problem(404, "nobody missed this address")
        offers = await offers_now(self._desk, url, known)
        now = datetime.now().astimezone()
        return render(
            request,
            "desk/missedaddress.html.jinja",
            title="A missed page",
            url=url,
            known=known,
            offers=offers,
            now=now,
            back=request.path_qs,
            **await asyncio.to_thread(self._more, url, int(offset), now),
            **_TOOLS,
        )

    def _more(self, url: str, offset: int, now: datetime) -> dict[str, Any]:
        review = self._deeds.review
        asked = Wanted(url=url, shown=Shown.ALL)
        history = review.lists.records(asked, _HISTORY + 1, offset=offset)
        return {
            "chart": trend_chart(review.lists.moments(asked), asked, now),
            "pin": self._deeds.pins.of(url),
            "marks": review.marks.of(url),
            "history": history[:_HISTORY],
            "offset": offset,
            "older": offset + _HISTORY if len(history) > _HISTORY else 0,
            "can_fetch": self._deeds.fetches is not None,
            "can_redirect": self._deeds.edits is not None,
        }


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


def known_of(desk: Desk, deeds: Deeds, url: str) -> Known:
    """What is known of an address, whatever its age; it reads the disk."""
    lists = deeds.review.lists
    asked = Wanted(url=url, shown=Shown.ALL)
    found = lists.addresses(asked, 1)
    return Known(
        missed=found[0] if found else None,
        sources=lists.sources(asked, 50),
        choices=lists.choices(asked, 20),
        counted=desk.hints.choices.of(url) if desk.hints is not None else (),
        linked_from=tuple(
            dict.fromkeys(inlink.source_url for inlink in desk.collection.inlinks(url, _LINKED_FROM))
        ),
    )


async def offers_now(desk: Desk, url: str, known: Known) -> tuple[Alternative, ...]:
    """What a reader would be offered for the address at this moment."""
    if not urls.is_web_url(url):
        return ()
    link = BrokenLink(
        url=url,
        kind=known.missed.kind if known.missed else MissKind.NOT_FOUND,
        source_url=known.sources[0].name if known.sources else None,
    )
    try:
        async with asyncio.timeout(desk.settings().repair.deadline_s):
            return (await desk.repairer.repair(link)).alternatives
    except (TimeoutError, RepairError) as error:
        log.warning("no offers for the desk: %s", str(error) or "late")
        return ()
