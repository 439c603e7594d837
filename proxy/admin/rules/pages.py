"""The admin pages of the rules: those in force, a trial, a file to edit, and the history of edits."""

from collections.abc import Iterable

import msgspec
from aiohttp import web

from proxy.admin.misses.views import KINDS
from proxy.admin.routing import (
    AdminContext,
    AdminPage,
    ApiProblem,
    Route,
    form,
    page_request_of,
    render,
    see_other,
)
from proxy.admin.rules import ruleforms
from proxy.admin.rules.service import RuleFile, RulesService, ShownFault, TryQuery, author, shown_faults
from proxy.pages.desktexts import tr
from proxy.rules.history import RulesConflict, mark
from proxy.rules.model import RulesError, RuleStage
from repair.model import MissKind

_RULES = "/admin/rules"
_PER_PAGE = 100
_VERSIONS = 50
_NEW_FILE = """# The first rule that matches decides. To use an example, remove its #. All keys: docs/rules.md

# Block a site and all below it, during lessons:
# [[rule]]
# name = "No games during lessons"
# domain = [".games.example"]
# time = "08:00-13:00"
# weekday = ["mon", "tue", "wed", "thu", "fri"]
# action = "block"
# reason = "Games are open after lessons."

# Send readers of an old address to the new one:
# [[rule]]
# name = "The library has moved"
# url = "http://library.example/old/*"
# action = "redirect"
# to = "https://library.example/new/"

# Leave the error pages of a site as they are:
# [[rule]]
# name = "The shop answers itself"
# domain = "shop.example"
# action = "pass"
"""
STAGES = {
    RuleStage.CONNECT: tr("1. Secure connection requested"),
    RuleStage.REQUEST: tr("2. Page requested"),
    RuleStage.RESPONSE: tr("3. Response received"),
}


def routes(admin: AdminContext) -> list[Route]:
    if admin.rules is None:
        return []
    work = RulesService(admin.rules)
    pages = RulesPages(work)
    return [
        AdminPage(path=_RULES, handler=pages.rules, menu=tr("Rules")),
        AdminPage(path=f"{_RULES}/test", handler=pages.test),
        AdminPage(path=f"{_RULES}/file", handler=pages.edit),
        AdminPage(path=f"{_RULES}/file", handler=pages.save, method="POST"),
        AdminPage(path=f"{_RULES}/history", handler=pages.history),
        AdminPage(path=f"{_RULES}/undo", handler=pages.undo, method="POST"),
        *ruleforms.routes(work),
    ]


class RulesPages:
    """The pages over the rules."""

    def __init__(self, work: RulesService) -> None:
        self._work = work

    async def rules(self, request: web.Request) -> web.StreamResponse:
        offset = _whole_number(request.query.get("offset", "0"))
        found = await self._work.in_force(offset=offset, limit=_PER_PAGE)
        return render(
            request,
            "desk/rules.html.jinja",
            title=tr("Rules"),
            found=found,
            files=await self._work.files(),
            templates=[(name, each.title) for name, each in ruleforms.TEMPLATES.items()],
            earlier=max(0, offset - _PER_PAGE) if offset else None,
            later=offset + _PER_PAGE if offset + _PER_PAGE < found.total else None,
            kinds=list(MissKind),
            kinds_named=KINDS,
            query=None,
        )

    async def test(self, request: web.Request) -> web.StreamResponse:
        given = {name: value for name, value in request.query.items() if value}
        try:
            query = msgspec.convert(given, TryQuery, strict=False)
        except msgspec.ValidationError as error:
            raise ApiProblem(400, str(error)) from error
        try:
            found, wrong = await self._work.try_rules(query), ""
        except ApiProblem as problem:
            found, wrong = (), problem.detail
        return render(
            request,
            "desk/rulestest.html.jinja",
            title=tr("Test the rules"),
            status=400 if wrong else 200,
            query=query,
            wrong=wrong,
            trials=found,
            stages=STAGES,
            kinds=list(MissKind),
            kinds_named=KINDS,
        )

    async def edit(self, request: web.Request) -> web.StreamResponse:
        name = request.query.get("name", "")
        found = await self._work.file(name)
        file = found or RuleFile(name=name, text=_NEW_FILE, seen=mark(None))
        faults = await self._work.faults(name, file.text) if found else ()
        return _editor(request, file, faults, line=_whole_number(request.query.get("line", "0")))

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Save, or show the same text again with its errors: nothing that was typed is lost."""
        fields = await form(request)
        file = RuleFile(
            name=fields.get("name", ""),
            text=fields.get("text", "").replace("\r\n", "\n"),
            seen=fields.get("seen", ""),
        )
        try:
            await self._work.save(file.name, file.text, seen=file.seen, by=author(page_request_of(request)))
        except RulesConflict as error:
            now = await self._work.file(file.name)
            file = msgspec.structs.replace(file, seen=now.seen if now else mark(None))
            return _editor(request, file, (), conflict=str(error), theirs=now.text if now else "", status=409)
        except RulesError as error:
            return _editor(request, file, shown_faults(error.faults), status=422)
        notice = (
            tr("{file} saved and in force.", file=file.name)
            if self._work.is_in_force()
            else tr(
                "{file} saved. It takes effect once the errors in the other files are fixed.", file=file.name
            )
        )
        return see_other(request, _RULES, notice=notice)

    async def history(self, request: web.Request) -> web.StreamResponse:
        versions = await self._work.versions(_VERSIONS)
        return render(
            request, "desk/ruleshistory.html.jinja", title=tr("History of the rules"), versions=versions
        )

    async def undo(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        number = _whole_number(fields.get("number", ""))
        try:
            version = await self._work.undo(number, by=author(page_request_of(request)))
        except ApiProblem as problem:
            return see_other(request, f"{_RULES}/history", notice=tr("Not undone: {why}", why=problem.detail))
        return see_other(request, f"{_RULES}/history", notice=tr("{file} restored.", file=version.file))


def _editor(
    request: web.Request,
    file: RuleFile,
    faults: Iterable[ShownFault],
    *,
    line: int = 0,
    conflict: str = "",
    theirs: str = "",
    status: int = 200,
) -> web.Response:
    lines = file.text.split("\n")
    at_line = lines[line - 1] if 0 < line <= len(lines) else ""
    messages = [
        (each, lines[each.line - 1] if each.file == file.name and 0 < each.line <= len(lines) else "")
        for each in faults
    ]
    return render(
        request,
        "desk/rulesfile.html.jinja",
        title=tr("Rules in {file}", file=file.name),
        status=status,
        file=file,
        faults=messages,
        line=line,
        at_line=at_line,
        conflict=conflict,
        theirs=theirs,
        is_new=file.seen == mark(None),
    )


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
