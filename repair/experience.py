"""Shared experience: what earlier readers, of this school or of others, chose instead of a URL that was missing.

Only the addresses and how often each was chosen are kept, per school: nobody who chose. A choice counts half as much
for every half year that has passed since the last time; a page refused ("this is not it") counts against itself.
"""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from repair import urls, words
from repair.database import Database
from repair.model import BrokenLink, Evidence, HeldPage

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS choices (url TEXT NOT NULL, chosen TEXT NOT NULL, school TEXT NOT NULL,"
    " times INTEGER NOT NULL, refused INTEGER NOT NULL, last_at REAL NOT NULL,"
    " PRIMARY KEY (url, chosen, school)) WITHOUT ROWID"
)
_HALF_LIFE_S = 183 * 86_400.0
_ELSEWHERE = 0.5  # what a choice at another school counts
_DOUBT = 1.0  # choices, as if nobody had chosen anything so often: one click is not yet an answer
_LIMIT = 5
_MAX_TIMES = 1_000_000
_CONFIRMED = 2  # choices of our own readers that make a repair worth telling others
_NAME_KEY = "school"
_ADD = (
    "INSERT INTO choices VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (url, chosen, school) DO UPDATE SET"
    " times = times + excluded.times, refused = refused + excluded.refused,"
    " last_at = max(last_at, excluded.last_at)"
)
_REPLACE = (
    "INSERT INTO choices VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (url, chosen, school) DO UPDATE SET"
    " times = excluded.times, refused = excluded.refused, last_at = excluded.last_at"
    " WHERE excluded.last_at >= last_at"
)
_SELECT = "SELECT url, chosen, school, times, refused, last_at FROM choices "

Row = tuple[str, str, str, int, int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen for a URL; `school` is "" for our own."""

    url: str
    chosen: str
    at: datetime
    school: str = ""
    times: int = 1
    refused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourite:
    """A page chosen before; `share` is how much of the readers' weight it has, below 1, more with more of them."""

    url: str
    share: float


class Experience(Protocol):
    """Who knows what readers chose."""

    def favourites(self, url: str, *, now: datetime) -> tuple[Favourite, ...]:
        """Pages chosen for a URL, the most chosen first."""


class ChoiceStore:
    """Choices in the collection's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(_SCHEMA)

    def note(self, choices: Iterable[Choice]) -> int:
        """Add to what is known; how many were between two different web addresses."""
        with self._database.write() as connection:
            return sum(connection.execute(_ADD, row).rowcount for row in _rows(choices))

    def take_over(self, choices: Iterable[Choice]) -> int:
        """Put what schools say now in the place of what they said before; how many were news, or as new as before.

        Schools tell all their choices of a page at once, so that telling them twice changes nothing. When `choices`
        raises, nothing of them is kept.
        """
        with self._database.write() as connection:
            return sum(connection.execute(_REPLACE, row).rowcount for row in _rows(choices))

    def confirmed(self) -> Iterator[Choice]:
        """What our own readers chose again, less what they refused as often; by address."""
        with self._database.read() as connection:
            rows = connection.execute(
                _SELECT + "WHERE school = '' AND times - refused >= ? ORDER BY url, chosen", (_CONFIRMED,)
            )
            yield from map(_choice, rows)

    def latest(self, limit: int) -> tuple[Choice, ...]:
        """What was chosen last, here and elsewhere, the latest first."""
        with self._database.read() as connection:
            rows = connection.execute(_SELECT + "ORDER BY last_at DESC, url, chosen LIMIT ?", (limit,))
            return tuple(map(_choice, rows))

    def school(self) -> str:
        """A name for this school that no other has and that says nothing of it; always the same."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO meta VALUES (?, ?)", (_NAME_KEY, f"school-{secrets.token_hex(8)}")
            )
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_NAME_KEY,)).fetchone()
        return str(row[0])

    def favourites(self, url: str, *, now: datetime) -> tuple[Favourite, ...]:
        """Pages chosen for a URL, the most chosen first; those refused as often as chosen are left out."""
        if not urls.is_web_url(url):
            return ()
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT chosen, school, times - refused, last_at FROM choices WHERE url = ?",
                (urls.normal(url),),
            ).fetchall()
        weights: dict[str, float] = {}
        for chosen, school, times, last_at in rows:
            age = max(0.0, now.timestamp() - last_at)
            weight = times * 0.5 ** (age / _HALF_LIFE_S) * (_ELSEWHERE if school else 1.0)
            weights[chosen] = weights.get(chosen, 0.0) + weight
        total = sum(weight for weight in weights.values() if weight > 0) + _DOUBT
        liked = [Favourite(url=page, share=weight / total) for page, weight in weights.items() if weight > 0]
        return tuple(sorted(liked, key=lambda each: (-each.share, each.url))[:_LIMIT])

    def times(self, url: str, chosen: str) -> int:
        """How often readers of our own school chose a page, less how often they refused it."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT times - refused FROM choices WHERE url = ? AND chosen = ? AND school = ''",
                (urls.normal(url), urls.normal(chosen)),
            ).fetchone()
        return int(row[0]) if row else 0

    def forget(self, url: str) -> None:
        """Forget what was chosen for an address, and that it was chosen."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM choices WHERE url = ?1 OR chosen = ?1", (url,))

    def forget_school(self, school: str) -> int:
        """Forget all that another school told; how many choices that were."""
        with self._database.write() as connection:
            return connection.execute(
                "DELETE FROM choices WHERE school = ? AND school != ''", (school,)
            ).rowcount


def _rows(choices: Iterable[Choice]) -> Iterator[Row]:
    for choice in choices:
        if not (urls.is_web_url(choice.url) and urls.is_web_url(choice.chosen)):
            continue
        url, chosen = urls.normal(choice.url), urls.normal(choice.chosen)
        times, refused = (min(max(number, 0), _MAX_TIMES) for number in (choice.times, choice.refused))
        if url != chosen:
            yield url, chosen, choice.school, times, refused, choice.at.timestamp()


def _choice(row: Row) -> Choice:
    url, chosen, school, times, refused, last_at = row
    at = datetime.fromtimestamp(last_at, UTC)
    return Choice(url=url, chosen=chosen, school=school, times=times, refused=refused, at=at)


class Pages(Protocol):
    """Who holds pages."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""


class SharedExperience:
    """A source of evidence: the titles of what was chosen before; the pages themselves are in `favourites`."""

    name = "shared"

    def __init__(self, experience: Experience, collection: Pages) -> None:
        self._experience = experience
        self._collection = collection

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of the titles, weighed by their pages' shares; None when nothing held was chosen before."""
        weights: dict[str, float] = {}
        titles: list[str] = []
        for favourite in self._experience.favourites(link.url, now=datetime.now(UTC)):
            page = self._collection.get(favourite.url)
            if page is None:
                continue
            titles.append(page.title)
            for term in words.terms(page.title, page.language):
                weights[term] = max(weights.get(term, 0.0), favourite.share)
        return Evidence(source=self.name, terms=tuple(weights.items()), text=titles[0]) if weights else None
