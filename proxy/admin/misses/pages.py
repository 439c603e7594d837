"""Missed pages for people: the lists, one address with all that is known of it, decisions, and the export."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from proxy.desk import missforms
from proxy.desk.frame import Desk, Page, Problem, Route, render
from proxy.desk.missaddress import AddressPage
from proxy.desk.missdeeds import Deeds
from proxy.desk.missquery import ListQuery, MissQuery, address_of, wanted
from proxy.desk.missviews import (
    KINDS,
    LIST_PATH,
    about_site,
    about_source,
    percent,
    shown_address,
    tally_meter,
    trend_chart,
    when,
)
from proxy.review.export import Form
from proxy.review.marks import JUDGED
from proxy.review.wanted import Outcome, Shown, Wanted

_PERIODS = ((1, "Today"), (7, "7 days"), (30, "30 days"), (90, "90 days"), (0, "All"))
_TABS = (
    ("address", "Addresses"),
    ("source", "Pages with dead links"),
    ("site", "Sites"),
    ("choice", "What readers chose"),
    ("record", "One by one"),
)
_OUTCOMES = {
    Outcome.OPENED: "A reader opened an offer",
    Outcome.OFFERED: "Offered, none opened",
    Outcome.NOTHING: "Nothing to offer",
}
_SHOWN = {Shown.HEEDED: "Not ignored", Shown.IGNORED: "Ignored ones", Shown.ALL: "All"}
_MEDIA = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
Q = TypeVar("Q", bound=MissQuery)


def routes(desk: Desk) -> list[Route]:
    if desk.review is None:
        return []
    pages = MissPages(desk)
    return [
        Page(path=LIST_PATH, handler=pages.lists, menu="Missed pages"),
        Page(path="/admin/misses/address", handler=AddressPage(desk, pages.deeds).show),
        Page(path="/admin/misses/decisions", handler=pages.decisions),
        Page(path="/admin/misses/export.csv", handler=pages.export_csv),
        Page(path="/admin/misses/export.jsonl", handler=pages.export_jsonl),
        *missforms.routes(pages.deeds),
    ]


class MissPages:
    """The pages that list."""

    def __init__(self, desk: Desk) -> None:
        self.deeds = Deeds(desk)

    async def lists(self, request: web.Request) -> web.StreamResponse:
        query = query_of(request, ListQuery)
        now = datetime.now().astimezone()
        asked = wanted(query, now)
        values = await asyncio.to_thread(self._listed, query, asked, now)
        return render(
            request,
            "desk/misses.html.jinja",
            title="Missed pages",
            **_choices(query),
            now=now,
            back=request.path_qs,
            **values,
        )

    def _listed(self, query: ListQuery, asked: Wanted, now: datetime) -> dict[str, Any]:
        lists = self.deeds.review.lists
        limit, offset = query.limit + 1, query.offset
        read: dict[str, Any] = {
            "address": lambda: lists.addresses(asked, limit, offset=offset, latest=query.order == "latest"),
            "source": lambda: lists.sources(asked, limit, offset=offset),
            "site": lambda: lists.sites(asked, limit, offset=offset),
            "choice": lambda: lists.choices(asked, limit, offset=offset),
            "record": lambda: lists.records(asked, limit, offset=offset),
        }
        rows = read[query.by]()
        shown = rows[: query.limit]
        return {
            "totals": lists.totals(asked),
            "kinds": lists.kinds(asked),
            "chart": trend_chart(lists.moments(asked), asked, now),
            "rows": shown,
            "first": offset + 1,
            "more": address_of(LIST_PATH, query, offset=offset + query.limit)
            if len(rows) > query.limit
            else "",
            "less": address_of(LIST_PATH, query, offset=max(0, offset - query.limit)) if offset else "",
            "decided": self._decided([row.url for row in shown]) if query.by == "address" else {},
            "can_fetch": self.deeds.fetches is not None,
            "can_redirect": self.deeds.edits is not None,
        }

    def _decided(self, urls: list[str]) -> dict[str, dict[str, object]]:
        pins, marks = self.deeds.pins, self.deeds.review.marks
        return {url: {"pin": pins.of(url), "marks": marks.of(url)} for url in urls}

    async def decisions(self, request: web.Request) -> web.StreamResponse:
        """Everything that was pinned, ignored or called wrong, to be taken back here."""
        marks, pins = self.deeds.review.marks, self.deeds.pins

        def read() -> dict[str, Any]:
            return {
                "pins": pins.list(200),
                "ignored": marks.list("ignored", 200),
                "wrong": marks.list("wrong", 200),
            }

        now = datetime.now().astimezone()
        return render(
            request,
            "desk/decisions.html.jinja",
            title="Decisions about missed pages",
            back=request.path,
            now=now,
            shown_address=shown_address,
            when=when,
            **await asyncio.to_thread(read),
        )

    async def export_csv(self, request: web.Request) -> web.StreamResponse:
        return await self.export(request, "csv")

    async def export_jsonl(self, request: web.Request) -> web.StreamResponse:
        return await self.export(request, "jsonl")

    async def export(self, request: web.Request, form: Form) -> web.StreamResponse:
        """All that is wanted as a file, sent while it is read."""
        query = query_of(request, ListQuery)
        return await exported(request, self.deeds, wanted(query, datetime.now().astimezone()), form)


async def exported(request: web.Request, deeds: Deeds, asked: Wanted, form: Form) -> web.StreamResponse:
    """An export as an answer that is written portion by portion."""
    response = web.StreamResponse(
        headers={
            "Content-Type": f"{_MEDIA[form]}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="missed-pages.{form}"',
        }
    )
    portions = deeds.review.export(asked, form)
    first = await asyncio.to_thread(next, portions, "")  # what fails at once is answered with an error
    await response.prepare(request)
    while first:
        await response.write(first.encode("utf-8", "replace"))
        first = await asyncio.to_thread(next, portions, "")
    await response.write_eof()
    return response


def query_of(request: web.Request, kind: type[Q]) -> Q:
    """What the address of a page asks for; fields left empty in a form are as good as absent. Raises Problem."""
    given = {name: value for name, value in request.query.items() if value}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(400, f"this list cannot be shown: {error}") from error


def _choices(query: ListQuery) -> Mapping[str, Any]:
    """What the page offers to choose from, with what is chosen now."""
    return {
        "query": query,
        "tabs": [(address_of(LIST_PATH, query, by=by, offset=0), name, by == query.by) for by, name in _TABS],
        "periods": [
            (
                address_of(LIST_PATH, query, days=days, since=None, until=None, offset=0),
                name,
                days == query.days and not query.since and not query.until,
            )
            for days, name in _PERIODS
        ],
        "orders": [
            (address_of(LIST_PATH, query, order=order, offset=0), name, order == query.order)
            for order, name in (("times", "Most missed"), ("latest", "Latest"))
        ],
        "exports": [
            (address_of(f"{LIST_PATH}/export.{form}", query, by="address", offset=0), name)
            for form, name in (("csv", "CSV"), ("jsonl", "JSON"))
        ],
        "clear": address_of(LIST_PATH, ListQuery(by=query.by)),
        "kinds_named": KINDS,
        "outcomes": _OUTCOMES,
        "shown_named": _SHOWN,
        "judged": JUDGED,
        "shown_address": shown_address,
        "about_site": about_site,
        "about_source": about_source,
        "tally_meter": tally_meter,
        "percent": percent,
        "when": when,
    }
