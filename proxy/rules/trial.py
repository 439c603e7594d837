"""Tries the rules: which one fires for an address at each stage, why, and why earlier ones do not."""

from datetime import datetime

from msgspec import Struct

from proxy.rules.model import NO_RULE, Archive, RuleAction, RuleQuery, RuleStage, RuleVerdict
from proxy.rules.ruleset import RuleSet
from repair.model import MissKind
from repair.text import urls


class TriedRule(Struct, kw_only=True, frozen=True):
    """The result of one rule."""

    rule: str
    file: str
    line: int
    fired: bool
    why: str


class TrialOutcome(Struct, kw_only=True, frozen=True):
    """The effects of the rule that fired."""

    rule: str
    action: RuleAction
    reason: str
    redirect_to: str
    archive: Archive | None
    auto_follow: float | None
    budget_s: float | None


class RuleTrial(Struct, kw_only=True, frozen=True):
    """One stage: the outcome (None when no rule fires), and the rules that were tried, in order."""

    stage: RuleStage
    outcome: TrialOutcome | None
    rules: tuple[TriedRule, ...]
    """The first rules that did not fire, up to `shown`, and the one that did."""
    more: int
    """How many others did not fire."""


def trials(
    ruleset: RuleSet,
    *,
    url: str,
    client: str,
    at: datetime,
    miss: MissKind | None = None,
    content_type: str = "",
    shown: int,
) -> tuple[RuleTrial, ...]:
    """The trials at CONNECT, request and response; ValueError when `url` is not a web address."""
    query = RuleQuery(url=url, host=urls.parse(url).host, client=client, at=at)
    verdicts = {
        RuleStage.CONNECT: ruleset.on_connect(query.host, client, at),
        RuleStage.REQUEST: ruleset.on_request(query),
        RuleStage.RESPONSE: ruleset.on_response(query, miss=miss, content_type=content_type),
    }
    found = []
    for stage, verdict in verdicts.items():
        tried = _try_rules(ruleset, stage, query, miss, content_type)
        passed = [each for each in tried if not each.fired]
        kept = (*passed[:shown], *tried[len(passed) :])
        found.append(
            RuleTrial(stage=stage, outcome=_outcome(verdict), rules=kept, more=len(tried) - len(kept))
        )
    return tuple(found)


def _try_rules(
    ruleset: RuleSet, stage: RuleStage, query: RuleQuery, miss: MissKind | None, content_type: str
) -> list[TriedRule]:
    return [
        TriedRule(
            rule=step.rule.name, file=step.rule.file, line=step.rule.line, fired=step.fired, why=step.why
        )
        for step in ruleset.explain(stage, query, miss=miss, content_type=content_type)
    ]


def _outcome(verdict: RuleVerdict) -> TrialOutcome | None:
    if verdict is NO_RULE:
        return None
    return TrialOutcome(
        rule=verdict.rule,
        action=verdict.action,
        reason=verdict.reason,
        redirect_to=verdict.redirect_to,
        archive=verdict.archive,
        auto_follow=verdict.auto_follow,
        budget_s=verdict.budget_s,
    )


def local_time(text: str, now: datetime) -> datetime:
    """A time written as 10:30, for today, or as 2026-05-04T10:30; "" is now. ValueError if it is invalid."""
    if not text:
        return now
    if "-" in text:
        return datetime.fromisoformat(text)
    at = datetime.strptime(text, "%H:%M")  # noqa: DTZ007
    return now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
