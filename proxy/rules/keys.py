"""The keys of a `[[rule]]`: their values, and which keys go together.

Each key's function converts a TOML value to our type, or raises ValueError with the reason.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from proxy.rules.domains import Form, entry_of
from proxy.rules.hours import day_of, hours_of
from proxy.rules.model import Archive, RuleAction
from proxy.rules.networks import networks_of
from proxy.rules.patterns import content_types, glob, regular
from proxy.rules.redirects import check_template
from repair.model import MissKind

MAX_NAME = 100
MAX_REASON = 500
MAX_BUDGET_S = 120.0
MAX_ENTRIES = 10_000
"""Entries of one key; longer lists belong in files."""

_AT_CONNECT = frozenset(("domain", "domain_list", "list_form", "client", "time", "weekday"))
_AT_REQUEST = _AT_CONNECT | {"url", "url_regex"}
_ALL = _AT_REQUEST | {"miss", "content_type"}
_REPAIR_MODIFIERS = frozenset(("archive", "auto_follow", "budget_s"))
_SYNONYMS = {
    "host": "domain",
    "hostname": "domain",
    "site": "domain",
    "domain_name": "domain",
    "addres": "url",  # "address" without its last s
    "uri": "url",
    "link": "url",
    "path": "url",
    "pattern": "url",
    "regex": "url_regex",
    "ip": "client",
    "user": "client",
    "network": "client",
    "subnet": "client",
    "hour": "time",
    "day": "weekday",
    "statu": "miss",
    "kind": "miss",
    "error": "miss",
    "mime": "content_type",
    "type": "content_type",
    "media_type": "content_type",
    "target": "to",
    "redirect": "to",
    "message": "reason",
    "text": "reason",
    "timeout": "budget_s",
    "list": "domain_list",
    "deny": "block",
    "ignore": "pass",
    "allow": "pass",
}
"""What other programs call our keys and actions, in the singular."""

MATCHERS_OF: Mapping[RuleAction, tuple[frozenset[str], str]] = {
    RuleAction.REPAIR: (_ALL, ""),
    RuleAction.PASS: (_ALL, ""),
    RuleAction.BYPASS: (
        _AT_CONNECT,
        "bypass is decided at CONNECT, when only host, client and time are known",
    ),
    RuleAction.BLOCK: (_ALL - {"miss"}, "there is no need to block a missing page"),
    RuleAction.OFFLINE_ONLY: (_AT_REQUEST, "offline-only is decided before anything is fetched"),
    RuleAction.NO_CACHE: (_ALL - {"miss"}, "storing does not depend on the kind of dead link"),
    RuleAction.NO_INDEX: (_ALL - {"miss"}, "missing pages are never added to the collection"),
    RuleAction.REDIRECT: (_ALL - {"content_type"}, "a redirect depends on the address, not on the content"),
}
"""The conditions that make sense with an action, and why the others do not."""

MODIFIERS_OF: Mapping[RuleAction, frozenset[str]] = {
    RuleAction.REPAIR: _REPAIR_MODIFIERS,
    RuleAction.PASS: frozenset(),
    RuleAction.BYPASS: frozenset(),
    RuleAction.BLOCK: frozenset(),
    RuleAction.OFFLINE_ONLY: _REPAIR_MODIFIERS,
    RuleAction.NO_CACHE: _REPAIR_MODIFIERS,
    RuleAction.NO_INDEX: _REPAIR_MODIFIERS,
    RuleAction.REDIRECT: frozenset(("to",)),
}
"""The modifiers that make sense with an action; a name and a reason always do."""


def _one_text(value: Any, most: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected text, got {_describe(value)}")
    if len(value) > most:
        raise ValueError(f"expected at most {most} characters, got {len(value)}")
    if not all(character.isprintable() for character in value):
        raise ValueError("expected text on one line")
    return value.strip()


def texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of them."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(isinstance(each, str) and each.strip() for each in several):
        raise ValueError(f"expected text or a list of texts, got {_describe(value)}")
    if len(several) > MAX_ENTRIES:
        raise ValueError(f"expected at most {MAX_ENTRIES} entries, got {len(several)}; use domain_list")
    return tuple(each.strip() for each in several)


def _choice(value: Any, choices: Iterable[str]) -> str:
    known = tuple(choices)
    if isinstance(value, str) and value in known:
        return value
    hint = f"; did you mean {nearest(value, known)}?" if isinstance(value, str) and value else ""
    raise ValueError(f"expected one of {', '.join(known)}, got {_describe(value)}{hint}")


def _number(value: Any, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"expected a number from 0 to {most:g}, got {_describe(value)}")
    return float(value)


def _template(value: Any) -> str:
    text = _one_text(value, most=10_000)
    check_template(text)
    return text


def _budget(value: Any) -> float:
    seconds = _number(value, MAX_BUDGET_S)
    if not seconds:
        raise ValueError("expected more than 0 seconds")
    return seconds


KEYS: Mapping[str, Callable[[Any], Any]] = {
    "name": lambda value: _one_text(value, MAX_NAME),
    "domain": lambda value: frozenset(entry_of(text) for text in texts(value)),
    "domain_list": texts,
    "list_form": lambda value: _choice(value, get_args(Form)),
    "url": lambda value: tuple(glob(text) for text in texts(value)),
    "url_regex": lambda value: tuple(regular(text) for text in texts(value)),
    "client": lambda value: networks_of(texts(value)),
    "time": lambda value: tuple(hours_of(text) for text in texts(value)),
    "weekday": lambda value: frozenset(day_of(text) for text in texts(value)),
    "miss": lambda value: frozenset(MissKind(_choice(text, list(MissKind))) for text in texts(value)),
    "content_type": lambda value: content_types(texts(value)),
    "action": lambda value: RuleAction(_choice(value, list(RuleAction))),
    "reason": lambda value: _one_text(value, MAX_REASON),
    "to": _template,
    "archive": lambda value: _choice(value, get_args(Archive)),
    "auto_follow": lambda value: _number(value, 1.0),
    "budget_s": _budget,
}
"""The conversion function of each key."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that another was meant to be: one of the same meaning, else the most similar."""
    known = tuple(known)
    meant = _SYNONYMS.get(word.lower().replace("-", "_").removesuffix("s"), "")
    return (
        meant
        if meant in known
        else max(known, key=lambda each: difflib.SequenceMatcher(None, word[:100], each).ratio())
    )


def conflicts(action: RuleAction, given: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The keys that do not go with an action, and why."""
    matchers, why = MATCHERS_OF[action]
    for key in given:
        if key in _ALL and key not in matchers:
            yield key, f"{key} does not go with {action}: {why}"
        elif key in _REPAIR_MODIFIERS | {"to"} and key not in MODIFIERS_OF[action]:
            fitting = ", ".join(each for each in RuleAction if key in MODIFIERS_OF[each])
            yield key, f"{key} does not go with {action}, only with {fitting}"


def _describe(value: Any) -> str:
    """A wrong value for a message, shortened; never raises."""
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
    if isinstance(value, int | float):
        return "a number" if abs(value) > 1e15 else repr(value)
    return repr(str(value)[:80])
