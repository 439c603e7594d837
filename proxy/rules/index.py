"""Which rules can match a host or an address at all, found by hash, however many rules and entries there are.

A rule that names domains is filed under each of them, one that names whole addresses under those, one whose patterns
name a host under the host. Rules by regular expressions alone are candidates where one look for all of them together
finds something. Only the rest, rules for every site, are candidates for every request.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from heapq import merge

from proxy.rules.domains import entries_covering
from proxy.rules.matching import reached
from proxy.rules.model import Rule, Stage
from proxy.rules.patterns import any_of

_HOSTS_REMEMBERED = 10_000
_ADDRESSES_REMEMBERED = 1_000


class Index:
    """The numbers of rules by what they name; `stages` tells when each can be decided."""

    def __init__(self, rules: Sequence[Rule], stages: Sequence[Stage]) -> None:
        self._stages = stages
        self._by_entry: defaultdict[str, list[int]] = defaultdict(list)
        self._by_url: defaultdict[str, list[int]] = defaultdict(list)
        self._by_expression: list[int] = []
        self._anywhere: list[int] = []
        for number, rule in enumerate(rules):
            self._file(number, rule)
        self._any_expression = _union([rules[number] for number in self._by_expression])
        self._remembered: dict[tuple[str, Stage], tuple[int, ...]] = {}
        self.looks_at_address = bool(self._by_url or self._by_expression)
        """Whether any rule is filed under an address, so that `candidates` needs one."""

    def candidates(self, host: str, stage: Stage, url: str = "") -> Sequence[int]:
        """The rules that may match, in order; `host` and `url` are in normal form."""
        by_host = self._remembered.get((host, stage))
        if by_host is None:
            by_host = self._by_host(host, stage)
            if len(self._remembered) >= _HOSTS_REMEMBERED:
                self._remembered.clear()
            self._remembered[host, stage] = by_host
        if not url or not self.looks_at_address:
            return by_host
        by_url = self._by_url.get(url, [])
        by_expression = self._by_expression if self._any_expression(url) else []
        if not by_url and not by_expression:
            return by_host
        found = (number for number in (*by_url, *by_expression) if reached(stage, self._stages[number]))
        return sorted({*by_host, *found})

    def _file(self, number: int, rule: Rule) -> None:
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

    def _by_host(self, host: str, stage: Stage) -> tuple[int, ...]:
        lists = [self._by_entry[entry] for entry in entries_covering(host) if entry in self._by_entry]
        found = dict.fromkeys(merge(*lists, self._anywhere))
        return tuple(number for number in found if reached(stage, self._stages[number]))


def _union(rules: Sequence[Rule]) -> Callable[[str], bool]:
    """Whether an address has anything that any of these rules looks for."""
    expressions = [pattern.expression for rule in rules for pattern in rule.when.url or ()]
    # Remembered, since an address is asked about with its request and again with its response.
    return lru_cache(_ADDRESSES_REMEMBERED)(any_of(expressions)) if expressions else lambda _: False
