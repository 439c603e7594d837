"""Rules in words, for the admin UI: conditions and effects."""

from collections.abc import Iterable
from heapq import nsmallest

from msgspec import Struct

from proxy.rules.hours import DAYS
from proxy.rules.model import Matchers, Rule, RuleAction

_ENTRIES_SHOWN = 4


class DescribedRule(Struct, kw_only=True, frozen=True):
    """One active rule."""

    number: int
    """Its place in the order, from 1."""
    name: str
    file: str
    line: int
    when: tuple[str, ...]
    """All conditions; empty if it matches everything."""
    action: RuleAction
    does: tuple[str, ...]
    """The target of a redirect and other effects."""
    reason: str


def describe_rule(number: int, rule: Rule) -> DescribedRule:
    """A rule in words; `number` is its place in the order."""
    return DescribedRule(
        number=number,
        name=rule.name,
        file=rule.file,
        line=rule.line,
        when=_conditions(rule.when),
        action=rule.action,
        does=_effects(rule),
        reason=rule.reason,
    )


def _conditions(when: Matchers) -> tuple[str, ...]:
    found = []
    if when.domains is not None:
        first = nsmallest(_ENTRIES_SHOWN, when.domains.entries)  # of lists that may hold a million
        found.append(f"domain {_join_entries(first, len(when.domains.entries))}")
    if when.url is not None:
        found.append(f"address {_join_entries(pattern.source for pattern in when.url)}")
    if when.clients is not None:
        found.append(f"client {_join_entries(network.text for network in when.clients.networks)}")
    if when.schedule is not None:
        if when.schedule.hours:
            found.append(f"time {_join_entries(hours.text for hours in when.schedule.hours)}")
        if when.schedule.days:
            found.append(f"on {', '.join(DAYS[day] for day in sorted(when.schedule.days))}")
    if when.misses is not None:
        found.append(f"dead link {', '.join(sorted(when.misses))}")
    if when.content_types is not None:
        found.append(f"content type {_join_entries(source for source, _ in when.content_types.globs)}")
    return tuple(found)


def _effects(rule: Rule) -> tuple[str, ...]:
    effects = {
        "to": rule.to or None,
        "archive": rule.archive,
        "auto_follow": rule.auto_follow,
        "budget_s": rule.budget_s,
    }
    return tuple(f"{key} {value}" for key, value in effects.items() if value is not None)


def _join_entries(entries: Iterable[str], total: int | None = None) -> str:
    """The first entries, and the number of the others; `total` if `entries` is not complete."""
    entries_list = list(entries)
    more = (len(entries_list) if total is None else total) - _ENTRIES_SHOWN
    shown = ", ".join(entries_list[:_ENTRIES_SHOWN]) or "(empty list)"
    return f"{shown} and {more:,} more" if more > 0 else shown
