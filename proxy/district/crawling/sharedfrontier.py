"""The frontier of a topic in PostgreSQL, for many machines (`repair.crawling.frontierstore.FrontierStore`).

Each machine keeps the best links in memory, chooses among them by what it has learnt, and claims what it chose: a
link goes to one machine (`FOR UPDATE SKIP LOCKED`), and so do all links of its host while that machine is at it. What
the others found and fetched comes in as news. Whatever is recorded may be recorded twice without harm, since a
connection may break between a commit and its answer.

Only links that may leave the school are recorded: the others read them all. And only such links are taken from there:
no school has another fetch what is in that one's network, nor ends its crawl with a row that nobody can read.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

if TYPE_CHECKING:
    from proxy.district.connection import DistrictConnection
    from proxy.district.crawling.machine import CrawlMachine
    from proxy.settings import DistrictSettings

_MAX_NOTE = 300
_MAX_NEWS = 20_000
_HOSTS = 4
_SOON_S = 1.0
_MAX_TRIES = 20  # until `recover` is told
_LINK = "url, depth, anchor, context, parents, good_parents, best, total, nav, worth"
_URL_FROM_END = -(_LINK.count(",") + 1)
_FINGERPRINT = re.compile("[0-9a-f]{1,16}")
_NEXT_TRY = "least(greatest(next_try, 'epoch'), now() + interval '1 year')"  # others may write infinity
_DUE = f"greatest(0, extract(epoch FROM {_NEXT_TRY} - now()))::float8"
_XACT = "pg_current_xact_id()::text::bigint"

_PUT = f"""
INSERT INTO crawl_links AS known (topic, host, machine, {_LINK}) VALUES (
    %(topic)s, %(host)s, %(machine)s, %(url)s, %(depth)s, %(anchor)s, %(context)s, %(parents)s, %(good_parents)s,
    %(best)s, %(total)s, %(nav)s, %(worth)s
) ON CONFLICT (topic, url) DO UPDATE SET
    machine = excluded.machine, changed_in = {_XACT}, worth = excluded.worth,
    anchor = CASE WHEN excluded.parents >= known.parents THEN excluded.anchor ELSE known.anchor END,
    context = CASE WHEN excluded.best >= known.best THEN excluded.context ELSE known.context END,
    nav = known.nav AND excluded.nav,
    parents = greatest(known.parents, excluded.parents),
    good_parents = greatest(known.good_parents, excluded.good_parents),
    best = greatest(known.best, excluded.best), total = greatest(known.total, excluded.total)
WHERE known.state = 'waiting'
"""  # noqa: S608  (constants)
_KNOW_HOSTS = """
INSERT INTO crawl_hosts (host) SELECT * FROM unnest(%(hosts)s::text[]) AS host ORDER BY host ON CONFLICT DO NOTHING
"""
_LEASE_HOSTS = """
WITH free AS (
    SELECT host FROM crawl_hosts WHERE host = ANY(%(hosts)s)
        AND (machine = %(machine)s OR leased_until <= now())
        AND (turn_of IN ('', %(machine)s) OR turn_until <= now()) AND free_at <= now()
    FOR UPDATE SKIP LOCKED
)
UPDATE crawl_hosts SET machine = %(machine)s, leased_until = now() + %(lease)s * interval '1 second'
FROM free WHERE crawl_hosts.host = free.host RETURNING crawl_hosts.host
"""
_LEAVE_HOSTS = """
UPDATE crawl_hosts SET machine = '', leased_until = '-infinity' WHERE host IN (
    SELECT host FROM crawl_hosts WHERE machine = %(machine)s ORDER BY leased_until DESC, host OFFSET %(most)s
    FOR UPDATE SKIP LOCKED
)
"""
_CLAIM_LINKS = f"""
WITH due AS (
    SELECT url FROM crawl_links WHERE topic = %(topic)s AND url = ANY(%(urls)s)
        AND (state = 'waiting' AND next_try <= now() OR state = 'fetching' AND machine = %(machine)s)
    FOR UPDATE SKIP LOCKED
)
UPDATE crawl_links SET state = 'fetching', machine = %(machine)s, tries = tries + 1, changed_in = {_XACT}
FROM due WHERE topic = %(topic)s AND crawl_links.url = due.url RETURNING crawl_links.url, tries
"""  # noqa: S608  (constants)
_REST_OF_HOSTS = """
SELECT host, extract(epoch FROM least(greatest(free_at, 'epoch'), now() + interval '1 year') - now())::float8
FROM crawl_hosts
WHERE host = ANY(%(hosts)s)
"""
_DUE_LATER = f"""
SELECT url, {_DUE} FROM crawl_links WHERE topic = %(topic)s AND url = ANY(%(urls)s) AND state = 'waiting'
"""  # noqa: S608  (constants)
_FINISH = f"""
UPDATE crawl_links SET state = %(state)s, probability = %(probability)s, fingerprint = %(fingerprint)s,
    received = %(received)s, note = %(note)s, final_url = %(final_url)s, changed_in = {_XACT}
