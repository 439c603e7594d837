"""Misses summed up for growing: by address, and by the words of searches that found nothing.

Only what may be fetched without harm: public addresses without names, sessions, tokens or words that somebody typed,
missed by several readers. A reader is a client code of the log, which changes every day. Blocks: call it in a thread.
"""

from datetime import datetime

from proxy.misses.filters import IGNORED
from proxy.misses.store import MissStore
from repair.growing.wants import WantedMiss
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

_MOST = 2_000
_SOURCES = 5
_TIMEOUT_S = 60.0


def summarise_misses(
    misses: MissStore, *, since: datetime, readers: int, most: int = _MOST
) -> tuple[WantedMiss, ...]:
    """Addresses and searches missed by at least so many readers, the most missed in vain first."""
    return (
        *_addresses(misses, since.timestamp(), readers, most),
        *_searches(misses, since.timestamp(), readers, most),
    )


def _addresses(misses: MissStore, since: float, readers: int, most: int) -> list[WantedMiss]:
    rows = misses.read(
        "SELECT url, count(*) AS times, sum(chosen IS NOT NULL) AS answered, count(DISTINCT client) AS readers,"
        " max(at) AS last_at, max(query) AS query FROM misses WHERE at >= ?"
        " AND url NOT IN (SELECT url FROM marks WHERE mark = ?) GROUP BY url"
        " HAVING readers >= ? ORDER BY times - answered DESC, url LIMIT ?",
        (since, IGNORED, readers, most),
        within_s=_TIMEOUT_S,
    )
    return [
        WantedMiss(
            url=urls.normal(row["url"]),
            words=row["query"],
            times=row["times"],
            readers=row["readers"],
            answered=row["answered"],
            sources=_sources(misses, row["url"], since),
            last_at=row["last_at"],
        )
        for row in rows
        if is_shareable(row["url"])
    ]


def _sources(misses: MissStore, url: str, since: float) -> tuple[str, ...]:
    """The pages that readers came from, those that browsers named first."""
    rows = misses.read(
        "SELECT source_url FROM misses WHERE url = ? AND at >= ? AND source_url IS NOT NULL"
        " GROUP BY source_url ORDER BY min(source_guessed), count(*) DESC, source_url LIMIT ?",
        (url, since, _SOURCES),
        within_s=_TIMEOUT_S,
    )
    return tuple(row["source_url"] for row in rows)


def _searches(misses: MissStore, since: float, readers: int, most: int) -> list[WantedMiss]:
    rows = misses.read(
        "SELECT words, count(*) AS times, count(DISTINCT client) AS readers, max(at) AS last_at FROM searches"
        " WHERE at >= ? GROUP BY words HAVING readers >= ? ORDER BY times DESC, words LIMIT ?",
        (since, readers, most),
        within_s=_TIMEOUT_S,
    )
    return [
        WantedMiss(
            url="",
            words=row["words"],
            times=row["times"],
            readers=row["readers"],
            last_at=row["last_at"],
        )
        for row in rows
    ]
