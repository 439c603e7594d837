"""Sketches of page texts, and their similarity (pure): the Jaccard index over shingles of three words.

Only the `KEPT` shingles with the smallest hashes are kept (Broder's bottom-k): two sketches give nearly the
similarity of the whole texts, and a sketch takes a kilobyte at most.
"""

import zlib
from collections.abc import Iterable, Sequence
from heapq import nsmallest

from repair.model import Page
from repair.parse.traversal import TextBlock
from repair.soft404.pageparts import reading_of
from repair.text.fingerprints import shingles
from repair.text.words import tokens

KEPT = 256
LEAST = 6
"""Texts with fewer shingles are too short to be recognised."""
ALIKE = 0.9
"""From this similarity on two texts are the same page (Klein, chapter VIII)."""
_MAX_WORDS = 3_000
_RUN = 3

Sketch = tuple[int, ...]


def sketch_of(page: Page, *, like: int = KEPT) -> Sketch:
    """The sketch of a page's text, title included; empty when the text is too short.

    With `like`, the caller only compares it to sketches of at most that many values: if the beginning of the page is
    already too long to be similar to them, the result is empty, in a fraction of the time.
    """
    reading = reading_of(page)
    if reading is None or (like < KEPT and len(_hashes_within(reading.beginning())) * ALIKE > like):
        return ()
    parts = reading.parts()
    words: list[str] = tokens(parts.title)
    for block in parts.blocks:
        words.extend(tokens(block.text))
        if len(words) > _MAX_WORDS:
            break
    return sketch(words[:_MAX_WORDS])


def sketch(words: Sequence[str]) -> Sketch:
    """The sketch of a sequence of words."""
    hashes = _shingle_hashes(words)
    return tuple(nsmallest(KEPT, hashes)) if len(hashes) >= LEAST else ()


def _shingle_hashes(words: Sequence[str]) -> set[int]:
    return {zlib.crc32(" ".join(run).encode("utf-8", "replace")) for run in shingles(words, _RUN)}


def _hashes_within(blocks: Iterable[TextBlock]) -> set[int]:
    """The shingles within blocks: the whole page has these, whatever is between the blocks."""
    rows = (tokens(block.text) for block in blocks)
    return set[int]().union(*(_shingle_hashes(words) for words in rows if len(words) >= _RUN))


def is_alike(left: Sketch, right: Sketch) -> bool:
    """Whether the texts behind two sketches are the same page."""
    return likeness(left, right) >= ALIKE


def likeness(left: Sketch, right: Sketch) -> float:
    """The Jaccard index of the texts behind two sketches, exact for short ones; 0 when either is empty."""
    if not left or not right:
        return 0.0
    union = nsmallest(KEPT, set(left) | set(right))
    shared = set(left) & set(right)
    return sum(value in shared for value in union) / len(union)
