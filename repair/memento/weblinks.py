"""Parses web links (RFC 8288) from Link headers and application/link-format (RFC 6690) in linear time.

Archives write commas and semicolons into addresses, forget commas between links and break lines anywhere. So a link
is the text between `<` and `>`, and its parameters are the text up to the next `<`. Each step starts where the last
one ended; no character is read twice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from repair.text.urls import MAX_URL

MAX_PARAMETERS = 32
MAX_VALUE = 1_000

# Possessive, so that there is no backtracking: `; name = "value"`, or a bare value, or none.
_PARAMETER = re.compile(
    r"[\s;,]*+([^\s=;,<>\"]++)[^\S\n]*+"
    r"(?:=[^\S\n]*+(?:\"((?:[^\"\\]|\\.)*+)(?:\"|\\?\Z)|([^\s;,<>\"]*+)))?",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NEITHER = re.compile(r"[\s;,=>\"]++")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLink:
    """A link target as written, and its parameters by lower-case name; the first of a name counts."""

    target: str
    parameters: dict[str, str]

    @property
    def rels(self) -> frozenset[str]:
        """The relation types, in lower case."""
        return frozenset(self.parameters.get("rel", "").lower().split())


def weblinks(text: str) -> Iterator[WebLink]:
    """The links of a text in order; other text is skipped."""
    at = 0
    while (start := text.find("<", at)) >= 0:
        end = text.find(">", start)
        if end < 0:
            return
        # An earlier bracket was never closed: the link starts at the last one.
        target = text[text.rfind("<", start, end) + 1 : end].strip()
        parameters, at = _parameters(text, end + 1)
        if 0 < len(target) <= MAX_URL:
            yield WebLink(target=target, parameters=parameters)


def _parameters(text: str, at: int) -> tuple[dict[str, str], int]:
    """The parameters that start at a position, and where they end: at the next link or the end of the text."""
    found: dict[str, str] = {}
    while at < len(text):
        parameter = _PARAMETER.match(text, at)
        if parameter is None:
            noise = _NEITHER.match(text, at)
            if noise is None:
                break
            at = noise.end()
            continue
        at = parameter.end()
        if len(found) < MAX_PARAMETERS:
            quoted, bare = parameter[2], parameter[3]
            value = _ESCAPED.sub(r"\1", quoted[: 2 * MAX_VALUE]) if quoted is not None else bare or ""
            found.setdefault(parameter[1][:MAX_VALUE].lower(), value[:MAX_VALUE])
    return found, at
