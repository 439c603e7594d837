"""What a school tells its district, and from which of its stores: read `TOLD` first.

Each kind is a state, not an event: "this page is pinned for that address", "this address was missed so often on these
days". So telling it twice changes nothing, and what changed ten times without a line is told once. Addresses that are
not for others stay here (`is_shareable`). No state says who: there are counts and days, and no hours.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from proxy.misses.store import DATABASE as MISSES
from repair.collection.collection import DATABASE as COLLECTION
from repair.collection.pins import same_page_key
from repair.crawling.topicdatabase import FOLDER, NAME
from repair.secrets.publicaddresses import is_shareable

Body = dict[str, Any]
State = Callable[[sqlite3.Connection, str, int], Body | None]
"""What to tell of a key now, None for nothing (any more); the number is of how few readers nothing is told."""

_MAX_CHOSEN = 10
_MAX_MISS_ROWS = 400  # of one address: each day and kind that the miss log still has
_LEAST_NETWORKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldKind:
    """One kind: rows of `table` are noted by their `key`, an SQL expression over {row}, where `when` holds."""

    kind: str
    table: str
    key: str
    state: State
    when: str = "true"
    is_shared: bool = True


def digest(kind: str, text: str) -> bytes:
    """The key of a row at the district. A tombstone has nothing else of an address."""
    return hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


def pin_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """The page that an admin of this school pinned."""
    row = connection.execute("SELECT url, target, at FROM pins WHERE key = ?", (key,)).fetchone()
    return _pair(row[0], row[1], day=_day(row[2])) if row else None


def choice_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """What readers of this school chose: pages that several networks chose on one day, or an admin pinned."""
    rows = connection.execute(
        "SELECT chosen, times, refused, last_at FROM choices WHERE url = ? AND school = '' AND times > refused"
        " AND networks >= ? ORDER BY times DESC, chosen LIMIT ?",
        (key, _LEAST_NETWORKS, _MAX_CHOSEN),
    ).fetchall()
    chosen = [
        {"url": url, "times": times, "refused": refused, "day": _day(at)}
        for url, times, refused, at in rows
        if is_shareable(url)
    ]
    return {"url": key, "chosen": chosen} if chosen and is_shareable(key) else None


def move_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """Where a page has moved."""
    row = connection.execute("SELECT old, new, origin FROM moves WHERE old = ?", (key,)).fetchone()
    return _pair(row[0], row[1], origin=row[2]) if row else None


def error_page_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """The sketch of an error page that a site sends with status 200."""
    host, _, sketch = key.rpartition(" ")
    row = connection.execute(
        "SELECT 1 FROM prints WHERE host = ? AND sketch = ?", (host, bytes.fromhex(sketch))
    ).fetchone()
    return {"host": host, "sketch": sketch} if row and is_shareable(f"http://{host}/") else None


def topic_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """A topic that the school teaches."""
    row = connection.execute(
        "SELECT name, subtopics, words, seeds, language FROM topics WHERE name = ?", (key,)
    ).fetchone()
    if row is None:
        return None
    subtopics, words, seeds = (json.loads(each) if each else [] for each in row[1:4])
    seeds = [seed for seed in seeds if is_shareable(seed)]
    return {"name": row[0], "subtopics": subtopics, "words": words, "seeds": seeds, "language": row[4]}


def want_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """A page that readers missed and nothing was found for yet."""
    row = connection.execute(
        "SELECT changed_at FROM wanted WHERE url = ? AND grown_at IS NULL", (key,)
    ).fetchone()
    return {"url": key, "day": _day(row[0])} if row and is_shareable(key) else None


def miss_state(connection: sqlite3.Connection, key: str, few: int) -> Body | None:
    """How often an address was missed, by day and kind; nothing while fewer than `few` readers did on some day.

    The code of a reader is another one each day: over several days, one reader would count as many.
    """
    if not is_shareable(key):
        return None
    (readers,) = connection.execute(
        "SELECT coalesce(max(readers), 0) FROM (SELECT count(DISTINCT client) AS readers FROM misses"
        " WHERE url = ? AND client <> '' GROUP BY date(at, 'unixepoch'))",
        (key,),
    ).fetchone()
    rows = connection.execute(
        "SELECT date(at, 'unixepoch') AS day, kind, count(*) FROM misses WHERE url = ? GROUP BY day, kind"
        " ORDER BY day DESC LIMIT ?",
        (key, _MAX_MISS_ROWS),
    ).fetchall()
    return {"url": key, "days": rows} if rows and readers >= few else None


TOLD: Mapping[str, tuple[ToldKind, ...]] = {
    f"collection/{COLLECTION}": (
        ToldKind(kind="pin", table="pins", key="{row}.key", state=pin_state),
        ToldKind(
            kind="choice", table="choices", key="{row}.url", state=choice_state, when="{row}.school = ''"
        ),
        ToldKind(kind="move", table="moves", key="{row}.old", state=move_state),
    ),
    "soft404/sites.sqlite": (
        ToldKind(
            kind="error_page",
            table="prints",
            key="{row}.host || ' ' || hex({row}.sketch)",
            state=error_page_state,
        ),
    ),
    f"{FOLDER}/{NAME}": (
        ToldKind(kind="topic", table="topics", key="{row}.name", state=topic_state),
        ToldKind(kind="want", table="wanted", key="{row}.url", state=want_state, is_shared=False),
    ),
    f"misses/{MISSES}": (
        ToldKind(kind="miss", table="misses", key="{row}.url", state=miss_state, is_shared=False),
    ),
}
"""The kinds, by the file of the data folder that has them."""

KINDS: Mapping[str, ToldKind] = {told.kind: told for kinds in TOLD.values() for told in kinds}


def _pair(url: str, target: str, **more: str) -> Body | None:
    fit = is_shareable(url) and is_shareable(target) and same_page_key(url) != same_page_key(target)
    return {"url": url, "target": target, **more} if fit else None


def _day(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).date().isoformat()
