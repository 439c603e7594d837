"""The frontier of each topic in SQLite: claimed before a request, recorded after it with all links found, in one
transaction each. So a killed crawl goes on where it was.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import (
    ClaimedLinks,
    CrawlCounts,
    FrontierNews,
    LinkState,
    VisitedLink,
    link_of_row,
)
from repair.crawling.topicdatabase import TopicDatabase
from repair.text import urls

_LINK = "url, depth, anchor, context, parents, good_parents, best, total, nav, worth"
_MAX_NOTE = 300


class CrawlStore:
    """The frontier of one topic, for a machine that crawls alone (`FrontierStore`)."""

    def __init__(self, database: TopicDatabase, topic: str, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._topic = topic
        self._clock = clock

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is recorded in the block, of topics too, is committed at its end, all or nothing."""
        with self._database.write():
            yield

    def recover(self, *, max_tries: int) -> int:
        """Make links due again that were being fetched when a process died; returns how many.

        Only for the process that holds the lock. A page that ended the process `max_tries` times is given up.
        """
        with self._database.write() as connection:
            connection.execute(
                "UPDATE frontier SET state = 'failed', note = 'never came to an end' WHERE topic = ?"
                " AND state = 'fetching' AND tries >= ?",
                (self._topic, max_tries),
            )
            return connection.execute(
                "UPDATE frontier SET state = 'waiting' WHERE topic = ? AND state = 'fetching'", (self._topic,)
            ).rowcount

    def put(self, links: Iterable[FrontierLink]) -> None:
        """Record new links, and what is newly known of waiting ones."""
        with self._database.write() as connection:
            connection.executemany(
                f"INSERT INTO frontier (topic, state, changed_at, {_LINK})"  # noqa: S608  (constants)
                " VALUES (?1, 'waiting', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO UPDATE SET"
                " anchor = ?5, context = ?6, parents = ?7, good_parents = ?8, best = ?9, total = ?10, nav = ?11,"
                " worth = ?12 WHERE state = 'waiting'",
                [(self._topic, self._clock(), *_values(link)) for link in links],
            )

    def claim(self, links: Sequence[FrontierLink]) -> ClaimedLinks:
        """Start links; alone, all of them may be fetched."""
        with self._database.write() as connection:
            return ClaimedLinks(
                tries={
                    url: tries
                    for link in links
                    for url, tries in connection.execute(
                        "UPDATE frontier SET state = 'fetching', tries = tries + 1, changed_at = ?"
                        " WHERE topic = ? AND url = ? RETURNING url, tries",
                        (self._clock(), self._topic, link.url),
                    ).fetchall()
                }
            )

    def news(self) -> FrontierNews:
        """Nothing: nobody else crawls."""
        return FrontierNews()

    def finish(self, visited: VisitedLink, found: Sequence[FrontierLink] = ()) -> None:
        """Record what became of a link, together with the links on its page."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE frontier SET state = ?, probability = ?, fingerprint = ?, received = received + ?, note = ?,"
                " final_url = ?, changed_at = ? WHERE topic = ? AND url = ?",
                (
                    visited.state,
                    visited.probability,
                    None if visited.fingerprint is None else f"{visited.fingerprint:x}",
                    visited.received,
                    visited.note[:_MAX_NOTE],
                    visited.final_url,
                    self._clock(),
                    self._topic,
                    visited.link.url,
                ),
            )
            self.put(found)

    def postpone(self, url: str, *, until: float, note: str, counted: bool = True) -> None:
        """Try again later; a try that is not `counted` is taken back."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE frontier SET state = 'waiting', next_try = ?, note = ?, tries = max(0, tries - ?)"
                " WHERE topic = ? AND url = ?",
                (until, note[:_MAX_NOTE], 0 if counted else 1, self._topic, url),
            )

    def set_aside(self, addresses: Sequence[str], note: str) -> None:
        """Keep the crawl from addresses that it has not visited."""
        links = [FrontierLink(url=url, host=urls.parse(url).authority) for url in addresses]
        with self._database.write() as connection:
            self.put(links)
            connection.executemany(
                "UPDATE frontier SET state = 'failed', note = ? WHERE topic = ? AND url = ? AND state = 'waiting'",
                [(note[:_MAX_NOTE], self._topic, url) for url in addresses],
            )

    def drop(self, addresses: Sequence[str]) -> None:
        """Forget links that are not worth keeping."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM frontier WHERE topic = ? AND url = ? AND state = 'waiting'",
                [(self._topic, url) for url in addresses],
            )

    def waiting(self) -> tuple[tuple[FrontierLink, float], ...]:
        """The links that wait, and when each is due."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT next_try, {_LINK} FROM frontier WHERE topic = ? AND state = 'waiting'",  # noqa: S608
                (self._topic,),
            ).fetchall()
        return tuple((link_of_row(row[1:]), row[0]) for row in rows)

    def best_waiting(self, limit: int) -> tuple[FrontierLink, ...]:
        """The links that wait and are worth most."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT {_LINK} FROM frontier WHERE topic = ? AND state = 'waiting'"  # noqa: S608  (constants)
                " ORDER BY worth DESC, url LIMIT ?",
                (self._topic, limit),
            ).fetchall()
        return tuple(map(link_of_row, rows))

    def went_on_at(self) -> float:
        """When a link was claimed or came to an end last; 0 when none was. Between two requests none is claimed."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT max(changed_at) FROM frontier WHERE topic = ? AND state != 'waiting'", (self._topic,)
            ).fetchone()
        return float(row[0] or 0.0)

    def visited(self) -> tuple[VisitedLink, ...]:
        """The links that came to an end, in that order."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT state, probability, fingerprint, received, note, final_url,"  # noqa: S608  (constants)
                f" {_LINK} FROM frontier WHERE topic = ?"
                " AND state IN ('fetched', 'held', 'failed', 'refused') ORDER BY changed_at",
                (self._topic,),
            ).fetchall()
        return tuple(
            VisitedLink(
                link=link_of_row(row[6:]),
                state=LinkState(row[0]),
                probability=row[1],
                fingerprint=None if row[2] is None else int(row[2], 16),
                received=row[3],
                note=row[4],
                final_url=row[5],
            )
            for row in rows
        )

    def counts(self) -> CrawlCounts:
        """How far the crawl is."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT state, count(*), sum(received) FROM frontier WHERE topic = ? GROUP BY state",
                (self._topic,),
            ).fetchall()
        found = {state: count for state, count, _ in rows}
        return CrawlCounts(
            states={state: int(found.get(state, 0)) for state in LinkState},
            received=sum(received for _, _, received in rows),
        )


def _values(link: FrontierLink) -> tuple[object, ...]:
    return (
        *(link.url, link.depth, link.anchor, link.context, link.parents, link.good_parents),
        *(link.best, link.total, link.nav, link.worth),
    )
