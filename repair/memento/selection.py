"""Which memento to take: the last good one, or the one closest to the time when the link was made. Pure.

Lists of captures do not tell good ones from archived errors, redirects to the home page, soft 404s and the parking
page of whoever bought the name, so mementos have to be looked into, but only a few. Once a site is gone, years
of captures may be alike. Therefore the search leaps back, one, two, four, eight captures, until it meets a good one,
and spends the looks that are left between that and the last bad one.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum

from repair import urls
from repair.memento.model import Memento
from repair.model import Page


class Verdict(Enum):
    """What a look into a memento showed; UNKNOWN when the archive did not answer."""

    GOOD = "good"
    BAD = "bad"
    UNKNOWN = "unknown"


def preferred(mementos: Iterable[Memento], near: datetime | None = None) -> tuple[Memento, ...]:
    """The mementos worth a look, the best first: the latest, or with `near` the closest.

    Known errors are left out, and so is what has the same content as a better one.
    """
    promising = [each for each in mementos if each.status is None or 200 <= each.status <= 399]
    if near is None:
        promising.sort(key=lambda each: each.at, reverse=True)
    else:
        # Of two as close, the earlier: what the author of the link had seen.
        promising.sort(key=lambda each: (abs(each.at - near), each.at))
    kept: dict[str, Memento] = {}
    for each in promising:
        kept.setdefault(each.digest or each.url, each)
    return tuple(kept.values())


class Search:
    """Walks through mementos in order of preference; after each `next_look` it wants to know the verdict."""

    def __init__(self, ordered: tuple[Memento, ...], looks: int) -> None:
        self._ordered = ordered
        self._looks = looks
        self._at, self._leap = 0, 1
        self._bad, self._good = -1, len(ordered)
        self._looked: set[int] = set()

    def next_look(self) -> Memento | None:
        """The memento to look into next; None when the search is over."""
        if (
            not self._bad < self._at < self._good
            or self._at in self._looked
            or len(self._looked) >= self._looks
        ):
            return None
        self._looked.add(self._at)
        return self._ordered[self._at]

    def note(self, verdict: Verdict) -> None:
        """Say what the last look showed."""
        found = self._good < len(self._ordered)
        if verdict is Verdict.GOOD:
            self._good = self._at
            self._at = (self._bad + self._good) // 2
        elif found:
            self._bad = self._at
            self._at = (self._bad + self._good) // 2
        elif verdict is Verdict.UNKNOWN:
            self._at += 1
        else:
            self._bad = self._at
            self._at = min(self._at + self._leap, max(self._at + 1, len(self._ordered) - 1))
            self._leap *= 2

    def found(self) -> Memento | None:
        """The best memento seen to be good."""
        return self._ordered[self._good] if self._good < len(self._ordered) else None


def verdict(original: str, page: Page, is_bad: Callable[[Page], bool]) -> Verdict:
    """Whether what a memento of `original` led to is the page that was lost.

    `is_bad` knows pages that only pretend to be there: soft 404s, parked domains, logins.
    """
    if not 200 <= page.status <= 299 or (_is_home(page.url) and not _is_home(original)) or is_bad(page):
        return Verdict.BAD
    return Verdict.GOOD


def _is_home(url: str) -> bool:
    try:
        parts = urls.parse(url)
    except ValueError:
        return False
    return not parts.query and parts.path.lower() in ("/", "/index.html", "/index.htm", "/index.php")
