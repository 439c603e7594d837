"""The text of a page as a small sketch, and how alike two are (pure): Jaccard's measure over runs of three words.

Of all runs only the `KEPT` with the smallest hashes are kept (Broder's bottom-k): two sketches tell nearly what the
whole texts would, and one takes a kilobyte at most.
"""

import zlib
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from repair.fingerprints import shingles
from repair.model import Page
from repair.soft404.parts import reading_of
from repair.walk import Block
from repair.words import tokens

KEPT = 256
LEAST = 6
"""Texts of fewer runs are too short to be known again."""
ALIKE = 0.9
"""From here on two texts are the same page (Klein, chapter VIII)."""
_MAX_WORDS = 3_000
_RUN = 3

Sketch = tuple[int, ...]


def sketch_of(page: Page, *, like: int = KEPT) -> Sketch:
    """The sketch of a page's text, title included; empty when there is too little of it.

    Who only asks whether it is alike to sketches of `like` values at most gets an empty one, in a fraction of the
    time, of a page that is too long for it already where it begins.
    """
    reading = reading_of(page)
    if reading is None or (like < KEPT and len(_runs_within(reading.beginning())) * ALIKE > like):
        return ()
    parts = reading.parts()
    words: list[str] = tokens(parts.title)
    for block in parts.blocks:
        words.extend(tokens(block.text))
        if len(words) > _MAX_WORDS:
            break
    return sketch(words[:_MAX_WORDS])


def sketch(words: Sequence[str]) -> Sketch:
    """The sketch of a row of words."""
    runs = _runs(words)
    return tuple(nsmallest(KEPT, runs)) if len(runs) >= LEAST else ()


def _runs(words: Sequence[str]) -> set[int]:
    return {zlib.crc32(" ".join(run).encode("utf-8", "replace")) for run in shingles(words, _RUN)}


def _runs_within(blocks: Iterable[Block]) -> set[int]:
    """Those that do not go from one block to the next: whatever stands between, the page has them."""
    rows = (tokens(block.text) for block in blocks)
    return set[int]().union(*(_runs(words) for words in rows if len(words) >= _RUN))


def is_alike(left: Sketch, right: Sketch) -> bool:
    """Whether the texts behind two sketches are the same page."""
    return likeness(left, right) >= ALIKE


def likeness(left: Sketch, right: Sketch) -> float:
    """Jaccard's measure of the texts behind two sketches, exact for short ones; 0 when either is empty."""
    if not left or not right:
        return 0.0
    union = nsmallest(KEPT, set(left) | set(right))
    shared = set(left) & set(right)
    return sum(value in shared for value in union) / len(union)
