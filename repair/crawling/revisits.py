"""When pages are asked for again: what changes often more often, what never does seldom.

A page is asked for a week after it was saved. From then on the time between two requests halves when the page has
changed and grows by half when it has not, from a day to three months. A page that its site deleted is kept, and asked
for once a quarter: some come back.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from repair.crawling.topicdatabase import TopicDatabase

_DAY_S = 86_400.0
FIRST_S = 7 * _DAY_S
SHORTEST_S, LONGEST_S = _DAY_S, 90 * _DAY_S
_SLOWER = 1.5


class RevisitOutcome(StrEnum):
    """What became of asking for a page again. A `moved` one is now at another address, as its site says."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MOVED = "moved"
    GONE = "gone"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisit:
    """A page that is due, and the time that lay between its last two requests."""

    url: str
    interval_s: float
    gone: bool


def next_interval_s(interval_s: float, outcome: RevisitOutcome) -> float:
    """How long to wait before the next request.

    >>> next_interval_s(10 * 86_400.0, RevisitOutcome.CHANGED) / 86_400.0
    5.0
    """
    match outcome:
        case RevisitOutcome.CHANGED:
            return max(SHORTEST_S, interval_s / 2)
        case RevisitOutcome.GONE | RevisitOutcome.MOVED:
            return LONGEST_S
        case RevisitOutcome.FAILED:
            return interval_s
    return min(LONGEST_S, interval_s * _SLOWER)


class RevisitStore:
    """The schedule of all topics' pages in the topics' database."""

    def __init__(self, database: TopicDatabase, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def due(self, topic: str, *, limit: int) -> tuple[Revisit, ...]:
        """The pages of a topic to be asked for now, the longest due first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT page_topics.url, coalesce(interval_s, ?1), coalesce(gone, 0) FROM page_topics"
                " LEFT JOIN revisits USING (url) WHERE topic = ?2 AND coalesce(due_at, judged_at + ?1) <= ?3"
                " ORDER BY coalesce(due_at, judged_at + ?1), page_topics.url LIMIT ?4",
                (FIRST_S, topic, self._clock(), limit),
            ).fetchall()
        return tuple(
            Revisit(url=url, interval_s=interval_s, gone=bool(gone)) for url, interval_s, gone in rows
        )

    def note(self, revisit: Revisit, outcome: RevisitOutcome) -> None:
        """Record what became of a page, and when it is due again. A page that came back counts as changed."""
        came_back = revisit.gone and outcome in (RevisitOutcome.CHANGED, RevisitOutcome.UNCHANGED)
        interval_s = FIRST_S if came_back else next_interval_s(revisit.interval_s, outcome)
        gone = outcome is RevisitOutcome.GONE or (revisit.gone and outcome is RevisitOutcome.FAILED)
        now = self._clock()
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO revisits (url, checked_at, interval_s, due_at, gone, changes, checks)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1) ON CONFLICT DO UPDATE SET checked_at = ?2, interval_s = ?3,"
                " due_at = ?4, gone = ?5, changes = changes + ?6, checks = checks + 1",
                (revisit.url, now, interval_s, now + interval_s, gone, outcome is RevisitOutcome.CHANGED),
            )

    def note_newer(self, changed: Iterable[tuple[str, float]]) -> None:
        """Make pages due of which their site says that they changed, if they were not asked for since."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO revisits (url, checked_at, interval_s, due_at, gone, changes, checks)"
                " SELECT url, max(judged_at), ?3, 0, 0, 0, 0 FROM page_topics WHERE url = ?1 GROUP BY url"
                " HAVING max(judged_at) < ?2 ON CONFLICT DO UPDATE SET due_at = 0 WHERE checked_at < ?2",
                [(url, changed_at, FIRST_S) for url, changed_at in changed],
            )

    def gone_count(self, topic: str) -> int:
        """How many pages of a topic their sites have deleted."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM page_topics JOIN revisits USING (url) WHERE topic = ? AND gone",
                (topic,),
            ).fetchone()
        return int(row[0])
