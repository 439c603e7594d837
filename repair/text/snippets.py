"""The passage of a page that shows best why it was found, with the matching words marked.

The best window has the most different matching words, then the most matches, then the first position. It takes one
pass.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from repair.model import Span
from repair.text.words import located_terms, terms

MAX_TEXT = 100_000
"""Characters of the page that are searched."""
ELLIPSIS = "…"

_Match = tuple[int, int, str]
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]+")


def snippet(text: str, words: Iterable[str], *, width: int = 240, language: str = "") -> tuple[Span, ...]:
    """About `width` characters of the text, white space collapsed, in pieces; empty for an empty text.

    `words` may be words as people write them or terms of the index: both match.
    """
    text = " ".join(_CONTROLS.sub("", text[:MAX_TEXT]).split())
    if not text:
        return ()
    wanted = _wanted_terms(tuple(words), language)
    matches = [found for found in located_terms(text, wanted) if found[2] in wanted] if wanted else []
    start, end = _window(text, matches, max(1, width))
    marked = _merge_ranges([(max(a, start), min(b, end)) for a, b, _ in matches if a < end and b > start])
    return _spans(text, start, end, marked)


@lru_cache(maxsize=64)
def _wanted_terms(words: tuple[str, ...], language: str) -> frozenset[str]:
    """The wanted terms; cached, because they are the same for all pages of a list."""
    return frozenset(words).union(*(terms(word, language) for word in words))


def _window(text: str, matches: list[_Match], width: int) -> tuple[int, int]:
    """Where to cut: around the best run of matches, at word boundaries."""
    first, last = _best_run(matches, width)
    if last <= first:
        start = 0
    else:
        run_start, run_end = matches[first][0], matches[last - 1][1]
        start = max(0, min(run_start - (width - (run_end - run_start)) // 3, run_start))
        start = max(0, min(start, len(text) - width))
    end = min(len(text), start + width)
    if start > 0:  # not in the middle of a word, unless the "word" is a line without spaces
        space = text.find(" ", start - 1, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(start, end - 30), end + 1)
        end = space if space > start else end
    return start, end


def _best_run(matches: list[_Match], width: int) -> tuple[int, int]:
    """The slice of matches that fit in one window, with the most different words, then the most words."""
    best, best_run = (0, 0), (0, 0)
    inside: Counter[str] = Counter()
    first = 0
    for last, (_, end, term) in enumerate(matches):
        inside[term] += 1
        while end - matches[first][0] > width and first < last:
            gone = matches[first][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        score = (len(inside), last + 1 - first)
        if score > best:
            best, best_run = score, (first, last + 1)
    return best_run


def _merge_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping and touching ranges as one; they come in order of their starts."""
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _spans(text: str, start: int, end: int, marked: list[tuple[int, int]]) -> tuple[Span, ...]:
    pieces = [Span(text=ELLIPSIS)] if start > 0 else []
    at = start
    for first, last in marked:
        pieces += [Span(text=text[at:first]), Span(text=text[first:last], marked=True)]
        at = last
    pieces.append(Span(text=text[at:end]))
    if end < len(text):
        pieces.append(Span(text=ELLIPSIS))
    return tuple(piece for piece in pieces if piece.text)
