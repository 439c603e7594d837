"""How one part of a URL was rewritten into another: its style, and what was cut off and added at its ends."""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

_MAX_PART = 200
_LEAST_CORE = 3  # letters that must stay for two names to count as one rewritten
_LEAST_SHARE = 0.4  # and their least share of the shorter name
_SEPARATORS = re.compile(r"[-_+ .]|%20")
_SIGNS = re.compile(r"[^\w\-.~/?=&%]+|%(?:2[1-9A-F]|3[A-F]|40|5[BD])")

_NO_NAME = re.compile(r"/?(?:\.[A-Za-z][A-Za-z0-9]{1,4})?/?|[?&][\w.\-]+=|&.*")

STYLES: "MappingProxyType[str, Callable[[str], str]]" = MappingProxyType(
    {
        "": lambda part: part,
        "lower": str.lower,
        "-": lambda part: _SEPARATORS.sub("-", part),
        "_": lambda part: _SEPARATORS.sub("_", part),
        "lower-": lambda part: _SEPARATORS.sub("-", part.lower()),
        "lower_": lambda part: _SEPARATORS.sub("_", part.lower()),
        "glued": lambda part: _SEPARATORS.sub("", part.lower()),
        "capital": lambda part: part[:1].upper() + part[1:].lower(),
        "initial": lambda part: part[:1].upper() + part[1:],
        ".": lambda part: _SEPARATORS.sub(".", part),
        "plain": lambda part: _SIGNS.sub("", part),
    }
)


class PartRewrite(NamedTuple):
    """A part restyled, then cut at both ends, then extended at both ends; by default nothing changes."""

    style: str = ""
    cut_before: str = ""
    cut_after: str = ""
    add_before: str = ""
    add_after: str = ""

    def apply(self, part: str) -> str | None:
        """The new part; None when it lacks what is to be cut, or nothing would remain."""
        if len(part) > _MAX_PART or not part.startswith(self.cut_before) or not part.endswith(self.cut_after):
            return None
        core = part[len(self.cut_before) : len(part) - len(self.cut_after)]
        if not core or len(self.cut_before) + len(self.cut_after) >= len(part):
            return None
        return self.add_before + self.restyle(core) + self.add_after

    def keeps_name(self) -> bool:
        """Whether only style, suffix, slash or the key of a query change: the name of the page stays."""
        return all(_NO_NAME.fullmatch(end) for end in self[1:])

    def restyle(self, part: str) -> str:
        """The part in the new style only."""
        return STYLES[self.style](part)


def change_between(old: str, new: str) -> PartRewrite | None:
    """The simplest change that turns one part into the other; None when they have too little in common."""
    if max(len(old), len(new)) > _MAX_PART:
        return None
    for style, restyled in STYLES.items():
        if restyled(old) == new:
            return PartRewrite(style=style)
    found = [change for change in (_with_ends(old, new, style) for style in STYLES) if change is not None]
    return min(found, key=_weight) if found else None


def _weight(change: PartRewrite) -> int:
    return sum(map(len, change[1:])) + 2 * bool(change.style)


def _with_ends(old: str, new: str, style: str) -> PartRewrite | None:
    """Cut and added ends around the longest substring that the restyled old part shares with the new."""
    restyled = STYLES[style]
    if len(restyled(old)) != len(old):
        return None  # the ends could not be located in the original part
    start, at, size = _longest_shared(restyled(old), new)
    least = 2 if new[at : at + size].isdigit() else _LEAST_CORE
    if size < max(least, _LEAST_SHARE * min(len(old.rstrip("/")), len(new.rstrip("/")))):
        return None
    return PartRewrite(style, old[:start], old[start + size :], new[:at], new[at + size :])


def _longest_shared(left: str, right: str) -> tuple[int, int, int]:
    """The start of the longest common substring in both, and its length."""
    best = (0, 0, 0)
    for block in LCSseq.opcodes(left, right):
        if block.tag == "equal" and block.src_end - block.src_start > best[2]:
            best = (block.src_start, block.dest_start, block.src_end - block.src_start)
    return best