WHERE topic = %(topic)s AND url = %(url)s AND state = 'fetching' AND machine = %(machine)s
"""  # noqa: S608  (constants)
_POSTPONE = f"""
UPDATE crawl_links SET state = 'waiting', next_try = now() + %(wait)s * interval '1 second', note = %(note)s,
    tries = greatest(0, tries - %(back)s), changed_in = {_XACT}
WHERE topic = %(topic)s AND url = %(url)s AND state = 'fetching' AND machine = %(machine)s
"""  # noqa: S608  (constants)
_DROP = "DELETE FROM crawl_links WHERE topic = %(topic)s AND url = ANY(%(urls)s) AND state = 'waiting'"
_FREE = f"""
UPDATE crawl_links SET machine = '', changed_in = {_XACT},
    state = CASE WHEN tries >= %(max_tries)s THEN 'failed' ELSE 'waiting' END,
    note = CASE WHEN tries >= %(max_tries)s THEN 'never came to an end' ELSE note END
WHERE topic = %(topic)s AND state = 'fetching' AND NOT EXISTS (
    SELECT FROM crawl_machines AS other WHERE other.machine = crawl_links.machine
        AND other.machine <> %(but)s AND other.seen_at > now() - other.lease
)
"""  # noqa: S608  (constants)
_WAITING = f"""
SELECT {_DUE}, {_LINK} FROM crawl_links WHERE topic = %(topic)s AND state = 'waiting'
"""  # noqa: S608  (constants)
_VISITED = f"""
SELECT state, probability, fingerprint, received, note, final_url, {_LINK} FROM crawl_links
WHERE topic = %(topic)s AND state IN ('fetched', 'held', 'failed', 'refused') ORDER BY changed_in, url
"""  # noqa: S608  (constants)
_NEWS = f"""
SELECT changed_in, {_DUE}, state, probability, fingerprint, received, note, final_url, {_LINK} FROM crawl_links
WHERE topic = %(topic)s AND changed_in >= %(since)s AND machine <> %(machine)s ORDER BY changed_in LIMIT {_MAX_NEWS}
"""  # noqa: S608  (constants)
_UNDER_WAY = """
SELECT count(*) FROM crawl_links WHERE topic = %(topic)s AND state = 'fetching' AND machine <> %(machine)s
"""
_COUNTS = """
SELECT state, count(*), coalesce(sum(received), 0)::bigint FROM crawl_links WHERE topic = %(topic)s GROUP BY state
"""
_OLDEST_OPEN = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"

_FORGET_LINK = "DELETE FROM crawl_links WHERE url = %(url)s OR final_url = %(url)s"

Write = Callable[["DistrictConnection"], object]


def forget_link(settings: "DistrictSettings", url: str) -> int:
    """Delete an address from all frontiers of the district, and what is known of it; returns how many rows.

    Raises DistrictUnavailable.
    """
    from proxy.district.connection import connected

    with connected(settings) as connection:
        return connection.execute(_FORGET_LINK, {"url": url}).rowcount


class SharedFrontier:
    """The frontier of one topic, shared with the other machines of the district."""

    def __init__(
        self, machine: "CrawlMachine", database: TopicDatabase, topic: str, *, hosts: int = _HOSTS
    ) -> None:
        """`database` is this machine's own: what is recorded there in a block of `together` is committed first. The
        machine holds so many `hosts` at most, those that it chose last: the others are for other machines."""
        self._machine, self._database, self._topic = machine, database, topic
        self._names = {**machine.names, "topic": topic}
        self._hosts = hosts
        self._lock = threading.RLock()
        self._batch: list[Write] | None = None
        self._since = 0
        self._max_tries = _MAX_TRIES
        self._told: set[str] = set()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is recorded in the block is committed at its end, all or nothing."""
        with self._lock:
            if self._batch is not None:
                yield
                return
            batch: list[Write] = []
            self._batch = batch
            try:
                with self._database.write():
                    yield
            finally:
                self._batch = None
            self._machine.run(lambda connection: [write(connection) for write in batch])

    def recover(self, *, max_tries: int) -> int:
        """Make links due again that an earlier run of this machine, or a dead machine, was fetching."""
        self._max_tries = max_tries
        values = {**self._names, "max_tries": max_tries, "but": self._machine.name}
        return self._machine.run(lambda connection: connection.execute(_FREE, values).rowcount)

    def put(self, links: Iterable[FrontierLink]) -> None:
        """Record new links, and what is newly known of waiting ones."""
        # In one order, so that two machines which record the same links do not wait for each other for ever.
        shared = sorted((link for link in links if is_shareable(link.url)), key=lambda link: link.url)
        rows = [{**self._names, **_values(link)} for link in shared]
        if rows:
            self._write(lambda connection: connection.cursor().executemany(_PUT, rows))

    def claim(self, links: Sequence[FrontierLink]) -> ClaimedLinks:
        """Start links, as far as their hosts are free and no other machine has them."""
        values: dict[str, Any] = {**self._names, "urls": [link.url for link in links]}
        wanted = sorted({link.host for link in links})

        def claim(connection: "DistrictConnection") -> ClaimedLinks:
            connection.execute(_KNOW_HOSTS, {"hosts": wanted})
            leased = [host for (host,) in connection.execute(_LEASE_HOSTS, {**values, "hosts": wanted})]
            # By the host that each address has: a row may say another, and would be due for ever.
            free = [link.url for link in links if link.host in leased]
            tries: dict[str, int] = dict(
                connection.execute(_CLAIM_LINKS, {**values, "urls": free}).fetchall()
            )
            connection.execute(_LEAVE_HOSTS, {**values, "most": self._hosts})
            rests: dict[str, float] = dict(connection.execute(_REST_OF_HOSTS, {"hosts": wanted}).fetchall())
            later: dict[str, float] = dict(connection.execute(_DUE_LATER, values).fetchall())
            now = time.time()
            return ClaimedLinks(
                tries=tries,
                closed={host: max(_SOON_S, rests.get(host, 0.0)) for host in wanted if host not in leased},
                later={url: now + max(_SOON_S, wait_s) for url, wait_s in later.items()},
            )

        return self._machine.run(claim)

    def finish(self, visited: VisitedLink, found: Sequence[FrontierLink] = ()) -> None:
        """Record what became of a link, together with the links on its page.

        A machine that was cut off for so long that another has the link tells nothing new.
        """
        values = {
            **self._names,
            "url": visited.link.url,
            "state": visited.state.value,
            "probability": visited.probability,
            "fingerprint": None if visited.fingerprint is None else f"{visited.fingerprint:x}",
            "received": visited.received,
            "note": _plain(visited.note)[:_MAX_NOTE],
            "final_url": visited.final_url if is_shareable(visited.final_url) else "",
        }
        with self.together():
            self._write(lambda connection: connection.execute(_FINISH, values))
            self.put(found)

    def postpone(self, url: str, *, until: float, note: str, counted: bool = True) -> None:
        """Try again later; a try that is not `counted` is taken back."""
        values = {
            **self._names,
            "url": url,
            "wait": max(0.0, until - time.time()),
            "note": _plain(note)[:_MAX_NOTE],
            "back": 0 if counted else 1,
        }
        self._write(lambda connection: connection.execute(_POSTPONE, values))

    def drop(self, addresses: Sequence[str]) -> None:
        """Forget links that are not worth keeping."""
        if addresses:
            values = {**self._names, "urls": list(addresses)}
            self._write(lambda connection: connection.execute(_DROP, values))

    def waiting(self) -> tuple[tuple[FrontierLink, float], ...]:
        """The links that wait, and when each is due by this machine's clock."""
        now = time.time()
        return tuple((_link(row[1:]), _due_at(now, row[0])) for row in _fit(self._rows(_WAITING)))

    def visited(self) -> tuple[VisitedLink, ...]:
        """The links that came to an end, in that order. News are what comes after."""
        self._since = self._rows(_OLDEST_OPEN)[0][0]
        found = tuple(_visited(row) for row in _fit(self._rows(_VISITED)))
        self._told = {visited.link.url for visited in found}
        return found

    def counts(self) -> CrawlCounts:
        """How far the crawl of all machines is."""
        rows = self._rows(_COUNTS)
        found = {state: count for state, count, _ in rows}
        return CrawlCounts(
            states={state: int(found.get(state, 0)) for state in LinkState},
            received=sum(received for _, _, received in rows),
        )

    def news(self) -> FrontierNews:
        """What other machines did; links of machines that died are due again."""
        values = {**self._names, "since": self._since, "max_tries": self._max_tries, "but": ""}

        def read(connection: "DistrictConnection") -> tuple[int, int, list[Any]]:
            connection.execute(_FREE, values)
            (since,) = connection.execute(_OLDEST_OPEN).fetchone() or (0,)
            # Counted first: a page that is recorded in between counts once more, instead of its links being missed.
            (under_way,) = connection.execute(_UNDER_WAY, values).fetchone() or (0,)
            return since, under_way, connection.execute(_NEWS, values).fetchall()

        since, under_way, rows = self._machine.run(read)
        self._since = since if len(rows) < _MAX_NEWS else rows[-1][0]
        now = time.time()
        by_state: dict[str, list[Any]] = {}
        for row in _fit(rows):
            by_state.setdefault(row[2], []).append(row[1:])
        waiting = [(_link(row[7:]), _due_at(now, row[0])) for row in by_state.pop(LinkState.WAITING, ())]
        taken = [row[7] for row in by_state.pop(LinkState.FETCHING, ())]
        visited = [
            _visited(row[1:]) for rows in by_state.values() for row in rows if row[7] not in self._told
        ]
        self._told |= {each.link.url for each in visited}
        return FrontierNews(visited=visited, waiting=waiting, taken=taken, under_way=under_way)

    def _write(self, write: Write) -> None:
        with self._lock:
            if self._batch is not None:
                self._batch.append(write)
            else:
                self._machine.run(write)

    def _rows(self, query: str) -> list[Any]:
        return self._machine.run(lambda connection: connection.execute(query, self._names).fetchall())


