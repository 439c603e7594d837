"""Rule books out of TOML, and what is asked of them."""

from datetime import UTC, datetime

from proxy.rules.model import RuleQuery
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet
from repair.text import urls

MONDAY_NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def no_list(name, form):
    raise ValueError(f"{name!r} cannot be read: no lists here")


def a_book(text):
    rules, faults = rules_of(text, "10.toml", no_list)
    assert faults == []
    return RuleSet(rules)


def faults_of(text, read_list=no_list):
    return [(fault.line, fault.reason) for fault in rules_of(text, "10.toml", read_list)[1]]


def asked(url="http://school.test/page", client="10.0.0.7", at=MONDAY_NOON):
    return RuleQuery(url=url, host=urls.parse(url).host, client=client, at=at)
