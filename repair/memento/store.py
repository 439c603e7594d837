"""Stores answers of archives and fetched mementos, for the next user and for times without a connection.

A good answer is stored for long, "nothing" for a while, failures not at all. The oldest rows are deleted when the
file grows too large or they grow too old. The profile of a host counts how often each archive had something of it;
it gives the order in which to ask.
Every method blocks briefly; the client calls them in a thread of its own.
"""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from repair.memento.database import ArchiveDatabase
from repair.memento.model import ArchiveAnswer, ArchiveOutcome, Memento
from repair.model import Page

T = TypeVar("T")

_PRUNE_EVERY = 50  # writes
_PRUNE_SHARE = 1 / 16  # of the room
_MAX_HOSTS = 50_000
_MAX_UNPACKED = 64 * 1024**2


class ReplayedPage(msgspec.Struct, kw_only=True, frozen=True):
    """The page of a memento, and the archived redirects (old, new) that led to it."""

    page: Page
    moves: tuple[tuple[str, str], ...] = ()


class ArchiveStore:
    """Answers and pages, at most `max_bytes` and none older than `keep_s`, and the profiles of hosts."""

    def __init__(
        self,
        notebook: ArchiveDatabase,
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

    def answers(self, url: str, *, stale: bool = False) -> tuple[ArchiveAnswer, ...]:
        """The stored answers for a URL; with `stale` also expired ones."""
        rows = self._notebook.read(
            "SELECT archive, outcome, said_at, body FROM answers WHERE url = ? AND (? OR expires_at > ?)",
            *(url, stale, self._clock()),
        )
        return tuple(
            ArchiveAnswer(
                archive=archive,
                outcome=ArchiveOutcome(outcome),
                said_at=datetime.fromtimestamp(said_at, UTC),
                mementos=mementos,
            )
            for archive, outcome, said_at, body in rows
            if (mementos := _unpack(body, tuple[Memento, ...])) is not None
        )

    def keep_answer(self, url: str, host: str, answer: ArchiveAnswer, *, for_s: float) -> None:
        """Store an answer, and count in the host's profile whether the archive had anything."""
        now = self._clock()
        row = (url, answer.archive, answer.outcome.value, answer.said_at.timestamp(), now + for_s)
        body = _pack(answer.mementos)
        with self._notebook.write() as connection:
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (*row, body))
            connection.execute(
                "INSERT INTO hosts VALUES (?, ?, 1, ?, ?) ON CONFLICT DO UPDATE SET asked = asked + 1,"
                " answered = answered + excluded.answered, at = excluded.at",
                (host, answer.archive, answer.outcome is ArchiveOutcome.ANSWERED, now),
            )
        self._prune(len(body))

    def page(self, memento_url: str) -> ReplayedPage | None:
        """The stored page of a memento; None when there is none."""
        rows = self._notebook.read("SELECT body FROM pages WHERE memento = ?", memento_url)
        return _unpack(rows[0][0], ReplayedPage) if rows else None

    def keep_page(self, memento_url: str, seen: ReplayedPage) -> None:
        """Store the page of a memento, without expiry: archived pages never change."""
        body = _pack(seen)
        with self._notebook.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", (memento_url, self._clock(), body)
            )
        self._prune(len(body))

    def forget(self, url: str) -> None:
        """Delete the answers for a URL, and its archived pages."""
        mementos = [memento.url for answer in self.answers(url, stale=True) for memento in answer.mementos]
        with self._notebook.write() as connection:
            connection.execute("DELETE FROM answers WHERE url = ?", (url,))
            connection.executemany("DELETE FROM pages WHERE memento = ?", [(each,) for each in mementos])
        self._notebook.read(
            "PRAGMA wal_checkpoint(TRUNCATE)"
        )  # else the rows would stay in the write-ahead log

    def forget_old(self) -> None:
        """Delete rows that are older than `keep_s`."""
        oldest = self._clock() - self._keep_s
        with self._notebook.write() as connection:
            connection.execute("DELETE FROM answers WHERE said_at < ?", (oldest,))
            connection.execute("DELETE FROM pages WHERE read_at < ?", (oldest,))
            connection.execute("DELETE FROM hosts WHERE at < ?", (oldest,))

    def profile(self, host: str) -> dict[str, float]:
        """The probability that each archive has something of a host; archives never asked are left out.

        Where little is known of the host, the archive's share over all hosts counts.
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
        """From time to time, delete the oldest rows until answers and pages each take half of `max_bytes`."""
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


def _pack(value: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 1)


def _unpack(body: bytes, kind: type[T]) -> T | None:
    """Decode a stored value; None when it is damaged or from another version: then it is fetched again."""
    try:
        return msgspec.msgpack.decode(zlib.decompressobj().decompress(body, _MAX_UNPACKED), type=kind)
    except (zlib.error, msgspec.DecodeError):
        return None
