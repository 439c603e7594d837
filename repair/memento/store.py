"""What archives said and the pages that were looked into, kept for the next reader and for times without a line.

A good answer is kept for long, "nothing" for a while, anything else not at all. What is oldest goes when it grows
too large, or older than it may be. Beside it stands how often which archive knew something of which host: the order
in which to ask.
Every method blocks for a moment; the client calls them in a thread of its own.
"""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from repair.memento.database import Notebook
from repair.memento.model import Answer, Memento, Outcome
from repair.model import Page

T = TypeVar("T")

_PRUNE_EVERY = 50  # writes
_PRUNE_SHARE = 1 / 16  # of the room
_MAX_HOSTS = 50_000
_MAX_UNPACKED = 64 * 1024**2


class Seen(msgspec.Struct, kw_only=True, frozen=True):
    """What a memento led to: the page, when it was archived, and archived redirects on the way (old, new)."""

    page: Page
    moves: tuple[tuple[str, str], ...] = ()


class Remembered:
    """Answers and pages, no more than `max_bytes` of them, none older than `keep_s`, and the profile of hosts."""

    def __init__(
        self,
        notebook: Notebook,
        *,
        max_bytes: int,
        clock: Callable[[], float],
        keep_s: float = float("inf"),
    ) -> None:
        self._notebook = notebook
        self._max_bytes = max_bytes
        self._clock = clock
        self._keep_s = keep_s
        self._writes = self._written = 0

    def answers(self, url: str, *, stale: bool = False) -> tuple[Answer, ...]:
        """What archives said of a URL; with `stale` also what should by now be asked again."""
        rows = self._notebook.read(
            "SELECT archive, outcome, said_at, body FROM answers WHERE url = ? AND (? OR expires_at > ?)",
            *(url, stale, self._clock()),
        )
        return tuple(
            Answer(
                archive=archive,
                outcome=Outcome(outcome),
                said_at=datetime.fromtimestamp(said_at, UTC),
                mementos=mementos,
            )
            for archive, outcome, said_at, body in rows
            if (mementos := _unpacked(body, tuple[Memento, ...])) is not None
        )

    def keep_answer(self, url: str, host: str, answer: Answer, *, for_s: float) -> None:
        """Remember an answer, and in the profile of the host whether the archive knew anything."""
        now = self._clock()
        row = (url, answer.archive, answer.outcome.value, answer.said_at.timestamp(), now + for_s)
        body = _packed(answer.mementos)
        with self._notebook.write() as connection:
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (*row, body))
            connection.execute(
                "INSERT INTO hosts VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET asked = asked + 1,"
                " answered = answered + excluded.answered, at = excluded.at",
                (host, answer.archive, answer.outcome is Outcome.ANSWERED, now),
            )
        self._prune(len(body))

    def page(self, memento_url: str) -> Seen | None:
        """What a memento led to when it was looked into."""
        rows = self._notebook.read("SELECT body FROM pages WHERE memento = ?", memento_url)
        return _unpacked(rows[0][0], Seen) if rows else None

    def keep_page(self, memento_url: str, seen: Seen) -> None:
        """Remember what a memento led to; what was archived never changes."""
        body = _packed(seen)
        with self._notebook.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", (memento_url, self._clock(), body)
            )
        self._prune(len(body))

    def forget(self, url: str) -> None:
        """Forget what archives said of a URL, and the archived pages of it."""
        mementos = [memento.url for answer in self.answers(url, stale=True) for memento in answer.mementos]
        with self._notebook.write() as connection:
            connection.execute("DELETE FROM answers WHERE url = ?", (url,))
            connection.executemany("DELETE FROM pages WHERE memento = ?", [(each,) for each in mementos])
        self._notebook.read("PRAGMA wal_checkpoint(TRUNCATE)")  # or it would linger in the write-ahead log

    def forget_old(self) -> None:
        """Forget what is older than it may be."""
        oldest = self._clock() - self._keep_s
        with self._notebook.write() as connection:
            connection.execute("DELETE FROM answers WHERE said_at < ?", (oldest,))
            connection.execute("DELETE FROM pages WHERE read_at < ?", (oldest,))
            connection.execute("DELETE FROM hosts WHERE at < ?", (oldest,))

    def profile(self, host: str) -> dict[str, float]:
        """How likely each archive knows something of a host, between 0 and 1; those never asked are left out.

        Where little is known of the host, what the archive knew of all hosts speaks for it.
        """
        shares: dict[str, float] = {}
        for archive, asked, answered in self._notebook.read(
            "SELECT archive, sum(asked), sum(answered) FROM hosts GROUP BY archive"
        ):
            shares[archive] = (answered + 1.0) / (asked + 2.0)
        for archive, asked, answered in self._notebook.read(
            "SELECT archive, asked, answered FROM hosts WHERE host = ?", host
        ):
            shares[archive] = (answered + 2.0 * shares[archive]) / (asked + 2.0)
        return shares

    def _prune(self, written: int) -> None:
        """Now and then drop what is oldest, until answers and pages take half of the room each."""
        self._writes += 1
        self._written += written
        if self._writes % _PRUNE_EVERY != 1 and self._written < self._max_bytes * _PRUNE_SHARE:
            return
        self._written = 0
        self.forget_old()
        with self._notebook.write() as connection:
            for table, age in (("answers", "said_at"), ("pages", "read_at")):
                connection.execute(
                    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM (SELECT rowid,"  # noqa: S608
                    f" sum(length(body)) OVER (ORDER BY {age} DESC, rowid DESC) AS total FROM {table})"
                    " WHERE total > ?)",
                    (self._max_bytes // 2,),
                )
            connection.execute(
                "DELETE FROM hosts WHERE (host, archive) IN"
                " (SELECT host, archive FROM hosts ORDER BY at DESC LIMIT -1 OFFSET ?)",
                (_MAX_HOSTS,),
            )


def _packed(value: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 1)


def _unpacked(body: bytes, kind: type[T]) -> T | None:
    """None when it was written by another version of linkmend, or is damaged: then it is asked for again."""
    try:
        return msgspec.msgpack.decode(zlib.decompressobj().decompress(body, _MAX_UNPACKED), type=kind)
    except (zlib.error, msgspec.DecodeError):
        return None
