"""Trying the rules: which one fires for an address at each moment, why, and why not those before it."""

from datetime import datetime

from msgspec import Struct

from proxy.rules.book import RuleBook
from proxy.rules.model import NO_RULE, Action, Archive, Asked, Stage, Verdict
from repair import urls
from repair.model import MissKind


class TriedRule(Struct, kw_only=True, frozen=True):
    """What became of one rule."""

    rule: str
    file: str
    line: int
    fired: bool
    why: str


class Outcome(Struct, kw_only=True, frozen=True):
    """What the rule that fired wants done."""

    rule: str
    action: Action
    reason: str
    redirect_to: str
    archive: Archive | None
    auto_follow: float | None
    budget_s: float | None


class Trial(Struct, kw_only=True, frozen=True):
    """One moment: the outcome (None when no rule fires), and the rules that were tried, in order."""

    stage: Stage
    outcome: Outcome | None
    rules: tuple[TriedRule, ...]
    """The first that did not fire, as many as asked for, and the one that did."""
    more: int
    """How many others did not fire."""


def trials(
    book: RuleBook,
    *,
    url: str,
    client: str,
    at: datetime,
    miss: MissKind | None = None,
    content_type: str = "",
    shown: int,
) -> tuple[Trial, ...]:
    """The trials at CONNECT, request and response; ValueError when `url` is no web address."""
    asked = Asked(url=url, host=urls.parse(url).host, client=client, at=at)
    verdicts = {
        Stage.CONNECT: book.on_connect(asked.host, client, at),
        Stage.REQUEST: book.on_request(asked),
        Stage.RESPONSE: book.on_response(asked, miss=miss, content_type=content_type),
    }
    found = []
    for stage, verdict in verdicts.items():
        tried = _tried(book, stage, asked, miss, content_type)
        passed = [each for each in tried if not each.fired]
        kept = (*passed[:shown], *tried[len(passed) :])
        found.append(Trial(stage=stage, outcome=_outcome(verdict), rules=kept, more=len(tried) - len(kept)))
    return tuple(found)


def _tried(
    book: RuleBook, stage: Stage, asked: Asked, miss: MissKind | None, content_type: str
) -> list[TriedRule]:
    return [
        TriedRule(
            rule=step.rule.name, file=step.rule.file, line=step.rule.line, fired=step.fired, why=step.why
        )
        for step in book.explained(stage, asked, miss=miss, content_type=content_type)
    ]


def _outcome(verdict: Verdict) -> Outcome | None:
    if verdict is NO_RULE:
        return None
    return Outcome(
        rule=verdict.rule,
        action=verdict.action,
        reason=verdict.reason,
        redirect_to=verdict.redirect_to,
        archive=verdict.archive,
        auto_follow=verdict.auto_follow,
        budget_s=verdict.budget_s,
    )


def local_time(text: str, now: datetime) -> datetime:
    """A moment as 10:30, which is meant today, or as 2026-05-04T10:30; "" is now. ValueError when it is none."""
    if not text:
        return now
    if "-" in text:
        return datetime.fromisoformat(text)
    at = datetime.strptime(text, "%H:%M")  # noqa: DTZ007
    return now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
