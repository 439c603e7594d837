"""The time graph: mementos per year, per month of a year or per day of a month, each archive in its own tone
(pure).

It is an inline SVG of links, so it works by keyboard and without scripts, and the page also says in words what it
shows. Dates are untrusted: impossible years are left out.
"""

from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from proxy.portal.timeparameters import TimeView
from repair.memento.model import Memento

WIDTH, HEIGHT = 600, 120
TONES = 4
"""The number of archives with their own tone, those with most mementos; the others share the last."""
_FIRST_YEAR = 1990
_MAX_YEARS = 60
_LABELS = 8
_GAP = 0.2  # of the width of a column


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSegment:
    """The part of a bar that one archive adds."""

    tone: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeGraphBar:
    """A year, a month or a day: the number of mementos, their archives, and the position of the bar; may be empty."""

    number: int
    total: int
    counts: tuple[tuple[str, int], ...]
    x: float
    width: float
    pieces: tuple[BarSegment, ...]
    labelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeGraph:
    """Bars of one `unit` (year, month or day), and the archives by name, tone and number of mementos."""

    unit: str
    bars: tuple[TimeGraphBar, ...]
    archives: tuple[tuple[str, int, int], ...]
    most: int


def within(mementos: Iterable[Memento], view: TimeView) -> tuple[Memento, ...]:
    """The mementos that a view shows."""
    return tuple(
        each
        for each in mementos
        if view.archive in ("", each.archive)
        and view.year in (0, each.at.year)
        and view.month in (0, each.at.month)
    )


def graph(mementos: Sequence[Memento], view: TimeView, now: datetime) -> TimeGraph | None:
    """The graph of a view; None when there is nothing to draw."""
    possible = [each for each in mementos if _FIRST_YEAR <= each.at.year <= now.year]
    tones = _tones(possible)
    shown = within(possible, view)
    if not shown:
        return None
    unit = "day" if view.month else "month" if view.year else "year"
    counts = Counter((getattr(each.at, unit), each.archive) for each in shown)
    numbers = _numbers(unit, [number for number, _ in counts], view)
    totals = {number: sum(counts[number, name] for name in tones) for number in numbers}
    most = max(totals.values())
    column, every = WIDTH / len(numbers), -(-len(numbers) // _LABELS)
    bars = tuple(
        TimeGraphBar(
            number=number,
            total=totals[number],
            counts=tuple((name, counts[number, name]) for name in tones if counts[number, name]),
            x=round(place * column, 1),
            width=round(column * (1 - _GAP), 1),
            pieces=_pieces([(tones[name], counts[number, name]) for name in tones], most),
            labelled=place % every == 0,
        )
        for place, number in enumerate(numbers)
    )
    per_archive = Counter(each.archive for each in possible)
    archives = tuple((name, tone, per_archive[name]) for name, tone in tones.items())
    return TimeGraph(unit=unit, bars=bars, archives=archives, most=most)


def _tones(mementos: Iterable[Memento]) -> dict[str, int]:
    """The archives, the one with most mementos first, and the tone of each."""
    common = Counter(each.archive for each in mementos).most_common()
    order = [name for name, _ in sorted(common, key=lambda pair: (-pair[1], pair[0]))]
    return {name: min(place, TONES - 1) for place, name in enumerate(order)}


def _numbers(unit: str, present: list[int], view: TimeView) -> range:
    if unit == "month":
        return range(1, 13)
    if unit == "day":
        return range(1, monthrange(view.year, view.month)[1] + 1)
    last = max(present)
    return range(max(min(present), last - _MAX_YEARS + 1), last + 1)


def _pieces(counts: Iterable[tuple[int, int]], most: int) -> tuple[BarSegment, ...]:
    """The segments of a bar from the bottom up; even a single memento is visible."""
    pieces: list[BarSegment] = []
    top = float(HEIGHT)
    for tone, count in counts:
        if count:
            height = max(2.0, HEIGHT * count / most)
            top -= height
            pieces.append(BarSegment(tone=tone, y=round(max(top, 0.0), 1), height=round(height, 1)))
    return tuple(pieces)
