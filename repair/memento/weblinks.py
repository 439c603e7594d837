"""Web links (RFC 8288) out of Link headers and application/link-format (RFC 6690), in time linear in the text.

Archives write commas and semicolons into addresses, forget commas between links and break lines anywhere, so a link
is what stands between `<` and `>`, and its parameters are what follows until the next `<`. Every step starts where
the last one stopped; nothing is looked at twice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from repair.urls import MAX_URL

MAX_PARAMETERS = 32
MAX_VALUE = 1_000

# Possessive, so that nothing is tried again: `; name = "value"`, or a bare value, or none.
_PARAMETER = re.compile(
    r"[\s;,]*+([^\s=;,<>\"]++)[^\S\n]*+"
    r"(?:=[^\S\n]*+(?:\"((?:[^\"\\]|\\.)*+)(?:\"|\\?\Z)|([^\s;,<>\"]*+)))?",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NEITHER = re.compile(r"[\s;,=>\"]++")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebLink:
    """A link target as written, and its parameters by lower-case name; of two of a name the first counts."""

    target: str
    parameters: dict[str, str]

    @property
    def rels(self) -> frozenset[str]:
        """The relation types, in lower case."""
        return frozenset(self.parameters.get("rel", "").lower().split())


def weblinks(text: str) -> Iterator[WebLink]:
    """The links of a text in order; what is no link is passed over."""
    at = 0
    while (start := text.find("<", at)) >= 0:
        end = text.find(">", start)
        if end < 0:
            return
        # A bracket that was never closed: the link is what follows the last one.
        target = text[text.rfind("<", start, end) + 1 : end].strip()
        parameters, at = _parameters(text, end + 1)
        if 0 < len(target) <= MAX_URL:
            yield WebLink(target=target, parameters=parameters)


def _parameters(text: str, at: int) -> tuple[dict[str, str], int]:
    """The parameters that stand at a place, and where they end: at the next link or the end of the text."""
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
