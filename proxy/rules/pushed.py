"""Rules that a district gives all its schools: they stand below a school's own, which decide first.

A rule of the school with the same name takes the place of the district's.
"""

from collections.abc import Sequence

from proxy.rules.domains import Form
from proxy.rules.folder import same_names
from proxy.rules.model import Rule, RuleFault, RulesError
from proxy.rules.parse import rules_of
from proxy.rules.ruleset import RuleSet

SOURCE = "district"
"""What stands where other rules have the name of their file."""
MAX_PUSHED = 200_000


def parse_pushed(text: str) -> tuple[Rule, ...]:
    """The district's rules in their order. Raises RulesError, with lines."""
    if len(text) > MAX_PUSHED:
        raise RulesError((RuleFault(file=SOURCE, line=0, reason=f"longer than {MAX_PUSHED} characters"),))
    rules, faults = rules_of(text, SOURCE, _no_list)
    faults = sorted([*faults, *same_names(rules)], key=lambda fault: fault.line)
    if faults:
        raise RulesError(tuple(faults))
    return tuple(rules)


def with_pushed(own: RuleSet, pushed: Sequence[Rule]) -> RuleSet:
    """A school's rules, then those of the district that the school has not replaced."""
    names = {rule.name for rule in own.rules}
    return RuleSet([*own.rules, *(rule for rule in pushed if rule.name not in names)]) if pushed else own


def replaced(own: RuleSet, pushed: Sequence[Rule]) -> tuple[str, ...]:
    """The names of the district's rules in whose place the school has its own."""
    names = {rule.name for rule in own.rules if rule.file != SOURCE}
    return tuple(rule.name for rule in pushed if rule.name in names)


def _no_list(name: str, form: Form) -> frozenset[str]:
    raise ValueError(
        f"{name[:80]!r}: the district's rules have no list files; write the domains into the rule"
    )
