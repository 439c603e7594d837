"""The types of Memento: mementos, the TimeMap of a URL, and the answer of each archive."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from repair.model import Document, Page


class ArchiveOutcome(StrEnum):
    """How the question to one archive ended."""

    ANSWERED = "answered"
    NOTHING = "nothing"
    LATE = "late"
    BROKEN = "broken"
    LIMITED = "limited"

    @property
    def words(self) -> str:
        """The outcome in words that people read, in logs and on the terminal."""
        return _IN_WORDS[self]


_IN_WORDS = {
    ArchiveOutcome.ANSWERED: "answered",
    ArchiveOutcome.NOTHING: "no versions",
    ArchiveOutcome.LATE: "request timed out",
    ArchiveOutcome.BROKEN: "request failed",
    ArchiveOutcome.LIMITED: "rate limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Memento:
    """An archived page. `status` is None and `media_type` and `digest` are "" where the archive does not give them.

    `original` is the address that was archived, which may differ slightly from the one asked for.
    """

    url: str
    at: datetime
    archive: str
    original: str
    status: int | None = None
    media_type: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveAnswer:
    """The answer of one archive for a URL, and when it came; `note` says why there are no mementos."""

    archive: str
    outcome: ArchiveOutcome
    said_at: datetime
    mementos: tuple[Memento, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMap:
    """All known mementos of a URL, oldest first, and the answers they come from."""

    url: str
    mementos: tuple[Memento, ...] = ()
    answers: tuple[ArchiveAnswer, ...] = ()

    def per_year(self, archive: str | None = None) -> dict[int, int]:
        """Mementos per year, of all archives or of one; years without any are left out."""
        chosen = (each for each in self.mementos if archive in (None, each.archive))
        return dict(sorted(Counter(each.at.year for each in chosen).items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class MementoCopy:
    """A fetched memento: the archived page, and its parsed document (None when it has no text).

    The page's URL is its original address after archived redirects.
    """

    memento: Memento
    page: Page
    document: Document | None = None


def merge_answers(url: str, answers: Iterable[ArchiveAnswer]) -> TimeMap:
    """One TimeMap from several answers; a memento that two archives list appears once.

    Of two entries for the same memento, the one with a status counts.
    """
    kept = tuple(answers)
    found: dict[str, Memento] = {}
    for memento in (each for answer in kept for each in answer.mementos):
        known = found.get(memento.url)
        if known is None or (known.status is None and memento.status is not None):
            found[memento.url] = memento
    mementos = sorted(found.values(), key=lambda each: (each.at, each.archive, each.url))
    return TimeMap(url=url, mementos=tuple(mementos), answers=kept)
