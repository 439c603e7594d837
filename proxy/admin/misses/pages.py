"""The admin pages of missed pages: the lists, one address, decisions, and the export."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from proxy.admin.misses import forms
from proxy.admin.misses.actions import MissActions
from proxy.admin.misses.address import AddressPage
from proxy.admin.misses.query import ListQuery, MissQuery, address_of, filter_of
from proxy.admin.misses.savedfilters import FILE as FILTERS_FILE
from proxy.admin.misses.savedfilters import MAX_FILTERS, SavedFilters
from proxy.admin.misses.views import (
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
from proxy.admin.routing import AdminContext, AdminPage, ApiProblem, Route, form, render, see_other
from proxy.misses.deadmedia import dead_media
from proxy.misses.export import Form
from proxy.misses.filters import IgnoredFilter, MissFilter, MissOutcome
from proxy.misses.lists import AddressOrder
from proxy.pages.desktexts import tr
from repair.model import JUDGED

_PERIODS = ((1, tr("Today")), (7, tr("7 days")), (30, tr("30 days")), (90, tr("90 days")), (0, tr("All")))
_TABS = (
    ("address", tr("Addresses")),
    ("source", tr("Pages with dead links")),
    ("site", tr("Sites")),
    ("choice", tr("Opened instead")),
    ("record", tr("Log entries")),
    ("media", tr("Pictures and videos")),
)
_COLUMNS: tuple[tuple[AddressOrder, str], ...] = (
    ("times", tr("Times")),
    ("nothing", tr("Without suggestions")),
    ("sources", tr("Pages with it")),
    ("latest", tr("Last")),
)
_OUTCOMES = {
    MissOutcome.OPENED: tr("Suggestion opened"),
    MissOutcome.OFFERED: tr("Suggestions, none opened"),
    MissOutcome.NOTHING: tr("No suggestions"),
}
_SHOWN = {
    IgnoredFilter.HEEDED: tr("Not ignored"),
    IgnoredFilter.IGNORED: tr("Ignored"),
    IgnoredFilter.ALL: tr("All"),
}
_MEDIA_NAMED = {"image": tr("Picture"), "audio": tr("Sound"), "video": tr("Video")}
_MEDIA = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
Q = TypeVar("Q", bound=MissQuery)


def routes(admin: AdminContext) -> list[Route]:
    if admin.review is None:
        return []
    pages = MissPages(admin)
    return [
        AdminPage(path=LIST_PATH, handler=pages.lists, menu=tr("Dead links")),
        AdminPage(path="/admin/misses/address", handler=AddressPage(admin, pages.actions).show),
        AdminPage(path="/admin/misses/decisions", handler=pages.decisions),
        AdminPage(path=f"{LIST_PATH}/filters", handler=pages.save_filter, method="POST"),
        AdminPage(path=f"{LIST_PATH}/filters/remove", handler=pages.remove_filter, method="POST"),
        AdminPage(path="/admin/misses/export.csv", handler=pages.export_csv),
        AdminPage(path="/admin/misses/export.jsonl", handler=pages.export_jsonl),
        *forms.routes(pages.actions),
    ]


class MissPages:
    """The pages that list misses."""

    def __init__(self, admin: AdminContext) -> None:
        self.actions = MissActions(admin)
        self._misses = admin.misses
        self._saved = SavedFilters(admin.data / FILTERS_FILE)

    async def lists(self, request: web.Request) -> web.StreamResponse:
        query = query_of(request, ListQuery)
        now = datetime.now().astimezone()
        filters = filter_of(query, now)
        values = await asyncio.to_thread(self._list_values, query, filters, now)
        return render(
            request,
            "desk/misses.html.jinja",
            title=tr("Dead links"),
            **_choices(query),
            now=now,
            back=request.path_qs,
            saved=await asyncio.to_thread(self._saved.all),
            this_query=address_of("", query, offset=0).removeprefix("?"),
            **values,
        )

    async def save_filter(self, request: web.Request) -> web.StreamResponse:
        """Give the filter of the list a name."""
        fields = await form(request)
        query = _checked_query(fields.get("query", ""))
        try:
            name = await asyncio.to_thread(self._saved.save, fields.get("name", ""), query)
        except ValueError as error:
            raise ApiProblem(
                400, tr("a filter needs a name, and there may be {most} of them", most=MAX_FILTERS)
            ) from error
        return see_other(request, f"{LIST_PATH}?{query}#list", notice=tr("Filter saved: {name}", name=name))

    async def remove_filter(self, request: web.Request) -> web.StreamResponse:
        gone = await asyncio.to_thread(self._saved.remove, (await form(request)).get("name", ""))
        notice = tr("Filter removed.") if gone else tr("No such filter.")
        return see_other(request, f"{LIST_PATH}#list", notice=notice)

    def _list_values(self, query: ListQuery, filters: MissFilter, now: datetime) -> dict[str, Any]:
        lists = self.actions.review.lists
        limit, offset = query.limit + 1, query.offset
        read: dict[str, Any] = {
            "address": lambda: lists.addresses(filters, limit, offset=offset, order=query.order),
            "source": lambda: lists.sources(filters, limit, offset=offset),
            "site": lambda: lists.sites(filters, limit, offset=offset),
            "choice": lambda: lists.choices(filters, limit, offset=offset),
            "record": lambda: lists.records(filters, limit, offset=offset),
            "media": lambda: dead_media(
                self._misses, since=filters.since, until=filters.until, limit=limit, offset=offset
            ),
        }
        rows = read[query.by]()
        shown = rows[: query.limit]
        return {
            "totals": lists.totals(filters),
            "kinds": lists.kinds(filters),
            "chart": trend_chart(lists.moments(filters), filters, now),
            "rows": shown,
            "first": offset + 1,
            "more": address_of(LIST_PATH, query, offset=offset + query.limit)
            if len(rows) > query.limit
            else "",
            "less": address_of(LIST_PATH, query, offset=max(0, offset - query.limit)) if offset else "",
            "decided": self._decisions_on([row.url for row in shown]) if query.by == "address" else {},
            "can_fetch": self.actions.fetches is not None,
            "can_redirect": self.actions.edits is not None,
        }

    def _decisions_on(self, urls: list[str]) -> dict[str, dict[str, object]]:
        pins, marks = self.actions.pins, self.actions.review.marks
        return {url: {"pin": pins.of(url), "marks": marks.of(url)} for url in urls}

    async def decisions(self, request: web.Request) -> web.StreamResponse:
        """Everything that was pinned, ignored or marked as wrong; each can be undone here."""
        marks, pins = self.actions.review.marks, self.actions.pins

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
            title=tr("Pins and decisions"),
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
        """All matching misses as a file, sent while it is read."""
        query = query_of(request, ListQuery)
        return await export_response(
            request, self.actions, filter_of(query, datetime.now().astimezone()), form
        )


async def export_response(
    request: web.Request, actions: MissActions, filters: MissFilter, form: Form
) -> web.StreamResponse:
    """An export as a response that is written in portions."""
    response = web.StreamResponse(
        headers={
            "Content-Type": f"{_MEDIA[form]}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="missed-pages.{form}"',
        }
    )
    portions = actions.review.export(filters, form)
    first = await asyncio.to_thread(next, portions, "")  # an immediate failure is answered with an error
    await response.prepare(request)
    while first:
        await response.write(first.encode("utf-8", "replace"))
        first = await asyncio.to_thread(next, portions, "")
    await response.write_eof()
    return response


def query_of(request: web.Request, kind: type[Q]) -> Q:
    """The query parameters of a page; empty form fields count as absent. Raises ApiProblem."""
    given = {name: value for name, value in request.query.items() if value}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ApiProblem(400, tr("can't show this list: {error}", error=str(error))) from error


def _checked_query(text: str) -> str:
    """The query of a list as this desk writes it, whatever was sent. Raises ApiProblem."""
    try:
        query = msgspec.convert(dict(parse_qsl(text)), ListQuery, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise ApiProblem(400, tr("can't show this list: {error}", error=str(error))) from error
    return address_of("", query, offset=0).removeprefix("?")


def _choices(query: ListQuery) -> Mapping[str, Any]:
    """The options of the filter form, and which of them are selected."""
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
        "columns": [
            (address_of(LIST_PATH, query, order=order, offset=0), name, order == query.order)
            for order, name in _COLUMNS
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
        "media_named": _MEDIA_NAMED,
        "tally_meter": tally_meter,
        "percent": percent,
        "when": when,
    }
