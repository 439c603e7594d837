"""Chooses a memento: the last good one, or the good one closest to the time when the link was made. Pure.

Lists of captures do not tell good ones from archived errors, redirects to the home page, soft 404s and parked
domains, so mementos must be fetched, but only a few. Once a site is gone, years of captures may be bad. So the search
steps back by one, two, four, eight captures until it finds a good one, and spends the remaining fetches on a binary
search between that and the last bad one.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum

from repair.memento.model import Memento
from repair.model import Page
from repair.text import urls


class MementoVerdict(Enum):
    """Whether a fetched memento shows the lost page; UNKNOWN when the archive did not answer."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


def order_by_preference(mementos: Iterable[Memento], near: datetime | None = None) -> tuple[Memento, ...]:
    """The mementos worth fetching, best first: the latest, or with `near` the closest.

    Known errors and repeated content (by digest) are left out.
    """
    promising = [each for each in mementos if each.status is None or 200 <= each.status <= 399]
    if near is None:
        promising.sort(key=lambda each: each.at, reverse=True)
    else:
        # Of two equally close ones, the earlier: the author of the link had seen that.
        promising.sort(key=lambda each: (abs(each.at - near), each.at))
    kept: dict[str, Memento] = {}
    for each in promising:
        kept.setdefault(each.digest or each.url, each)
    return tuple(kept.values())


class MementoSearch:
    """Searches ordered mementos for the first good one; call `note` with the verdict after each `next_memento`."""

    def __init__(self, ordered: tuple[Memento, ...], looks: int) -> None:
        self._ordered = ordered
        self._looks = looks
        self._at, self._leap = 0, 1
        self._bad, self._good = -1, len(ordered)
        self._looked: set[int] = set()

    def next_memento(self) -> Memento | None:
        """The memento to fetch next; None when the search is over."""
        if (
            not self._bad < self._at < self._good
            or self._at in self._looked
            or len(self._looked) >= self._looks
        ):
            return None
        self._looked.add(self._at)
        return self._ordered[self._at]

    def note(self, verdict: MementoVerdict) -> None:
        """Record the verdict on the last memento."""
        found = self._good < len(self._ordered)
        if verdict is MementoVerdict.GOOD:
            self._good = self._at
            self._at = (self._bad + self._good) // 2
        elif found:
            self._bad = self._at
            self._at = (self._bad + self._good) // 2
        elif verdict is MementoVerdict.UNKNOWN:
            self._at += 1
        else:
            self._bad = self._at
            self._at = min(self._at + self._leap, max(self._at + 1, len(self._ordered) - 1))
            self._leap *= 2

    def best(self) -> Memento | None:
        """The best memento with a good verdict; None when there is none."""
        return self._ordered[self._good] if self._good < len(self._ordered) else None


def verdict(original: str, page: Page, is_bad: Callable[[Page], bool]) -> MementoVerdict:
    """Whether the page of a memento of `original` is the page that was lost.

    `is_bad` recognises soft 404s, parked domains and logins.
    """
    if not 200 <= page.status <= 299 or (_is_home(page.url) and not _is_home(original)) or is_bad(page):
        return MementoVerdict.BAD
    return MementoVerdict.GOOD


def _is_home(url: str) -> bool:
    try:
        parts = urls.parse(url)
    except ValueError:
        return False
    return not parts.query and parts.path.lower() in ("/", "/index.html", "/index.htm", "/index.php")
