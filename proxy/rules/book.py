"""The rule book: all rules in order, compiled once, asked for every request.

Without rules an answer costs one look at an empty tuple. With them the index gives the few that can match, and only
those are tried, in order. `explained` tries all of them the slow way, and tells what it found.

What a rule blocks is blocked however its address is spelt; other actions are for the address as it was asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from proxy.rules.index import Index
from proxy.rules.matching import Check, Known, checks_of, reached, stage_of
from proxy.rules.model import NO_RULE, Action, Asked, Rule, Stage, Verdict
from proxy.rules.readings import plainest
from proxy.rules.redirects import target
from repair.model import MissKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What became of one rule at one moment."""

    rule: Rule
    fired: bool
    why: str
    """What matched, matcher by matcher, or the first that did not."""


class RuleBook:
    """All rules in order; the first that matches decides."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._checks = tuple(checks_of(rule) for rule in self.rules)
        self._stages = tuple(stage_of(checks) for checks in self._checks)
        self._verdicts = tuple(_verdict(rule) for rule in self.rules)
        self._index = Index(self.rules, self._stages)
        self._blocks = any(rule.action is Action.BLOCK and rule.when.url is not None for rule in self.rules)

    def __bool__(self) -> bool:
        return bool(self.rules)

    def on_connect(self, host: str, client: str, at: datetime) -> Verdict:
        """The verdict when only the host is known: rules that need the URL or the answer are passed over."""
        return self._first(Stage.CONNECT, Known(host=host, client=client, at=at)) if self.rules else NO_RULE

    def on_request(self, asked: Asked) -> Verdict:
        """The verdict before anything is fetched: rules that need the answer are passed over."""
        return self._decided(Stage.REQUEST, _known(asked))[0] if self.rules else NO_RULE

    def on_response(self, asked: Asked, *, miss: MissKind | None, content_type: str) -> Verdict:
        """The verdict when the answer is known; `content_type` is the header's value, "" for none."""
        if not self.rules:
            return NO_RULE
        return self._decided(Stage.RESPONSE, _known(asked, miss, content_type))[0]

    def explained(
        self, stage: Stage, asked: Asked, *, miss: MissKind | None = None, content_type: str = ""
    ) -> Iterator[Step]:
        """What becomes of each rule at a stage, in order, up to and with the one that fires."""
        known = self._decided(stage, _known(asked, miss, content_type))[1]
        for rule, checks, needed in zip(self.rules, self._checks, self._stages, strict=True):
            fired, why = _outcome(stage, rule, checks, needed, known)
            yield Step(rule=rule, fired=fired, why=why)
            if fired:
                return

    def _decided(self, stage: Stage, known: Known) -> tuple[Verdict, Known]:
        """The verdict, and the reading of the address that it is about."""
        verdict = self._first(stage, known)
        if verdict.action is Action.BLOCK or not self._blocks or stage is Stage.CONNECT:
            return verdict, known
        # Some servers make one slash of several before they go up by dots, some after that.
        for read in filter(None, {plainest(known.url), plainest(known.normal_url)}):
            other = known.read_as(read)
            stricter = self._first(stage, other)
            if stricter.action is Action.BLOCK:
                return stricter, other
        return verdict, known

    def _first(self, stage: Stage, known: Known) -> Verdict:
        by_address = self._index.looks_at_address and stage is not Stage.CONNECT
        for number in self._index.candidates(known.host, stage, known.normal_url if by_address else ""):
            if not _holds(self._checks[number], known):
                continue
            verdict = self._verdicts[number]
            if verdict.action is not Action.REDIRECT or stage is Stage.CONNECT:
                return verdict
            if redirect_to := target(self.rules[number].to, known.url):
                return replace(verdict, redirect_to=redirect_to)
        return NO_RULE


def _holds(checks: tuple[Check, ...], known: Known) -> bool:
    for check in checks:  # noqa: SIM110 (all() takes twice the time for one or two of them)
        if not check.entry_for(known):
            return False
    return True


def _known(asked: Asked, miss: MissKind | None = None, content_type: str = "") -> Known:
    return Known(
        host=asked.host,
        client=asked.client,
        at=asked.at,
        url=asked.url,
        miss=miss,
        content_type=content_type,
    )


def _verdict(rule: Rule) -> Verdict:
    unread = (Action.NO_INDEX, Action.NO_CACHE, Action.BYPASS)
    return Verdict(
        rule=rule.name,
        action=rule.action,
        reason=rule.reason,
        archive=rule.archive,
        auto_follow=rule.auto_follow,
        budget_s=rule.budget_s,
        cache=rule.action not in (Action.NO_CACHE, Action.BYPASS),
        index=rule.action not in unread,
        offline_only=rule.action is Action.OFFLINE_ONLY,
    )


def _outcome(
    stage: Stage, rule: Rule, checks: tuple[Check, ...], needed: Stage, known: Known
) -> tuple[bool, str]:
    """Whether a rule fires, and why or why not."""
    if not reached(stage, needed):
        return False, f"can only be decided at the {needed}"
    found = []
    for check in checks:
        entry = check.entry_for(known)
        if not entry:
            return False, f"{check.key} does not match"
        found.append(f"{check.key} matches {entry}")
    if rule.action is Action.REDIRECT and stage is not Stage.CONNECT and not target(rule.to, known.url):
        return False, "its redirect leads nowhere else"
    return True, "; ".join(found) or "matches everything"
