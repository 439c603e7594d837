"""Charts as SVG in the page: bars over time and bars in a table. Whatever they show is also there as text (pure).

They stretch to the width they are given, so they hold no words: words stand beside them in HTML, where they keep
their size on a telephone. Colours are classes, which the style sheet fills in for light and dark.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_HEIGHT = 100
_BAR = 10
_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One colour of a chart: what it stands for and its class (`tone0` to `tone3`)."""

    name: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One bar over time: its label and one number for each series, from the bottom up."""

    label: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart over time with all that stands around it."""

    key: str
    """What its ids begin with: each chart of a page has its own."""
    title: str
    series: tuple[Series, ...]
    columns: tuple[Column, ...]

    @property
    def top(self) -> int:
        """The number at the upper edge: round, and not below any bar."""
        return round_up(max((column.total for column in self.columns), default=0))

    @property
    def description(self) -> str:
        """The chart in a sentence, for those who do not see it."""
        if not any(column.total for column in self.columns):
            return "Nothing in this time."
        highest = max(self.columns, key=lambda column: column.total)
        total = sum(column.total for column in self.columns)
        first, last = self.columns[0].label, self.columns[-1].label
        return f"{total} in all, from {first} to {last}; the most, {highest.total}, in {highest.label}."

    @property
    def ticks(self) -> tuple[str, ...]:
        """Labels for the beginning, the middle and the end."""
        count = len(self.columns)
        places = (0, count // 2, count - 1) if count > 2 else range(count)
        return tuple(self.columns[place].label for place in places)

    def svg(self) -> Markup:
        """Stacked bars; every bar says what it is when pointed at."""
        width = max(1, len(self.columns)) * _BAR
        head = Markup(
            '<svg class="chart" role="img" aria-labelledby="{key}-title {key}-desc" viewBox="0 0 {width} {height}"'
            ' preserveAspectRatio="none"><title id="{key}-title">{title}</title><desc id="{key}-desc">{text}</desc>'
        ).format(key=self.key, width=width, height=_HEIGHT, title=self.title, text=self.description)
        lines = Markup("").join(
            Markup('<line x1="0" x2="{}" y1="{}" y2="{}"/>').format(width, y, y) for y in (0, 50, 100)
        )
        bars = Markup("").join(self._bar(place, column) for place, column in enumerate(self.columns))
        return head + lines + bars + Markup("</svg>")

    def _bar(self, place: int, column: Column) -> Markup:
        left = place * _BAR + _GAP / 2
        parts, y = Markup(""), float(_HEIGHT)
        for series, count in zip(self.series, column.counts, strict=True):
            height = count / self.top * _HEIGHT
            y -= height
            if count:
                parts += Markup('<rect class="{}" x="{}" y="{:.2f}" width="{}" height="{:.2f}"/>').format(
                    series.tone, left, y, _BAR - _GAP, height
                )
        told = ", ".join(
            f"{count} {each.name}" for each, count in zip(self.series, column.counts, strict=True) if count
        )
        text = f"{column.label}: {told or 'none'}"
        # The whole height answers to the pointer, or a bar of one would be hard to hit.
        area = Markup('<rect class="area" x="{}" y="0" width="{}" height="{}"/>').format(
            place * _BAR, _BAR, _HEIGHT
        )
        return Markup("<g><title>{}</title>{}{}</g>").format(text, area, parts)


def meter(counts: Sequence[int], tones: Sequence[str], of: int) -> Markup:
    """A bar lying down, in pieces, as long as its share of `of`; for show only: the numbers stand beside it."""
    pieces, x = Markup(""), 0.0
    for count, tone in zip(counts, tones, strict=True):
        width = 100 * count / of if of else 0.0
        if count:
            pieces += Markup('<rect class="{}" x="{:.2f}" y="0" width="{:.2f}" height="8"/>').format(
                tone, x, width
            )
        x += width
    return Markup(
        '<svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"'
        ' focusable="false">{}</svg>'
    ).format(pieces)


def round_up(number: int) -> int:
    """The next even number that is round, at least 2.

    >>> [round_up(number) for number in (0, 3, 14, 51, 200)]
    [2, 4, 20, 60, 200]
    """
    power = 1
    while True:
        for digit in (2, 4, 6, 8, 10):
            if digit * power >= number:
                return digit * power
        power *= 10