def _due_at(now: float, wait_s: float) -> float:
    return now + wait_s if wait_s else 0.0


def _plain(text: str) -> str:
    """PostgreSQL keeps no NUL in a text, and no half of a pair of surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _values(link: FrontierLink) -> dict[str, object]:
    return {
        "url": link.url,
        "host": link.host,
        "depth": link.depth,
        "anchor": _plain(link.anchor),
        "context": _plain(link.context),
        "parents": link.parents,
        "good_parents": link.good_parents,
        "best": link.best,
        "total": link.total,
        "nav": link.nav,
        "worth": link.worth,
    }


def _fit(rows: Iterable[Any]) -> list[Any]:
    """The rows whose links, the last columns, may be fetched because another school says so."""
    return [row for row in rows if is_shareable(row[_URL_FROM_END])]


def _link(row: Sequence[Any]) -> FrontierLink:
    return link_of_row((urls.normal(row[0]), *row[1:]))


def _visited(row: Sequence[Any]) -> VisitedLink:
    state, probability, fingerprint, received, note, final_url, *link = row
    return VisitedLink(
        link=_link(link),
        state=LinkState(state),
        final_url=final_url if is_shareable(final_url) else "",
        probability=probability,
        fingerprint=int(fingerprint, 16) if fingerprint and _FINGERPRINT.fullmatch(fingerprint) else None,
        received=received,
        note=note,
    )
