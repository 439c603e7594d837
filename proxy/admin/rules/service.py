"""What the desk does with rules, for its pages and its calls alike: look, try, check, save, undo."""

import asyncio
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from proxy.desk.frame import Problem, Visit
from proxy.errors import LinkmendError
from proxy.rules.described import DescribedRule, described
from proxy.rules.history import RuleEdits, RulesConflict, Version, mark
from proxy.rules.model import Fault, RulesError
from proxy.rules.trial import Trial, local_time, trials
from repair.model import MissKind

MAX_TEXT = 100_000
"""Characters of a file that is edited at the desk; longer ones are edited by hand."""
_TRIED_SHOWN = 50

FileName = Annotated[str, Meta(min_length=6, max_length=65, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*\.toml$")]
Text = Annotated[str, Meta(max_length=MAX_TEXT)]


class FaultShown(Struct, kw_only=True, frozen=True):
    """One thing that is wrong; line 0 is the file as a whole."""

    file: str
    line: int
    reason: str


class RulesInForce(Struct, kw_only=True, frozen=True):
    """Part of the rules in force, in order, and what is wrong with what the folder holds now."""

    folder: str
    total: int
    rules: tuple[DescribedRule, ...]
    faults: tuple[FaultShown, ...]


class TryQuery(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What to try the rules with; `time` is 10:30 or 2026-05-04T10:30, now when it is left out."""

    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    client: Annotated[str, Meta(max_length=100)] = ""
    time: Annotated[str, Meta(max_length=40)] = ""
    miss: MissKind | None = None
    content_type: Annotated[str, Meta(max_length=200)] = ""


class RuleFile(Struct, kw_only=True, frozen=True):
    """A file of rules; `seen` is given back when it is saved, so that nobody else's edit is lost."""

    name: str
    text: str
    seen: str


class VersionShown(Struct, kw_only=True, frozen=True):
    """One edit: who changed which file when, and how."""

    number: int
    at: datetime
    by: str
    file: str
    diff: str
    undoes: int | None
    undone: bool


class RulesWork:
    """The deeds, off the event loop; what goes wrong is a Problem, save for rules that are not good (RulesError)."""

    def __init__(self, edits: RuleEdits) -> None:
        self._edits = edits

    async def in_force(self, *, offset: int, limit: int) -> RulesInForce:
        return await asyncio.to_thread(self._in_force, offset, limit)

    def _in_force(self, offset: int, limit: int) -> RulesInForce:
        live = self._edits.live
        rules = live.book.rules
        chosen = rules[offset : offset + limit]
        return RulesInForce(
            folder=str(live.folder),
            total=len(rules),
            rules=tuple(described(number, rule) for number, rule in enumerate(chosen, start=offset + 1)),
            faults=shown(live.faults),
        )

    def is_in_force(self) -> bool:
        """Whether the rules in force are what the folder says."""
        return self._edits.fault is None

    async def tried(self, query: TryQuery) -> tuple[Trial, ...]:
        """What becomes of an address. Raises Problem when it is none, or the time is none."""
        try:
            at = local_time(query.time, datetime.now().astimezone())
        except ValueError as error:
            raise Problem(400, "time: 10:30 or 2026-05-04T10:30 is expected") from error
        try:
            return await asyncio.to_thread(
                trials,
                self._edits.live.book,
                url=query.url,
                client=query.client or "127.0.0.1",
                at=at,
                miss=query.miss,
                content_type=query.content_type,
                shown=_TRIED_SHOWN,
            )
        except ValueError as error:
            raise Problem(400, f"url: {error}") from error

    async def files(self) -> tuple[str, ...]:
        return await asyncio.to_thread(self._edits.files)

    async def file(self, name: str) -> RuleFile | None:
        """A file as it is now; None when there is none. Raises Problem when it cannot be edited here."""
        try:
            text = await asyncio.to_thread(self._edits.text, name)
        except RulesError as error:
            raise Problem(400, str(error)) from error
        if text is None:
            return None
        if len(text) > MAX_TEXT:
            raise Problem(400, f"{name} is too long for the desk; edit it by hand, it takes effect as well")
        return RuleFile(name=name, text=text, seen=mark(text))

    async def faults(self, name: str, text: str) -> tuple[FaultShown, ...]:
        """What would be wrong with the rules if a file held this text."""
        try:
            await asyncio.to_thread(self._edits.check, name, text)
        except RulesError as error:
            return shown(error.faults)
        return ()

    async def save(self, name: str, text: str, *, seen: str | None, by: str) -> Version:
        """Raises RulesError when the rules would not be good, RulesConflict when somebody else was quicker."""
        return await asyncio.to_thread(self._edits.save, name, text, by=by, seen=seen)

    async def undo(self, number: int | None, *, by: str) -> Version:
        """Take back an edit. Raises Problem when it cannot be."""
        try:
            return await asyncio.to_thread(self._edits.undo, number, by=by)
        except (RulesConflict, RulesError) as error:
            raise Problem(409, str(error)) from error
        except LinkmendError as error:
            raise Problem(404, str(error)) from error

    async def versions(self, limit: int) -> tuple[VersionShown, ...]:
        found = await asyncio.to_thread(self._edits.versions)
        undone = {version.undoes for version in found}
        return tuple(version_shown(each, undone=each.number in undone) for each in found[:limit])


def shown(faults: tuple[Fault, ...]) -> tuple[FaultShown, ...]:
    return tuple(FaultShown(file=each.file, line=each.line, reason=each.reason) for each in faults)


def version_shown(version: Version, *, undone: bool = False) -> VersionShown:
    return VersionShown(
        number=version.number,
        at=version.at,
        by=version.by,
        file=version.file,
        diff=version.diff,
        undoes=version.undoes,
        undone=undone,
    )


def author(visit: Visit) -> str:
    """Whom an edit is written down to: there is one admin, and programs with a token."""
    return "a program" if visit.by_token else "the admin"
