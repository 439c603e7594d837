"""The rules API: the same functions as on the admin pages."""

from typing import Annotated

from msgspec import Meta, Struct

from proxy.admin.routing import AdminContext, ApiCall, ApiProblem, ApiRequest, Route, page_request_of
from proxy.admin.rules.service import (
    ActiveRules,
    FileName,
    RuleFile,
    RulesService,
    ShownFault,
    ShownVersion,
    Text,
    TryQuery,
    author,
    version_shown,
)
from proxy.rules.history import RulesConflict
from proxy.rules.model import RulesError
from proxy.rules.trial import RuleTrial

_BASE = "/admin/api/rules"


class RulesQuery(Struct, kw_only=True):
    """Part of the rules."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class RuleFileName(Struct, kw_only=True):
    """One file."""

    name: FileName


class RuleFileText(Struct, kw_only=True):
    """The new text of a file; `seen` as it came with the old text, "new" for a new file, or left out."""

    text: Text
    seen: Annotated[str, Meta(max_length=40)] | None = None


class RuleFaultList(Struct, kw_only=True):
    """The errors that the rules would have; empty when there are none."""

    faults: tuple[ShownFault, ...]


class VersionsQuery(Struct, kw_only=True):
    """How many edits to list."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class UndoRequest(Struct, kw_only=True):
    """The edit to undo; by default the latest that is not undone yet."""

    number: Annotated[int, Meta(ge=1, le=99_999_999)] | None = None


def routes(admin: AdminContext) -> list[Route]:
    return RulesApi(RulesService(admin.rules)).routes() if admin.rules is not None else []


class RulesApi:
    """The API calls over the rules."""

    def __init__(self, work: RulesService) -> None:
        self._work = work

    def routes(self) -> list[Route]:
        file = f"{_BASE}/files/{{name}}"
        return [
            ApiCall(
                method="GET",
                path=_BASE,
                handler=self._in_force,
                summary="Active rules in order, and errors in the rules folder",
                query=RulesQuery,
                answer=ActiveRules,
            ),
            ApiCall(
                method="GET",
                path=f"{_BASE}/test",
                handler=self._try,
                summary="Which rule applies to an address, and why",
                query=TryQuery,
                answer=tuple[RuleTrial, ...],
                problems=(400,),
            ),
            ApiCall(
                method="GET",
                path=f"{_BASE}/files",
                handler=self._files,
                summary="Rule files, in order",
                answer=tuple[str, ...],
            ),
            ApiCall(
                method="GET",
                path=file,
                handler=self._file,
                summary="One rule file",
                names=RuleFileName,
                answer=RuleFile,
                problems=(400, 404),
            ),
            ApiCall(
                method="PUT",
                path=file,
                handler=self._save,
                summary="Save a rule file; it takes effect at once",
                names=RuleFileName,
                body=RuleFileText,
                answer=ShownVersion,
                problems=(400, 409, 422),
            ),
            ApiCall(
                method="POST",
                path=f"{file}/check",
                handler=self._check,
                summary="Check the text of a rule file without saving it",
                names=RuleFileName,
                body=RuleFileText,
                answer=RuleFaultList,
            ),
            ApiCall(
                method="GET",
                path=f"{_BASE}/history",
                handler=self._history,
                summary="Edits made at the desk, latest first",
                query=VersionsQuery,
                answer=tuple[ShownVersion, ...],
            ),
            ApiCall(
                method="POST",
                path=f"{_BASE}/undo",
                handler=self._undo,
                summary="Undo an edit",
                body=UndoRequest,
                answer=ShownVersion,
                problems=(404, 409),
            ),
        ]

    async def _in_force(self, given: ApiRequest) -> ActiveRules:
        return await self._work.in_force(offset=given.query.offset, limit=given.query.limit)

    async def _try(self, given: ApiRequest) -> tuple[RuleTrial, ...]:
        return await self._work.try_rules(given.query)

    async def _files(self, given: ApiRequest) -> tuple[str, ...]:
        return await self._work.files()

    async def _file(self, given: ApiRequest) -> RuleFile:
        found = await self._work.file(given.path.name)
        if found is None:
            raise ApiProblem(404, "no such file")
        return found

    async def _save(self, given: ApiRequest) -> ShownVersion:
        by = author(page_request_of(given.request))
        try:
            version = await self._work.save(given.path.name, given.body.text, seen=given.body.seen, by=by)
        except RulesConflict as error:
            raise ApiProblem(409, str(error)) from error
        except RulesError as error:
            raise ApiProblem(422, "; ".join(map(str, error.faults[:20]))) from error
        return version_shown(version)

    async def _check(self, given: ApiRequest) -> RuleFaultList:
        return RuleFaultList(faults=await self._work.faults(given.path.name, given.body.text))

    async def _history(self, given: ApiRequest) -> tuple[ShownVersion, ...]:
        return await self._work.versions(given.query.limit)

    async def _undo(self, given: ApiRequest) -> ShownVersion:
        by = author(page_request_of(given.request))
        return version_shown(await self._work.undo(given.body.number, by=by))
