"""The time graph with labels and links, for the templates (pure)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from proxy.pages.display import clean
from proxy.pages.language import Catalogue
from proxy.pages.timegraph import HEIGHT, WIDTH, graph
from proxy.portal.addresses import mementos_path
from proxy.portal.timeparameters import TimeView
from repair.memento.model import Memento


def linked_graph(
    mementos: Sequence[Memento], view: TimeView, miss: str, texts: Catalogue, now: datetime
) -> dict[str, Any] | None:
    """The time graph of a view. Bars link to a closer view, archives to a view of one archive. None without
    mementos.
    """
    made = graph(mementos, view, now)
    if made is None:
        return None

    def named(number: int) -> str:
        return texts.months[number - 1] if made.unit == "month" else str(number)

    return {
        "unit": made.unit,
        "width": WIDTH,
        "height": HEIGHT,
        "most": made.most,
        "bars": [
            {
                "bar": bar,
                "name": named(bar.number),
                "label": named(bar.number)[:3] if made.unit == "month" else named(bar.number),
                "href": mementos_path(miss, view, **{made.unit: bar.number})
                if bar.total and made.unit != "day"
                else "",
                "said": f"{named(bar.number)}: {bar.total} ({_list_counts(bar.counts)})",
            }
            for bar in made.bars
        ],
        "archives": [
            {
                "name": clean(name, 60),
                "tone": tone,
                "count": texts.number(count),
                "href": mementos_path(miss, view, archive=name),
                "current": view.archive == name,
            }
            for name, tone, count in made.archives
        ],
        "where": " ".join(
            filter(None, (texts.months[view.month - 1] if view.month else "", str(view.year or "")))
        ),
        "all_years": mementos_path(miss, view, year=0, month=0) if view.year else "",
        "whole_year": mementos_path(miss, view, month=0) if view.month else "",
        "all_archives": mementos_path(miss, view, archive="") if view.archive else "",
    }


def _list_counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{clean(name, 60)} {count}" for name, count in counts)
