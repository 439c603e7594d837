"""Rules for programs: the same as on the pages."""

from typing import Annotated

from msgspec import Meta, Struct

from proxy.desk.frame import Call, Desk, Given, Problem, Route, visit_of
from proxy.desk.ruleswork import (
    FaultShown,
    FileName,
    RuleFile,
    RulesInForce,
    RulesWork,
    Text,
    TryQuery,
    VersionShown,
    author,
    version_shown,
)
from proxy.rules.history import RulesConflict
from proxy.rules.model import RulesError
from proxy.rules.trial import Trial

_BASE = "/admin/api/rules"


class RulesQuery(Struct, kw_only=True):
    """Part of the rules."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Named(Struct, kw_only=True):
    """Which file."""

    name: FileName


class NewText(Struct, kw_only=True):
    """The text a file is to have; `seen` as it came with the old one, "new" where there was none, or left out."""

    text: Text
    seen: Annotated[str, Meta(max_length=40)] | None = None


class Faults(Struct, kw_only=True):
    """What would be wrong; nothing when the list is empty."""

    faults: tuple[FaultShown, ...]


class VersionsQuery(Struct, kw_only=True):
    """How many edits."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class Undoing(Struct, kw_only=True):
    """Which edit to take back; the latest that is not taken back yet, when it is left out."""

    number: Annotated[int, Meta(ge=1, le=99_999_999)] | None = None


def routes(desk: Desk) -> list[Route]:
    return RulesCalls(RulesWork(desk.rules)).routes() if desk.rules is not None else []


class RulesCalls:
    """The calls over what can be done with rules."""

    def __init__(self, work: RulesWork) -> None:
        self._work = work

    def routes(self) -> list[Route]:
        file = f"{_BASE}/files/{{name}}"
        return [
            Call(
                method="GET",
                path=_BASE,
                handler=self._in_force,
                summary="The rules in force, in order, and what is wrong",
                query=RulesQuery,
                answer=RulesInForce,
            ),
            Call(
                method="GET",
                path=f"{_BASE}/test",
                handler=self._try,
                summary="Which rule fires for an address, and why",
                query=TryQuery,
                answer=tuple[Trial, ...],
                problems=(400,),
            ),
            Call(
                method="GET",
                path=f"{_BASE}/files",
                handler=self._files,
                summary="The files of rules, in order",
                answer=tuple[str, ...],
            ),
            Call(
                method="GET",
                path=file,
                handler=self._file,
                summary="A file of rules",
                names=Named,
                answer=RuleFile,
                problems=(400, 404),
            ),
            Call(
                method="PUT",
                path=file,
                handler=self._save,
                summary="Save a file of rules, which are in force at once",
                names=Named,
                body=NewText,
                answer=VersionShown,
                problems=(400, 409, 422),
            ),
            Call(
                method="POST",
                path=f"{file}/check",
                handler=self._check,
                summary="What would be wrong if a file had this text",
                names=Named,
                body=NewText,
                answer=Faults,
            ),
            Call(
                method="GET",
                path=f"{_BASE}/history",
                handler=self._history,
                summary="Edits made at the desk, the latest first",
                query=VersionsQuery,
                answer=tuple[VersionShown, ...],
            ),
            Call(
                method="POST",
                path=f"{_BASE}/undo",
                handler=self._undo,
                summary="Take back an edit",
                body=Undoing,
                answer=VersionShown,
                problems=(404, 409),
            ),
        ]

    async def _in_force(self, given: Given) -> RulesInForce:
        return await self._work.in_force(offset=given.query.offset, limit=given.query.limit)

    async def _try(self, given: Given) -> tuple[Trial, ...]:
        return await self._work.tried(given.query)

    async def _files(self, given: Given) -> tuple[str, ...]:
        return await self._work.files()

    async def _file(self, given: Given) -> RuleFile:
        found = await self._work.file(given.path.name)
        if found is None:
            raise Problem(404, "there is no such file")
        return found

    async def _save(self, given: Given) -> VersionShown:
        by = author(visit_of(given.request))
        try:
            version = await self._work.save(given.path.name, given.body.text, seen=given.body.seen, by=by)
        except RulesConflict as error:
            raise Problem(409, str(error)) from error
        except RulesError as error:
            raise Problem(422, "; ".join(map(str, error.faults[:20]))) from error
        return version_shown(version)

    async def _check(self, given: Given) -> Faults:
        return Faults(faults=await self._work.faults(given.path.name, given.body.text))

    async def _history(self, given: Given) -> tuple[VersionShown, ...]:
        return await self._work.versions(given.query.limit)

    async def _undo(self, given: Given) -> VersionShown:
        by = author(visit_of(given.request))
        return version_shown(await self._work.undo(given.body.number, by=by))
