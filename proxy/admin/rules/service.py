"""Rules for the admin pages and the API: list, try, check, save, undo."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.admin.routing import ApiProblem, PageRequest
from proxy.errors import LinkmendError
from proxy.pages.desktexts import tr
from proxy.rules.describe import DescribedRule, describe_rule
from proxy.rules.history import RuleEdits, RulesConflict, RulesVersion, mark
from proxy.rules.model import RuleFault, RulesError
from proxy.rules.trial import RuleTrial, local_time, trials
from repair.model import MissKind

MAX_TEXT = 100_000
"""Characters of a file that can be edited on the admin pages; longer ones are edited by hand."""
_TRIED_SHOWN = 50

FileName = Annotated[str, Meta(min_length=6, max_length=65, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*\.toml$")]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]


class ShownFault(Struct, kw_only=True, frozen=True):
    """One error; line 0 is the file as a whole."""

    file: str
    line: int
    reason: str


class ActiveRules(Struct, kw_only=True, frozen=True):
    """Part of the rules in force, in order, and the errors in the folder now."""

    folder: str
    total: int
    rules: tuple[DescribedRule, ...]
    faults: tuple[ShownFault, ...]


class TryQuery(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The request to try the rules with; `time` is 10:30 or 2026-05-04T10:30, by default now."""

    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    client: Annotated[str, Meta(max_length=100)] = ""
    time: Annotated[str, Meta(max_length=40)] = ""
    miss: MissKind | None = None
    content_type: Annotated[str, Meta(max_length=200)] = ""


class RuleFile(Struct, kw_only=True, frozen=True):
    """A file of rules; `seen` is sent back when it is saved, so that nobody overwrites another edit."""

    name: str
    text: str
    seen: str


class ShownVersion(Struct, kw_only=True, frozen=True):
    """One edit: who changed which file when, and how."""

    number: int
    at: datetime
    by: str
    file: str
    diff: str
    undoes: int | None
    undone: bool


class RulesService:
    """The actions, off the event loop. Errors are ApiProblem, except faulty rules (RulesError)."""

    def __init__(self, edits: RuleEdits) -> None:
        self._edits = edits

    async def in_force(self, *, offset: int, limit: int) -> ActiveRules:
        return await asyncio.to_thread(self._in_force, offset, limit)

    def _in_force(self, offset: int, limit: int) -> ActiveRules:
        live = self._edits.live
        rules = live.ruleset.rules
        chosen = rules[offset : offset + limit]
        return ActiveRules(
            folder=str(live.folder),
            total=len(rules),
            rules=tuple(describe_rule(number, rule) for number, rule in enumerate(chosen, start=offset + 1)),
            faults=shown_faults(live.faults),
        )

    def is_in_force(self) -> bool:
        """Whether the rules in force are those of the folder."""
        return self._edits.fault is None

    async def try_rules(self, query: TryQuery) -> tuple[RuleTrial, ...]:
        """What the rules do to an address. Raises ApiProblem when the address or the time is invalid."""
        try:
            at = local_time(query.time, datetime.now().astimezone())
        except ValueError as error:
            raise ApiProblem(400, tr("time: expected 10:30 or 2026-05-04T10:30")) from error
        try:
            return await asyncio.to_thread(
                trials,
                self._edits.live.ruleset,
                url=query.url,
                client=query.client or "127.0.0.1",
                at=at,
                miss=query.miss,
                content_type=query.content_type,
                shown=_TRIED_SHOWN,
            )
        except ValueError as error:
            raise ApiProblem(400, f"url: {error}") from error

    async def files(self) -> tuple[str, ...]:
        return await asyncio.to_thread(self._edits.files)

    async def file(self, name: str) -> RuleFile | None:
        """A file as it is now; None when there is none. Raises ApiProblem when it cannot be edited here."""
        try:
            text = await asyncio.to_thread(self._edits.text, name)
        except RulesError as error:
            raise ApiProblem(400, str(error)) from error
        if text is None:
            return None
        if len(text) > MAX_TEXT:
            raise ApiProblem(
                400, tr("{name} is too long for the desk; edit the file on the server instead", name=name)
            )
        return RuleFile(name=name, text=text, seen=mark(text))

    async def faults(self, name: str, text: str) -> tuple[ShownFault, ...]:
        """The errors that the rules would have if a file held this text."""
        try:
            await asyncio.to_thread(self._edits.check, name, text)
        except RulesError as error:
            return shown_faults(error.faults)
        return ()

    async def save(self, name: str, text: str, *, seen: str | None, by: str) -> RulesVersion:
        """Raises RulesError when the rules would be faulty, RulesConflict when somebody else saved first."""
        return await asyncio.to_thread(self._edits.save, name, text, by=by, seen=seen)

    async def add(self, rule: str, *, by: str) -> RulesVersion:
        """Add a rule to the desk's own file. Raises RulesError when it is faulty."""
        return await asyncio.to_thread(self._edits.add_rule, rule, by=by)

    async def undo(self, number: int | None, *, by: str) -> RulesVersion:
        """Undo an edit. Raises ApiProblem when that is impossible."""
        try:
            return await asyncio.to_thread(self._edits.undo, number, by=by)
        except (RulesConflict, RulesError) as error:
            raise ApiProblem(409, str(error)) from error
        except LinkmendError as error:
            raise ApiProblem(404, str(error)) from error

    async def versions(self, limit: int) -> tuple[ShownVersion, ...]:
        found = await asyncio.to_thread(self._edits.versions)
        undone = {version.undoes for version in found}
        return tuple(version_shown(each, undone=each.number in undone) for each in found[:limit])


def shown_faults(faults: tuple[RuleFault, ...]) -> tuple[ShownFault, ...]:
    return tuple(ShownFault(file=each.file, line=each.line, reason=each.reason) for each in faults)


def version_shown(version: RulesVersion, *, undone: bool = False) -> ShownVersion:
    return ShownVersion(
        number=version.number,
        at=version.at,
        by=version.by,
        file=version.file,
        diff=version.diff,
        undoes=version.undoes,
        undone=undone,
    )


def author(visit: PageRequest) -> str:
    """The author recorded with an edit: the one admin, or a program by the name of its token."""
    return "a program" if visit.by_token else "the admin"
