"""An index of the rules: finds those that can match a host or an address, for any number of rules and entries.

A rule with domains is indexed under each of them, one with whole addresses under those, one whose patterns name a
host under the host. Rules with regular expressions only are candidates if one combined search matches. All other
rules, for every site, are candidates for every request.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import merge

from proxy.rules.domains import entries_covering
from proxy.rules.matching import is_reached
from proxy.rules.model import Rule, RuleStage
from proxy.rules.patterns import any_of

_HOSTS_REMEMBERED = 10_000
_ADDRESSES_REMEMBERED = 1_000


class RuleIndex:
    """Rule numbers by domain, address and host; `stages` has the first stage of each rule."""

    def __init__(self, rules: Sequence[Rule], stages: Sequence[RuleStage]) -> None:
        self._stages = stages
        self._by_entry: defaultdict[str, list[int]] = defaultdict(list)
        self._by_url: defaultdict[str, list[int]] = defaultdict(list)
        self._by_expression: list[int] = []
        self._anywhere: list[int] = []
        for number, rule in enumerate(rules):
            self._add(number, rule)
        self._any_expression = _union([rules[number] for number in self._by_expression])
        self._host_cache: dict[tuple[str, RuleStage], tuple[int, ...]] = {}
        self.looks_at_address = bool(self._by_url or self._by_expression)
        """Whether any rule is indexed under an address, so that `candidates` needs one."""

    def candidates(self, host: str, stage: RuleStage, url: str = "") -> Sequence[int]:
        """The rules that may match, in order; `host` and `url` are normalised."""
        by_host = self._host_cache.get((host, stage))
        if by_host is None:
            by_host = self._by_host(host, stage)
            if len(self._host_cache) >= _HOSTS_REMEMBERED:
                self._host_cache.clear()
            self._host_cache[host, stage] = by_host
        if not url or not self.looks_at_address:
            return by_host
        by_url = self._by_url.get(url, [])
        by_expression = self._by_expression if self._any_expression(url) else []
        if not by_url and not by_expression:
            return by_host
        found = (number for number in (*by_url, *by_expression) if is_reached(stage, self._stages[number]))
        return sorted({*by_host, *found})

    def _add(self, number: int, rule: Rule) -> None:
        patterns = rule.when.url or ()
        if rule.when.domains is not None:
            for entry in rule.when.domains.entries:
                self._by_entry[entry].append(number)
        elif patterns and all(pattern.exact for pattern in patterns):
            for url in {url for pattern in patterns for url in pattern.exact}:
                self._by_url[url].append(number)
        elif patterns and all(pattern.host for pattern in patterns):
            for host in {pattern.host for pattern in patterns}:
                self._by_entry[host].append(number)
        elif patterns and all(pattern.expression for pattern in patterns):
            self._by_expression.append(number)
        else:
            self._anywhere.append(number)

    def _by_host(self, host: str, stage: RuleStage) -> tuple[int, ...]:
        lists = [self._by_entry[entry] for entry in entries_covering(host) if entry in self._by_entry]
        found = dict.fromkeys(merge(*lists, self._anywhere))
        return tuple(number for number in found if is_reached(stage, self._stages[number]))


def _union(rules: Sequence[Rule]) -> Callable[[str], bool]:
    """A function that tells whether an address matches any expression of these rules."""
    expressions = [pattern.expression for rule in rules for pattern in rule.when.url or ()]
    # Cached, since each address is looked up with its request and again with its response.
    return lru_cache(_ADDRESSES_REMEMBERED)(any_of(expressions)) if expressions else lambda _: False
