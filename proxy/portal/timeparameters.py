"""What a user wants to see of archived versions, as query parameters (pure).

Invalid parameters count as absent: users may edit, cut or invent an address.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from repair.evidence.neighbourhood import WHOLE_PAGE
from repair.newversion import WEIGHTINGS

RADII = (0, 5, 10, WHOLE_PAGE)
TERMS = range(1, 16)
BACKLINKS = range(1, 101)
LEVELS = range(1, 3)
_MAX_TEXT = 100
_NUMBER = re.compile(r"-?[0-9]{1,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeView:
    """Zoom and filter of the time line, and the expert options.

    `archive` only, `year` and `month` only (0 for all of them); `take` names the memento to take title and keywords
    from, "" for the last good one; `titles` when the titles of the last mementos are wanted; the rest as in
    `repair.evidence.neighbourhood.NeighbourhoodLimits` and `repair.newversion`.
    """

    archive: str = ""
    year: int = 0
    month: int = 0
    take: str = ""
    titles: bool = False
    terms: int = 7
    weighting: str = WEIGHTINGS[0]
    radius: int = 0
    backlinks: int = 10
    levels: int = 1


_DEFAULT = TimeView()


def view_of(fields: Mapping[str, str]) -> TimeView:
    """The view that parameters describe."""
    year = _number(fields, "year", range(1, 10_000), 0)
    weighting = fields.get("weighting", "")
    return TimeView(
        archive=fields.get("archive", "")[:_MAX_TEXT],
        year=year,
        month=_number(fields, "month", range(1, 13), 0) if year else 0,
        take=fields.get("take", "")[:_MAX_TEXT],
        titles=fields.get("titles") == "1",
        terms=_number(fields, "terms", TERMS, _DEFAULT.terms),
        weighting=weighting if weighting in WEIGHTINGS else _DEFAULT.weighting,
        radius=_number(fields, "radius", RADII, _DEFAULT.radius),
        backlinks=_number(fields, "backlinks", BACKLINKS, _DEFAULT.backlinks),
        levels=_number(fields, "levels", LEVELS, _DEFAULT.levels),
    )


def parameters(view: TimeView, **changes: Any) -> dict[str, str]:
    """The parameters that describe a view; defaults are left out."""
    wanted = replace(view, **changes)
    values = {}
    for name in TimeView.__slots__:
        value = getattr(wanted, name)
        if value != getattr(_DEFAULT, name):
            values[name] = str(int(value) if isinstance(value, bool) else value)
    return values


def _number(fields: Mapping[str, str], name: str, allowed: range | tuple[int, ...], otherwise: int) -> int:
    text = fields.get(name, "")
    number = int(text) if _NUMBER.fullmatch(text) else otherwise
    return number if number in allowed else otherwise
