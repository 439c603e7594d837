"""Fits a model to one site: from which probability on to offer a list, and how sure to be of a first page.

What the default model learnt on many sites is too strict for some and too lax for others: pages of a manual are more
alike than those of an encyclopaedia. Links of the site's own saved pages tell: each is there with its page, and
without any page of its subject. With few links both stay near what many sites taught.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Odds = npt.NDArray[np.floating]

FALSE_OFFER_COST = 0.75
"""What a list that should not be costs, against a list with the right page first that is not shown: less, for people
see titles, and go on."""
_CAUTION = 8.0  # links by which a threshold one unit of log-odds away must pay
_SURE_CAUTION = 8.0
_GRID = np.arange(-40, 41) / 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRankings:
    """Rankings of own links by a model that was not trained on them: log-odds that there is something to offer and
    that the first is right, whether it is, and whether all pages of the subject were hidden.
    """

    offer: Odds
    sure: Odds
    right: Flags
    unrelated: Flags


def own_threshold(judged: OwnRankings, default: float) -> float:
    """The probability to offer at that costs least on own links, and not far from the default when there are few."""
    start = math.log(default / (1 - default))
    right, false = judged.offer[judged.right], judged.offer[judged.unrelated]
    if not (len(right) and len(false)):
        return default
    links = min(len(right), len(false))
    costs = [
        (right < start + step).mean()
        + FALSE_OFFER_COST * (false >= start + step).mean()
        + _CAUTION / links * step * step
        for step in _GRID
    ]
    found = start + float(_GRID[int(np.argmin(costs))])
    return 1 / (1 + math.exp(-found))


def own_sureness(judged: OwnRankings) -> float:
    """Log-odds to add to those of a right first page, so that they fit own links; near 0 when there are few."""
    asked = ~judged.unrelated
    if not asked.any():
        return 0.0
    signs = np.where(judged.right[asked], 1.0, -1.0)
    surprise = [
        np.logaddexp(0.0, -signs * (judged.sure[asked] + step)).sum() + _SURE_CAUTION * step * step / 2
        for step in _GRID
    ]
    return float(_GRID[int(np.argmin(surprise))])
