"""Link authorities: pages that replaced a link to an old URL by one to a new URL tell of a move (PageChaser).

Two versions of a page are compared. A link counts as replaced where the same words led to one URL before and lead to
another now, and neither URL is in the other version. Authors also replace links for other reasons: a newer release,
a better page, a page split in two. So the two pages must have similar names, and URLs that differ in numbers alone do
not count.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from repair.model import Link
from repair.moves.patterns import place_of
from repair.moves.rewriting import change_between
from repair.moves.rules import Move
from repair.text import words
from repair.text.urlstructure import normalise_part

LINKED = "linked"
"""The origin of a move that pages tell which replaced their links."""
_MAX_SWAPS = 50  # of one page at a time
_NUMBERS = re.compile("[0-9]+")


def replaced_links(
    before: Iterable[Link], after: Iterable[Link], is_stop_anchor: Callable[[str], bool]
) -> tuple[Move, ...]:
    """The moves that the new links of a page tell; URLs are in normal form."""
    old, new = _targets_by_anchor(before), _targets_by_anchor(after)
    linked_before, linked_after = (set().union(*targets.values()) for targets in (old, new))
    found = dict.fromkeys(
        Move(old=lost, new=gained, origin=LINKED)
        for anchor in old.keys() & new.keys()
        if not is_stop_anchor(anchor)
        for lost in _only(old[anchor] - linked_after)
        for gained in _only(new[anchor] - linked_before)
    )
    replaced: dict[str, set[str]] = defaultdict(set)
    for move in found:
        replaced[move.old].add(move.new)
    moves = (move for move in found if len(replaced[move.old]) == 1 and _is_likely(move))
    return tuple(sorted(moves, key=lambda move: move.old)[:_MAX_SWAPS])


def page_name(url: str) -> str:
    """The last part of a URL without suffix, separators and case; "" when it has none."""
    place = place_of(url)
    return normalise_part(place.parts[-1]) if place and place.parts else ""


def _targets_by_anchor(links: Iterable[Link]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for link in links:
        if anchor := " ".join(words.tokens(link.anchor)):
            found[anchor].add(link.target_url)
    return found


def _only(targets: set[str]) -> Iterator[str]:
    if len(targets) == 1:
        yield from targets


def _is_likely(move: Move) -> bool:
    old, new = page_name(move.old), page_name(move.new)
    if not (old and new) or _NUMBERS.sub("0", move.old) == _NUMBERS.sub("0", move.new):
        return False
    return old == new or change_between(old, new) is not None
