"""Line numbers of the keys of each `[[rule]]` in a TOML text, which tomllib does not provide.

Only for texts that tomllib accepts; for other texts the lines may be wrong.
"""

import re
from dataclasses import dataclass, field

_OPENERS = re.compile(r"\"\"\"|'''|[\"'#\[\]{}\n]")
_KEY = re.compile(r"\s*(?:\"(?P<basic>[^\"]*)\"|'(?P<literal>[^']*)'|(?P<bare>[A-Za-z0-9_-]+))\s*(?:[.=]|$)")
_HEADER = re.compile(r"\s*(?P<opener>\[\[?)(?P<name>[^\]]*)\]")


@dataclass(slots=True)
class RuleTable:
    """The lines of a table's header and keys; `name` is `[rule]` for `[[rule]]`, `rule.more` for `[rule.more]`."""

    name: str
    line: int
    keys: dict[str, int] = field(default_factory=dict)

    def line_of(self, key: str) -> int:
        return self.keys.get(key, self.line)


def tables(text: str) -> list[RuleTable]:
    """The tables of a TOML text in order, beginning with the nameless one before the first header."""
    found = [RuleTable(name="", line=1)]
    for number, line in _statements(text):
        if header := _HEADER.match(line):
            name = ".".join(part.strip(" \t\"'") for part in header["name"].split("."))
            found.append(RuleTable(name=f"[{name}]" if header["opener"] == "[[" else name, line=number))
        elif key := _KEY.match(line):
            found[-1].keys.setdefault(next(filter(None, key.groups()), ""), number)
    return found


def _statements(text: str) -> list[tuple[int, str]]:
    """The lines that begin a statement, outside of strings, arrays and comments, with their numbers."""
    lines = text.split("\n")
    starts: list[tuple[int, str]] = [(1, lines[0])]
    at, number, depth = 0, 1, 0
    while mark := _OPENERS.search(text, at):
        at = mark.end()
        if mark[0] == "\n":
            number += 1
            if depth <= 0:
                starts.append((number, lines[number - 1]))
        elif mark[0] in "[{":
            depth += 1
        elif mark[0] in "]}":
            depth -= 1
        else:
            end = _end_of(text, mark[0], at)
            number += text.count("\n", at, end)
            at = end
    return starts


def _end_of(text: str, opener: str, at: int) -> int:
    """The end of a string or comment that begins before `at`."""
    if opener == "#":
        end = text.find("\n", at)
        return len(text) if end == -1 else end
    escape = r"(?:\\.|(?!%s).)*" if opener.startswith('"') else r"(?:(?!%s).)*"
    body = re.compile(escape % re.escape(opener), re.DOTALL).match(text, at)
    end = min(len(text), (body.end() if body else at) + len(opener))
    # Up to two quotes may stand right before the three that end a string, and belong to it.
    extra = len(text[end : end + 2]) - len(text[end : end + 2].lstrip(opener[0]))
    return end + extra if len(opener) == 3 else end
