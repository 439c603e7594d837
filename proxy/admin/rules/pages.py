"""Rules for people: those in force, a try, a file to edit, and the edits that were made."""

from collections.abc import Iterable

import msgspec
from aiohttp import web

from proxy.desk.frame import Desk, Page, Problem, Route, form, render, see_other, visit_of
from proxy.desk.ruleswork import FaultShown, RuleFile, RulesWork, TryQuery, author, shown
from proxy.rules.history import RulesConflict, mark
from proxy.rules.model import RulesError, Stage
from repair.model import MissKind

_RULES = "/admin/rules"
_PER_PAGE = 100
_VERSIONS = 50
_NEW_FILE = """# Ordered, first match wins; docs/rules.md tells all there is.
[[rule]]
name = ""
domain = ".example.org"
action = "repair"
"""
STAGES = {
    Stage.CONNECT: "When a secure connection is asked for",
    Stage.REQUEST: "When the page is asked for",
    Stage.RESPONSE: "When the answer is known",
}


def routes(desk: Desk) -> list[Route]:
    if desk.rules is None:
        return []
    pages = RulesPages(RulesWork(desk.rules))
    return [
        Page(path=_RULES, handler=pages.rules, menu="Rules"),
        Page(path=f"{_RULES}/test", handler=pages.test),
        Page(path=f"{_RULES}/file", handler=pages.edit),
        Page(path=f"{_RULES}/file", handler=pages.save, method="POST"),
        Page(path=f"{_RULES}/history", handler=pages.history),
        Page(path=f"{_RULES}/undo", handler=pages.undo, method="POST"),
    ]


class RulesPages:
    """The pages over what can be done with rules."""

    def __init__(self, work: RulesWork) -> None:
        self._work = work

    async def rules(self, request: web.Request) -> web.StreamResponse:
        offset = _whole_number(request.query.get("offset", "0"))
        found = await self._work.in_force(offset=offset, limit=_PER_PAGE)
        return render(
            request,
            "desk/rules.html.jinja",
            title="Rules",
            found=found,
            files=await self._work.files(),
            earlier=max(0, offset - _PER_PAGE) if offset else None,
            later=offset + _PER_PAGE if offset + _PER_PAGE < found.total else None,
            kinds=list(MissKind),
            query=None,
        )

    async def test(self, request: web.Request) -> web.StreamResponse:
        given = {name: value for name, value in request.query.items() if value}
        try:
            query = msgspec.convert(given, TryQuery, strict=False)
        except msgspec.ValidationError as error:
            raise Problem(400, str(error)) from error
        try:
            found, wrong = await self._work.tried(query), ""
        except Problem as problem:
            found, wrong = (), problem.detail
        return render(
            request,
            "desk/rulestest.html.jinja",
            title="Try the rules",
            status=400 if wrong else 200,
            query=query,
            wrong=wrong,
            trials=found,
            stages=STAGES,
            kinds=list(MissKind),
        )

    async def edit(self, request: web.Request) -> web.StreamResponse:
        name = request.query.get("name", "")
        found = await self._work.file(name)
        file = found or RuleFile(name=name, text=_NEW_FILE, seen=mark(None))
        faults = await self._work.faults(name, file.text) if found else ()
        return _editor(request, file, faults, line=_whole_number(request.query.get("line", "0")))

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Save, or show the same text again with what is wrong: nothing that was typed is lost."""
        fields = await form(request)
        file = RuleFile(
            name=fields.get("name", ""),
            text=fields.get("text", "").replace("\r\n", "\n"),
            seen=fields.get("seen", ""),
        )
        try:
            await self._work.save(file.name, file.text, seen=file.seen, by=author(visit_of(request)))
        except RulesConflict as error:
            now = await self._work.file(file.name)
            file = msgspec.structs.replace(file, seen=now.seen if now else mark(None))
            return _editor(request, file, (), conflict=str(error), theirs=now.text if now else "", status=409)
        except RulesError as error:
            return _editor(request, file, shown(error.faults), status=422)
        waits = (
            "" if self._work.is_in_force() else ", and will be in force when the other files are good, too"
        )
        return see_other(request, _RULES, notice=f"{file.name} is saved{waits or ', and in force'}.")

    async def history(self, request: web.Request) -> web.StreamResponse:
        versions = await self._work.versions(_VERSIONS)
        return render(request, "desk/ruleshistory.html.jinja", title="Edits of the rules", versions=versions)

    async def undo(self, request: web.Request) -> web.StreamResponse:
        fields = await form(request)
        number = _whole_number(fields.get("number", ""))
        try:
            version = await self._work.undo(number, by=author(visit_of(request)))
        except Problem as problem:
            return see_other(request, f"{_RULES}/history", notice=f"Not undone: {problem.detail}")
        return see_other(request, f"{_RULES}/history", notice=f"{version.file} is as it was before.")


def _editor(
    request: web.Request,
    file: RuleFile,
    faults: Iterable[FaultShown],
    *,
    line: int = 0,
    conflict: str = "",
    theirs: str = "",
    status: int = 200,
) -> web.Response:
    lines = file.text.split("\n")
    at_line = lines[line - 1] if 0 < line <= len(lines) else ""
    told = [
        (each, lines[each.line - 1] if each.file == file.name and 0 < each.line <= len(lines) else "")
        for each in faults
    ]
    return render(
        request,
        "desk/rulesfile.html.jinja",
        title=f"Rules in {file.name}",
        status=status,
        file=file,
        faults=told,
        line=line,
        at_line=at_line,
        conflict=conflict,
        theirs=theirs,
        is_new=file.seen == mark(None),
    )


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
