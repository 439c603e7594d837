"""Writes a `[[rule]]` as TOML, with any text in addresses and reasons escaped."""

import re
from collections.abc import Sequence

_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\ud800-\udfff]')


def rule_text(**values: str | Sequence[str]) -> str:
    """A `[[rule]]` of the keys given, in TOML; empty values are left out, several become a list.

    >>> print(rule_text(url="http://a.test/x", action="redirect", to="http://b.test/", reason=""), end="")
    [[rule]]
    url = "http://a.test/x"
    action = "redirect"
    to = "http://b.test/"
    """
    lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value]
    return "\n".join(("[[rule]]", *lines, ""))


def _toml(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    return f"[{', '.join(map(_toml, value))}]"


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in '"\\':
        return f"\\{character}"
    return "\\uFFFD" if "\ud800" <= character <= "\udfff" else f"\\u{ord(character):04X}"
