"""Stop anchors learnt from the collection: anchor texts of too many different pages to say anything of one.

"Specification", "details", "see also" are not in any list, but in a collection where they lead to forty different
pages they mean nothing. An anchor with many targets that is used very often is another matter: what counts is that
hardly any two uses agree.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from repair.collection.database import Database
from repair.text import words

_LEAST_TARGETS = 12
_LEAST_SPREAD = 0.4  # different targets per page that uses the words
_MAX_LEARNT = 2_000
_MAX_CHARACTERS = 60  # longer anchors say something, however many pages share them
_KEY = "stop_anchors"
_LEARNT_AT_KEY = "stop_anchors_at"
_GROWTH = 1.1
_SAMPLED_PAGES = 10_000
_SAMPLED_LINKS = 500_000


def learn(
    links: Iterable[tuple[str, str, str]],
    *,
    least_targets: int = _LEAST_TARGETS,
    least_spread: float = _LEAST_SPREAD,
) -> tuple[str, ...]:
    """Anchors that say nothing, the worst first; links are source, target and anchor text."""
    targets: dict[str, set[str]] = defaultdict(set)
    uses: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for source, target, anchor in links:
        if 0 < len(anchor) <= _MAX_CHARACTERS:
            plain = " ".join(words.tokens(anchor))
            targets[plain].add(target)
            uses[plain].add((source, target))
    found = [
        anchor
        for anchor, led in targets.items()
        if len(led) >= least_targets and len(led) >= least_spread * len(uses[anchor])
    ]
    return tuple(sorted(found, key=lambda anchor: (-len(targets[anchor]), anchor))[:_MAX_LEARNT])


class LearntStopAnchors:
    """The learnt stop anchors, in the database, for all processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def learn(self) -> tuple[str, ...]:
        """Learn from running-text links of an even sample of pages; takes a second or two at most."""
        with self._database.read() as connection:
            known = _known_addresses(connection)
            # Numbers stand for URLs, which are only compared. Sampling by page number is even.
            rows = connection.execute(
                "SELECT source, target, anchor FROM links WHERE nav = 0 AND anchor != ''"
                " AND source IN (SELECT id FROM pages ORDER BY id * 2654435761 % 4294967296 LIMIT ?) LIMIT ?",
                (_SAMPLED_PAGES, _SAMPLED_LINKS),
            )
            found = learn(rows)
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                ((_KEY, json.dumps(found)), (_LEARNT_AT_KEY, str(known))),
            )
        return found

    def load(self) -> tuple[str, ...]:
        """The learnt stop anchors; empty before `learn`."""
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
        return tuple(json.loads(row[0])) if row else ()

    def learnt_at(self) -> int:
        """How many URLs were known at the time of learning; 0 before."""
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_LEARNT_AT_KEY,)).fetchone()
        return int(row[0]) if row else 0

    def is_outgrown(self) -> bool:
        """Whether the links have grown by a tenth since learning, measured by known URLs."""
        with self._database.read() as connection:
            known = _known_addresses(connection)
        return known >= _LEAST_TARGETS and known > self.learnt_at() * _GROWTH


def _known_addresses(connection: sqlite3.Connection) -> int:
    """URLs are numbered in sequence, so the highest number replaces a count."""
    return int(connection.execute("SELECT max(id) FROM urls").fetchone()[0] or 0)
