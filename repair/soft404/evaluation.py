"""Evaluates the detector on a labelled folder, beside simple baselines, and measures its time."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from repair.soft404.judge import PageKind, judge, judge_parts
from repair.soft404.labelled import LabelledPage
from repair.soft404.model import shipped_weights
from repair.soft404.pageparts import PageParts, parts_of

_CODE_OR_WORDS = re.compile(r"(?i)\b404\b|not\s+found")
_ENGLISH = re.compile(
    r"(?i)\b404\b|not\s+found|page\s+(?:cannot|can't|could\s+not|couldn't)\s+be\s+found|does\s*(?:not|n't)\s+exist"
    r"|no\s+longer\s+(?:exists|available)|(?:can't|cannot|couldn't|could\s+not)\s+find"
)
_ENGLISH_TEXT = 500
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorScore:
    """The result of one detector on error and normal pages."""

    name: str
    found: int
    false_alarms: int
    errors: int
    normal: int

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + self.false_alarms)

    @property
    def recall(self) -> float:
        return self.found / max(1, self.errors)

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Soft404Figures:
    """Scores, the pages that ours got wrong, its kinds for pages labelled `other`, and microseconds per page."""

    scores: tuple[DetectorScore, ...]
    wrong: tuple[tuple[str, str, float], ...]
    others: tuple[tuple[str, str, int], ...]
    parse_us: float
    judge_us: float


def measure(pages: Sequence[LabelledPage]) -> Soft404Figures:
    """Evaluate ours and the baselines on the same pages."""
    judgeable = [page for page in pages if page.label in ("error", "normal")]
    ours = {page.file: judge(page.page) for page in pages}
    detectors: dict[str, Callable[[LabelledPage], bool]] = {
        "linkmend": lambda page: ours[page.file].kind is PageKind.NOT_FOUND,
        "404 or not found in title or h1": _by_title,
        "English phrases": _by_phrases,
    }
    parse_us, judge_us = _measure_times(pages)
    return Soft404Figures(
        scores=tuple(_score(name, detects, judgeable) for name, detects in detectors.items()),
        wrong=tuple(
            (page.file, page.kind, ours[page.file].probability)
            for page in judgeable
            if (page.label == "error") != (ours[page.file].kind is PageKind.NOT_FOUND)
        ),
        others=tuple(
            (kind, called, count)
            for (kind, called), count in sorted(
                Counter(
                    (page.kind, ours[page.file].kind.value) for page in pages if page.label == "other"
                ).items()
            )
        ),
        parse_us=parse_us,
        judge_us=judge_us,
    )


def _score(
    name: str, detects: Callable[[LabelledPage], bool], pages: Sequence[LabelledPage]
) -> DetectorScore:
    flagged = Counter(page.label for page in pages if detects(page))
    labels = Counter(page.label for page in pages)
    return DetectorScore(
        name=name,
        found=flagged["error"],
        false_alarms=flagged["normal"],
        errors=labels["error"],
        normal=labels["normal"],
    )


def _by_title(page: LabelledPage) -> bool:
    parts = parts_of(page.page)
    return parts is not None and _CODE_OR_WORDS.search(f"{parts.title}\n{_heading(parts)}") is not None


def _by_phrases(page: LabelledPage) -> bool:
    """The title rule, and English phrases in the text of a short page."""
    parts = parts_of(page.page)
    if parts is None:
        return False
    text = "\n".join(block.text for block in parts.blocks)
    short = text if len(text) <= _ENGLISH_TEXT else ""
    return _ENGLISH.search(f"{parts.title}\n{_heading(parts)}\n{short}") is not None


def _heading(parts: PageParts) -> str:
    return parts.headings[0] if parts.headings else ""


def _measure_times(pages: Sequence[LabelledPage]) -> tuple[float, float]:
    """Median microseconds of parsing a page and of judging its parts, each the best of a few rounds."""
    weights = shipped_weights()
    parses, judgements = [], []
    for page in pages:
        parts = parts_of(page.page)
        if parts is not None:
            parses.append(_best_us(parts_of, page.page))
            judgements.append(_best_us(judge_parts, parts, weights))
    return (median(parses), median(judgements)) if parses else (0.0, 0.0)


def _best_us(work: Callable[..., object], *arguments: object) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        work(*arguments)
        times.append(time.perf_counter() - started)
    return min(times) * 1e6
