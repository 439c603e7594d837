"""The rule set: all rules in order, compiled once, evaluated for every request.

Without rules a verdict costs one check of an empty tuple. Otherwise the index gives the few rules that can match, and
only those are tried, in order. `explain` tries all rules, without the index, and reports each result.

A block applies to an address in every spelling; other actions apply to the address as requested.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from proxy.rules.index import RuleIndex
from proxy.rules.matching import RequestFacts, RuleCheck, checks_of, is_reached, stage_of
from proxy.rules.model import NO_RULE, Rule, RuleAction, RuleQuery, RuleStage, RuleVerdict
from proxy.rules.redirects import target
from proxy.rules.urlspellings import most_lenient
from repair.model import MissKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStep:
    """The result of one rule at one stage."""

    rule: Rule
    fired: bool
    why: str
    """All matches, condition by condition, or the first condition that did not match."""


class RuleSet:
    """All rules in order; the first that matches decides."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._checks = tuple(checks_of(rule) for rule in self.rules)
        self._stages = tuple(stage_of(checks) for checks in self._checks)
        self._verdicts = tuple(_verdict(rule) for rule in self.rules)
        self._index = RuleIndex(self.rules, self._stages)
        self._blocks = any(
            rule.action is RuleAction.BLOCK and rule.when.url is not None for rule in self.rules
        )

    def __bool__(self) -> bool:
        return bool(self.rules)

    def on_connect(self, host: str, client: str, at: datetime) -> RuleVerdict:
        """The verdict when only the host is known: skips rules that need the URL or the response."""
        return (
            self._first_match(RuleStage.CONNECT, RequestFacts(host=host, client=client, at=at))
            if self.rules
            else NO_RULE
        )

    def on_request(self, query: RuleQuery) -> RuleVerdict:
        """The verdict before anything is fetched: skips rules that need the response."""
        return self._decide(RuleStage.REQUEST, _facts_of(query))[0] if self.rules else NO_RULE

    def on_response(self, query: RuleQuery, *, miss: MissKind | None, content_type: str) -> RuleVerdict:
        """The verdict when the response is known; `content_type` is the header's value, "" for none."""
        if not self.rules:
            return NO_RULE
        return self._decide(RuleStage.RESPONSE, _facts_of(query, miss, content_type))[0]

    def explain(
        self, stage: RuleStage, query: RuleQuery, *, miss: MissKind | None = None, content_type: str = ""
    ) -> Iterator[RuleStep]:
        """The result of each rule at a stage, in order, up to and including the one that fires."""
        known = self._decide(stage, _facts_of(query, miss, content_type))[1]
        for rule, checks, needed in zip(self.rules, self._checks, self._stages, strict=True):
            fired, why = _outcome(stage, rule, checks, needed, known)
            yield RuleStep(rule=rule, fired=fired, why=why)
            if fired:
                return

    def _decide(self, stage: RuleStage, known: RequestFacts) -> tuple[RuleVerdict, RequestFacts]:
        """The verdict, and the facts with the spelling of the address that it applies to."""
        verdict = self._first_match(stage, known)
        if verdict.action is RuleAction.BLOCK or not self._blocks or stage is RuleStage.CONNECT:
            return verdict, known
        # Some servers collapse slashes before they resolve dots, some after that.
        for read in filter(None, {most_lenient(known.url), most_lenient(known.normal_url)}):
            other = known.with_url(read)
            stricter = self._first_match(stage, other)
            if stricter.action is RuleAction.BLOCK:
                return stricter, other
        return verdict, known

    def _first_match(self, stage: RuleStage, known: RequestFacts) -> RuleVerdict:
        by_address = self._index.looks_at_address and stage is not RuleStage.CONNECT
        for number in self._index.candidates(known.host, stage, known.normal_url if by_address else ""):
            if not _matches(self._checks[number], known):
                continue
            verdict = self._verdicts[number]
            if verdict.action is not RuleAction.REDIRECT or stage is RuleStage.CONNECT:
                return verdict
            if redirect_to := target(self.rules[number].to, known.url):
                return replace(verdict, redirect_to=redirect_to)
        return NO_RULE


def _matches(checks: tuple[RuleCheck, ...], known: RequestFacts) -> bool:
    for check in checks:  # noqa: SIM110 (all() takes twice the time for one or two of them)
        if not check.entry_for(known):
            return False
    return True


def _facts_of(query: RuleQuery, miss: MissKind | None = None, content_type: str = "") -> RequestFacts:
    return RequestFacts(
        host=query.host,
        client=query.client,
        at=query.at,
        url=query.url,
        miss=miss,
        content_type=content_type,
    )


def _verdict(rule: Rule) -> RuleVerdict:
    unindexed = (RuleAction.NO_INDEX, RuleAction.NO_CACHE, RuleAction.BYPASS)
    return RuleVerdict(
        rule=rule.name,
        action=rule.action,
        reason=rule.reason,
        archive=rule.archive,
        auto_follow=rule.auto_follow,
        budget_s=rule.budget_s,
        cache=rule.action not in (RuleAction.NO_CACHE, RuleAction.BYPASS),
        index=rule.action not in unindexed,
        offline_only=rule.action is RuleAction.OFFLINE_ONLY,
    )


def _outcome(
    stage: RuleStage, rule: Rule, checks: tuple[RuleCheck, ...], needed: RuleStage, known: RequestFacts
) -> tuple[bool, str]:
    """Whether a rule fires, and why or why not."""
    if not is_reached(stage, needed):
        return False, f"is checked later, at stage {needed}"
    found = []
    for check in checks:
        entry = check.entry_for(known)
        if not entry:
            return False, f"{check.key} does not match"
        found.append(f"{check.key} matches {entry}")
    if (
        rule.action is RuleAction.REDIRECT
        and stage is not RuleStage.CONNECT
        and not target(rule.to, known.url)
    ):
        return False, "its redirect does not lead to another address"
    return True, "; ".join(found) or "matches everything"
