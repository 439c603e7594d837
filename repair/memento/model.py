"""The words of time travel: mementos, the time map of a URL, and what each archive had to say."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from repair.model import Document, Page


class Outcome(StrEnum):
    """What became of the question to one archive."""

    ANSWERED = "answered"
    NOTHING = "nothing"
    LATE = "late"
    BROKEN = "broken"
    LIMITED = "limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memento:
    """A page as an archive saw it. `status` is None and `media_type` and `digest` are "" where it does not tell.

    `original` is the address that was archived, which may differ a little from the one asked for.
    """

    url: str
    at: datetime
    archive: str
    original: str
    status: int | None = None
    media_type: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one archive said of a URL, when it said so, and, when it did not, a few words why."""

    archive: str
    outcome: Outcome
    said_at: datetime
    mementos: tuple[Memento, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMap:
    """All mementos known of a URL, the oldest first, and the answers they come from."""

    url: str
    mementos: tuple[Memento, ...] = ()
    answers: tuple[Answer, ...] = ()

    def per_year(self, archive: str | None = None) -> dict[int, int]:
        """How many mementos there are of each year, of all archives or of one; years without any are left out."""
        chosen = (each for each in self.mementos if archive in (None, each.archive))
        return dict(sorted(Counter(each.at.year for each in chosen).items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A memento that was looked into: the page as it was archived, and what it says (None when that is no text).

    The page's URL is the one it was archived under in the end, behind archived redirects.
    """

    memento: Memento
    page: Page
    document: Document | None = None


def merged(url: str, answers: Iterable[Answer]) -> TimeMap:
    """One time map out of answers; what an aggregator and an archive both list is listed once.

    Of two listings of the same memento the one that knows its status counts.
    """
    kept = tuple(answers)
    found: dict[str, Memento] = {}
    for memento in (each for answer in kept for each in answer.mementos):
        known = found.get(memento.url)
        if known is None or (known.status is None and memento.status is not None):
            found[memento.url] = memento
    mementos = sorted(found.values(), key=lambda each: (each.at, each.archive, each.url))
    return TimeMap(url=url, mementos=tuple(mementos), answers=kept)
