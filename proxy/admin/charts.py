"""Charts as inline SVG: bars over time and bars in a table. The page also shows the same numbers as text (pure).

The SVG stretches to the width of its container, so it contains no text: labels are HTML beside it and keep their
size on a phone. Colours are CSS classes, so the style sheet can set them for light and dark mode.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from proxy.pages.desktexts import shown, tr

_HEIGHT = 100
_BAR = 10
_GAP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSeries:
    """One colour of a chart: its meaning and its class (`tone0` to `tone3`)."""

    name: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartColumn:
    """One bar over time: its label and one number for each series, from the bottom up."""

    label: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart over time with its title, legend and labels."""

    key: str
    """The prefix of its ids, unique on the page."""
    title: str
    series: tuple[ChartSeries, ...]
    columns: tuple[ChartColumn, ...]

    @property
    def top(self) -> int:
        """The number at the upper edge: a round number not below any bar."""
        return round_up(max((column.total for column in self.columns), default=0))

    @property
    def description(self) -> str:
        """The chart in one sentence, for users who cannot see it."""
        if not any(column.total for column in self.columns):
            return tr("Nothing in this period.")
        highest = max(self.columns, key=lambda column: column.total)
        total = sum(column.total for column in self.columns)
        first, last = self.columns[0].label, self.columns[-1].label
        return tr(
            "{total} in total, from {first} to {last}; peak: {highest}, {label}.",
            total=total,
            first=first,
            last=last,
            highest=highest.total,
            label=highest.label,
        )

    @property
    def ticks(self) -> tuple[str, ...]:
        """Labels for the beginning, the middle and the end."""
        count = len(self.columns)
        places = (0, count // 2, count - 1) if count > 2 else range(count)
        return tuple(self.columns[place].label for place in places)

    def svg(self) -> Markup:
        """Stacked bars; each bar has a tooltip."""
        width = max(1, len(self.columns)) * _BAR
        head = Markup(
            '<svg class="chart" role="img" aria-labelledby="{key}-title {key}-desc" viewBox="0 0 {width} {height}"'
            ' preserveAspectRatio="none"><title id="{key}-title">{title}</title><desc id="{key}-desc">{text}</desc>'
        ).format(
            key=self.key, width=width, height=_HEIGHT, title=shown(self.title), text=shown(self.description)
        )
        lines = Markup("").join(
            Markup('<line x1="0" x2="{}" y1="{}" y2="{}"/>').format(width, y, y) for y in (0, 50, 100)
        )
        bars = Markup("").join(self._bar(place, column) for place, column in enumerate(self.columns))
        return head + lines + bars + Markup("</svg>")

    def _bar(self, place: int, column: ChartColumn) -> Markup:
        left = place * _BAR + _GAP / 2
        parts, y = Markup(""), float(_HEIGHT)
        for series, count in zip(self.series, column.counts, strict=True):
            height = count / self.top * _HEIGHT
            y -= height
            if count:
                parts += Markup('<rect class="{}" x="{}" y="{:.2f}" width="{}" height="{:.2f}"/>').format(
                    series.tone, left, y, _BAR - _GAP, height
                )
        numbers = ", ".join(
            f"{shown(each.name)}: {count}"
            for each, count in zip(self.series, column.counts, strict=True)
            if count
        )
        text = f"{column.label}: {numbers or shown(tr('None'))}"
        # The whole height of the column shows the tooltip, because a bar of 1 would be hard to hit.
        area = Markup('<rect class="area" x="{}" y="0" width="{}" height="{}"/>').format(
            place * _BAR, _BAR, _HEIGHT
        )
        return Markup("<g><title>{}</title>{}{}</g>").format(text, area, parts)


def meter(counts: Sequence[int], tones: Sequence[str], of: int) -> Markup:
    """A horizontal bar in pieces, as long as its share of `of`. Decoration only: the numbers are beside it."""
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
