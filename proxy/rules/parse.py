"""Parses rules from TOML: every `[[rule]]` of a file, or its faults with their lines."""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from proxy.rules import keys, linenumbers
from proxy.rules.domains import DomainList, Form
from proxy.rules.hours import Schedule
from proxy.rules.model import Matchers, Rule, RuleAction, RuleFault

_LINE = re.compile(r"\(at line ([0-9]+), column")
_TABLE = "rule"

ReadList = Callable[[str, Form], frozenset[str]]
"""Returns the entries of a list file; ValueError, with the reason, when it cannot be read."""


def rules_of(text: str, file: str, read_list: ReadList) -> tuple[list[Rule], list[RuleFault]]:
    """The rules of a file in order, and its faults; never raises."""
    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [
            RuleFault(file=file, line=_line_of(error, text), reason=f"not valid TOML: {_first_line(error)}")
        ]
    tables = linenumbers.tables(text)
    faults = [
        RuleFault(
            file=file, line=_top_line(tables, key), reason=_unknown(key, (_TABLE,), "[[rule]] tables only")
        )
        for key in tree
        if key != _TABLE
    ]
    given = tree.get(_TABLE, [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        line = _top_line(tables, _TABLE)
        return [], [*faults, RuleFault(file=file, line=line, reason="write [[rule]], with two brackets")]
    headers = [table for table in tables if table.name == f"[{_TABLE}]"]
    if len(headers) != len(given):  # an array of inline tables: all on the one key
        headers = [linenumbers.RuleTable(name="", line=_top_line(tables, _TABLE))] * len(given)
    parsers = [
        _Reader(values, place, file, f"{file}:{number}", read_list)
        for number, (values, place) in enumerate(zip(given, headers, strict=True), start=1)
    ]
    rules = [parser.rule() for parser in parsers]
    return [rule for rule in rules if rule], faults + [each for parser in parsers for each in parser.faults]


class _Reader:
    """Converts one `[[rule]]` from TOML to a Rule; `faults` collects its errors."""

    def __init__(
        self,
        values: Mapping[str, Any],
        place: linenumbers.RuleTable,
        file: str,
        name: str,
        read_list: ReadList,
    ) -> None:
        self._values = values
        self._place = place
        self._file = file
        self._name = name
        self._read_list = read_list
        self.faults: list[RuleFault] = []

    def rule(self) -> Rule | None:
        """The rule; None when it has a fault."""
        known = self._convert_values()
        action = known.get("action", RuleAction.REPAIR)
        if not self.faults:
            for key, reason in keys.conflicts(action, known):
                self._fault(key, reason)
            self._check_complete(action, known)
        domains = self._domains(known)
        if self.faults:
            return None
        modifiers = {
            key: known[key] for key in ("reason", "to", "archive", "auto_follow", "budget_s") if key in known
        }
        return Rule(
            name=known.get("name", self._name),
            file=self._file,
            line=self._place.line,
            when=_matchers(known, domains),
            action=action,
            **modifiers,
        )

    def _convert_values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for written, value in self._values.items():
            key = written.replace("-", "_")
            if key not in keys.KEYS:
                self._fault(written, _unknown(written, keys.KEYS))
            elif key in found:
                self._fault(written, f"{key} is given twice")
            else:
                try:
                    found[key] = keys.KEYS[key](value)
                except ValueError as error:
                    self._fault(written, f"{written}: {error}")
        return found

    def _check_complete(self, action: RuleAction, known: Mapping[str, Any]) -> None:
        if action is RuleAction.REDIRECT and "to" not in known:
            self._fault("action", 'redirect needs to = "https://...", the address to send readers to')
        if not {"action", "archive", "auto_follow", "budget_s"} & known.keys():
            self._fault("", "the rule has no effect; add action, archive, auto_follow or budget_s")
        if "list_form" in known and "domain_list" not in known:
            self._fault("list_form", "list_form needs domain_list")

    def _domains(self, known: Mapping[str, Any]) -> DomainList | None:
        if "domain" not in known and "domain_list" not in known:
            return None
        entries = set(known.get("domain", ()))
        for name in known.get("domain_list", ()):
            try:
                entries |= self._read_list(name, known.get("list_form", "dstdomain"))
            except ValueError as error:
                self._fault("domain_list", f"domain_list: {error}")
        return DomainList(frozenset(entries))

    def _fault(self, key: str, reason: str) -> None:
        self.faults.append(RuleFault(file=self._file, line=self._place.line_of(key), reason=reason))


def _matchers(known: Mapping[str, Any], domains: DomainList | None) -> Matchers:
    hours, days = known.get("time", ()), known.get("weekday", frozenset())
    return Matchers(
        domains=domains,
        url=(*known.get("url", ()), *known.get("url_regex", ())) or None,
        clients=known.get("client"),
        schedule=Schedule(hours=hours, days=days) if hours or days else None,
        misses=known.get("miss"),
        content_types=known.get("content_type"),
    )


def _unknown(key: str, known: Any, expected: str = "") -> str:
    hint = f"; expected {expected}" if expected else ""
    return f"unknown key {key[:80]!r}, did you mean {keys.nearest(key, known)!r}?{hint}"


def _top_line(tables: list[linenumbers.RuleTable], key: str) -> int:
    """The line of a key outside any `[[rule]]`, either a value or the name of a table."""
    for table in tables:
        if table.name.strip("[]").split(".")[0] == key:
            return table.line
    return tables[0].line_of(key)


def _line_of(error: BaseException, text: str) -> int:
    found = _LINE.search(str(error))
    if found:
        return int(found[1])
    return text.rstrip().count("\n") + 1 if "end of document" in str(error) else 1


def _first_line(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return _LINE.split(str(error))[0].strip().removesuffix("(at end of document)").strip()
