"""On which line of a TOML text each key of each `[[rule]]` stands, which tomllib does not tell.

Only for texts that tomllib has read: what is not TOML finds no better place than line 1.
"""

import re
from dataclasses import dataclass, field

_OPENERS = re.compile(r"\"\"\"|'''|[\"'#\[\]{}\n]")
_KEY = re.compile(r"\s*(?:\"(?P<basic>[^\"]*)\"|'(?P<literal>[^']*)'|(?P<bare>[A-Za-z0-9_-]+))\s*(?:[.=]|$)")
_HEADER = re.compile(r"\s*(?P<opener>\[\[?)(?P<name>[^\]]*)\]")


@dataclass(slots=True)
class Table:
    """Where a table's header and its keys stand; `name` is `[rule]` of `[[rule]]`, `rule.more` of `[rule.more]`."""

    name: str
    line: int
    keys: dict[str, int] = field(default_factory=dict)

    def line_of(self, key: str) -> int:
        return self.keys.get(key, self.line)


def tables(text: str) -> list[Table]:
    """The tables of a TOML text in order, the nameless one before the first header among them."""
    found = [Table(name="", line=1)]
    for number, line in _statements(text):
        if header := _HEADER.match(line):
            name = ".".join(part.strip(" \t\"'") for part in header["name"].split("."))
            found.append(Table(name=f"[{name}]" if header["opener"] == "[[" else name, line=number))
        elif key := _KEY.match(line):
            found[-1].keys.setdefault(next(filter(None, key.groups()), ""), number)
    return found


def _statements(text: str) -> list[tuple[int, str]]:
    """The lines on which something begins, that is not within a string, an array or a comment, and their numbers."""
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
    """Where a string or comment that begins before `at` ends."""
    if opener == "#":
        end = text.find("\n", at)
        return len(text) if end == -1 else end
    escape = r"(?:\\.|(?!%s).)*" if opener.startswith('"') else r"(?:(?!%s).)*"
    body = re.compile(escape % re.escape(opener), re.DOTALL).match(text, at)
    end = min(len(text), (body.end() if body else at) + len(opener))
    # Up to two quotes may stand right before the three that end a string, and belong to it.
    extra = len(text[end : end + 2]) - len(text[end : end + 2].lstrip(opener[0]))
    return end + extra if len(opener) == 3 else end
