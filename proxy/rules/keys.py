"""The keys of a `[[rule]]`: what each may hold, and which go together.

Each key's function takes a value as TOML gave it and returns it in our words, or raises ValueError with the reason.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from proxy.rules.domains import Form, entry_of
from proxy.rules.hours import day_of, hours_of
from proxy.rules.model import Action, Archive
from proxy.rules.networks import networks_of
from proxy.rules.patterns import content_types, glob, regular
from proxy.rules.redirects import check_template
from repair.model import MissKind

MAX_NAME = 100
MAX_REASON = 500
MAX_BUDGET_S = 120.0
MAX_ENTRIES = 10_000
"""Entries written into one key; longer lists belong into files."""

_AT_CONNECT = frozenset(("domain", "domain_list", "list_form", "client", "time", "weekday"))
_AT_REQUEST = _AT_CONNECT | {"url", "url_regex"}
_ALL = _AT_REQUEST | {"miss", "content_type"}
_MENDING = frozenset(("archive", "auto_follow", "budget_s"))

MATCHERS_OF: Mapping[Action, tuple[frozenset[str], str]] = {
    Action.REPAIR: (_ALL, ""),
    Action.PASS: (_ALL, ""),
    Action.BYPASS: (_AT_CONNECT, "bypass is decided at CONNECT, when only host, client and time are known"),
    Action.BLOCK: (_ALL - {"miss"}, "a page that is missing need not be blocked"),
    Action.OFFLINE_ONLY: (_AT_REQUEST, "offline-only is decided before anything is fetched"),
    Action.NO_CACHE: (_ALL - {"miss"}, "what is stored does not depend on the kind of miss"),
    Action.NO_INDEX: (_ALL - {"miss"}, "missing pages are never read into the collection"),
    Action.REDIRECT: (_ALL - {"content_type"}, "a redirect is for addresses, whatever their content"),
}
"""The matchers that make sense with an action, and why the others do not."""

MODIFIERS_OF: Mapping[Action, frozenset[str]] = {
    Action.REPAIR: _MENDING,
    Action.PASS: frozenset(),
    Action.BYPASS: frozenset(),
    Action.BLOCK: frozenset(),
    Action.OFFLINE_ONLY: _MENDING,
    Action.NO_CACHE: _MENDING,
    Action.NO_INDEX: _MENDING,
    Action.REDIRECT: frozenset(("to",)),
}
"""The modifiers that make sense with an action; a name and a reason always do."""


def _one_text(value: Any, most: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected a text, got {_shown(value)}")
    if len(value) > most:
        raise ValueError(f"expected at most {most} characters, got {len(value)}")
    if not all(character.isprintable() for character in value):
        raise ValueError("expected a text on one line")
    return value.strip()


def texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of them."""
    several = value if isinstance(value, list) else [value]
    if not several or not all(isinstance(each, str) and each.strip() for each in several):
        raise ValueError(f"expected a text or a list of texts, got {_shown(value)}")
    if len(several) > MAX_ENTRIES:
        raise ValueError(f"expected at most {MAX_ENTRIES} entries, got {len(several)}; use domain_list")
    return tuple(each.strip() for each in several)


def _choice(value: Any, choices: Iterable[str]) -> str:
    known = tuple(choices)
    if isinstance(value, str) and value in known:
        return value
    hint = f"; did you mean {nearest(value, known)}?" if isinstance(value, str) and value else ""
    raise ValueError(f"expected one of {', '.join(known)}, got {_shown(value)}{hint}")


def _number(value: Any, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"expected a number from 0 to {most:g}, got {_shown(value)}")
    return float(value)


def _template(value: Any) -> str:
    text = _one_text(value, most=10_000)
    check_template(text)
    return text


def _budget(value: Any) -> float:
    seconds = _number(value, MAX_BUDGET_S)
    if not seconds:
        raise ValueError("expected more than no time at all")
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
    "action": lambda value: Action(_choice(value, list(Action))),
    "reason": lambda value: _one_text(value, MAX_REASON),
    "to": _template,
    "archive": lambda value: _choice(value, get_args(Archive)),
    "auto_follow": lambda value: _number(value, 1.0),
    "budget_s": _budget,
}
"""How each key is read."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like another."""
    return max(known, key=lambda each: difflib.SequenceMatcher(None, word[:100], each).ratio())


def misfits(action: Action, given: Iterable[str]) -> Iterable[tuple[str, str]]:
    """The keys that do not go with an action, and why."""
    matchers, why = MATCHERS_OF[action]
    for key in given:
        if key in _ALL and key not in matchers:
            yield key, f"{key} does not go with {action}: {why}"
        elif key in _MENDING | {"to"} and key not in MODIFIERS_OF[action]:
            fitting = ", ".join(each for each in Action if key in MODIFIERS_OF[each])
            yield key, f"{key} does not go with {action}, only with {fitting}"


def _shown(value: Any) -> str:
    """A wrong value in a message, cut short; never raises, whatever it is."""
    if isinstance(value, list | dict):
        return f"a {'list' if isinstance(value, list) else 'table'} of {len(value)}"
    if isinstance(value, int | float):
        return "a number" if abs(value) > 1e15 else repr(value)
    return repr(str(value)[:80])
