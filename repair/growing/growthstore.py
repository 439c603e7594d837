"""What nights tried and brought, in the file of topics: committed step by step, so that `kill -9` loses nothing.

An address is claimed before it is requested. One that a killed process left is due again at once.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from repair.crawling.topicdatabase import TopicDatabase
from repair.growing.nightplan import TriedAddress
from repair.growing.schedule import next_try_s
from repair.growing.wants import Want

_MAX_NOTE = 300
_KEPT_NIGHTS = 400
_MAX_WANTED = 50_000


class WantState(StrEnum):
    """What became of a missed address. `known` ones were not looked for yet."""

    KNOWN = "known"
    FETCHING = "fetching"
    BACK = "back"
    ARCHIVED = "archived"
    RELATED = "related"
    ABSENT = "absent"
    REFUSED = "refused"


class BroughtBy(StrEnum):
    """How a night brought a page: it was back, an archive had it, a source page links to it, or a crawl found it."""

    BACK = "back"
    ARCHIVED = "archived"
    RELATED = "related"
    CRAWLED = "crawled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What one step of a night brought; of a crawl, `url` is the topic, and `pages` may be many."""

    url: str
    how: BroughtBy
    topic: str
    wanted: str
    pages: int
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night, by how pages came; `ended_at` is None while it goes on, or when it was cut off."""

    id: int
    started_at: float
    ended_at: float | None
    stopped: str
    pages: Mapping[BroughtBy, int]
    received: int


class GrowthStore:
    """Wanted addresses and nights. For any thread."""

    def __init__(self, database: TopicDatabase, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def recover(self) -> None:
        """Make due again what a killed process left. Only for the process that holds the lock."""
        with self._database.write() as connection:
            connection.execute("UPDATE wanted SET state = 'known', next_try = 0 WHERE state = 'fetching'")
            connection.execute(
                "UPDATE nights SET ended_at = ?, stopped = 'interrupted' WHERE ended_at IS NULL",
                (self._clock(),),
            )

    def note_wants(self, wants: Iterable[Want]) -> None:
        """Remember which topic each missed address belongs to."""
        now = self._clock()
        rows = [
            (miss.url, want.topic.name if want.topic else "", now)
            for want in wants
            for miss in want.misses
            if miss.url
        ]
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO wanted VALUES (?1, ?2, 'known', 0, 0, '', ?3, NULL)"
                " ON CONFLICT DO UPDATE SET topic = ?2",
                rows,
            )
            connection.execute(
                "DELETE FROM wanted WHERE url IN (SELECT url FROM wanted ORDER BY changed_at DESC"
                " LIMIT -1 OFFSET ?)",
                (_MAX_WANTED,),
            )

    def tried(self) -> dict[str, TriedAddress]:
        """The addresses that were looked for before."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT url, tries, next_try FROM wanted WHERE tries > 0").fetchall()
        return {url: TriedAddress(tries=tries, next_try=next_try) for url, tries, next_try in rows}

    def claim(self, url: str) -> None:
        """Start to look for an address."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE wanted SET state = 'fetching', tries = tries + 1, changed_at = ? WHERE url = ?",
                (self._clock(), url),
            )

    def finish(self, url: str, state: WantState, *, note: str = "") -> None:
        """Record what became of an address, and when to look for it again."""
        now = self._clock()
        with self._database.write() as connection:
            row = connection.execute("SELECT tries FROM wanted WHERE url = ?", (url,)).fetchone()
            wait_s = next_try_s(int(row[0])) if row else 0.0
            helped = state in (WantState.BACK, WantState.ARCHIVED, WantState.RELATED)
            connection.execute(
                "UPDATE wanted SET state = ?, note = ?, next_try = ?, changed_at = ?,"
                " grown_at = iif(?, coalesce(grown_at, ?), grown_at) WHERE url = ?",
                (state, note[:_MAX_NOTE], now + wait_s, now, helped, now, url),
            )

    def release(self, url: str) -> None:
        """Take a claim back: the try does not count."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE wanted SET state = 'known', tries = max(0, tries - 1), next_try = 0 WHERE url = ?",
                (url,),
            )

    def begin_night(self) -> int:
        """Start a night; returns its number. The oldest are forgotten."""
        with self._database.write() as connection:
            number = connection.execute(
                "INSERT INTO nights (started_at, stopped) VALUES (?, '')", (self._clock(),)
            ).lastrowid
            for table, column in (("brought", "night"), ("nights", "id")):
                connection.execute(
                    f"DELETE FROM {table} WHERE {column} <= ?",  # noqa: S608  (constants)
                    ((number or 0) - _KEPT_NIGHTS,),
                )
        return int(number or 0)

    def note_brought(self, night: int, found: Brought) -> None:
        """Record what a step brought."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO brought VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
                " pages = pages + excluded.pages, received = received + excluded.received",
                (night, found.url, found.how, found.topic, found.wanted, found.pages, found.received),
            )

    def end_night(self, night: int, stopped: str) -> None:
        """End a night, with the reason."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE nights SET ended_at = ?, stopped = ? WHERE id = ?",
                (self._clock(), stopped[:_MAX_NOTE], night),
            )

    def nights(self, limit: int = 30) -> tuple[Night, ...]:
        """The latest nights first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, started_at, ended_at, stopped FROM nights ORDER BY id DESC LIMIT ?", (limit,)
            ).fetchall()
            sums = connection.execute(
                "SELECT night, how, sum(pages), sum(received) FROM brought GROUP BY night, how"
            ).fetchall()
        return tuple(
            Night(
                id=number,
                started_at=started_at,
                ended_at=ended_at,
                stopped=stopped,
                pages={BroughtBy(how): pages for night, how, pages, _ in sums if night == number},
                received=sum(received for night, _, _, received in sums if night == number),
            )
            for number, started_at, ended_at, stopped in rows
        )

    def brought(self, night: int, limit: int = 200) -> tuple[Brought, ...]:
        """What a night brought."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url, how, topic, wanted, pages, received FROM brought WHERE night = ? AND pages > 0"
                " ORDER BY how, url LIMIT ?",
                (night, limit),
            ).fetchall()
        return tuple(
            Brought(url=url, how=BroughtBy(how), topic=topic, wanted=wanted, pages=pages, received=received)
            for url, how, topic, wanted, pages, received in rows
        )

    def topics(self) -> dict[str, str]:
        """The topic of each missed address, "" for none."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT url, topic FROM wanted").fetchall())

    def grown(self) -> dict[str, float]:
        """The missed addresses for which a night brought something, and when it first did."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT url, grown_at FROM wanted WHERE grown_at IS NOT NULL"
            ).fetchall()
        return dict(rows)
