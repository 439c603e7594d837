"""What teachers have beside lessons: a mail address, proposals for everybody, topics they began, and what pupils
looked for. In one SQLite file.

Suggestions have the day, the dead link and the words: no client, no time of day, no id of the miss.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from proxy.lessons.model import Proposal, ProposalState, PupilSuggestion
from proxy.lessons.storefile import StoreFile
from repair.collection.pins import same_page_key
from repair.text import urls

TEACHER_FILE = "teachers.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS mail (owner TEXT PRIMARY KEY, address TEXT NOT NULL, language TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, target TEXT NOT NULL, by TEXT NOT NULL, at REAL NOT NULL,
    state TEXT NOT NULL, decided_by TEXT NOT NULL, before TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS topics (
    owner TEXT NOT NULL, name TEXT NOT NULL, pages INTEGER NOT NULL, bytes INTEGER NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS suggestions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, url TEXT NOT NULL, words TEXT NOT NULL,
    day TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS suggestions_owner ON suggestions (owner, id);
"""
BUDGET_DAYS = 30
_DAY_S = 86_400.0
_MAX_PROPOSALS = 1_000
_MAX_OF_ONE = 100
_MAX_SUGGESTIONS = 2_000
_PROPOSAL = "SELECT id, url, target, by, at, state, decided_by, before FROM proposals "


class TeacherStore(StoreFile):
    """The file. Raises StoreError when the disk fails."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, _SCHEMA, clock=clock)

    # Mail

    def mail_of(self, owner: str) -> tuple[str, str]:
        """The mail address of an account and the language for it; "" for no mail."""
        with self._read() as database:
            row = database.execute("SELECT address, language FROM mail WHERE owner = ?", (owner,)).fetchone()
        return (row[0], row[1]) if row else ("", "en")

    def set_mail(self, owner: str, address: str, language: str) -> None:
        with self._write() as database:
            database.execute("DELETE FROM mail WHERE owner = ?", (owner,))
            if address:
                database.execute("INSERT INTO mail VALUES (?, ?, ?)", (owner, address, language))

    # Proposals

    def propose(self, url: str, target: str, by: str) -> Proposal | None:
        """Note a proposal; one for the same link replaces an undecided one of the same teacher. None when too many
        wait, of all or of this teacher."""
        with self._write() as database:
            database.execute(
                "DELETE FROM proposals WHERE url = ? AND by = ? AND state <> 'approved'", (url, by)
            )
            # Decided ones make room; what is approved stays a pin all the same.
            database.execute(
                "DELETE FROM proposals WHERE state <> 'waiting' AND id IN"
                " (SELECT id FROM proposals ORDER BY id DESC LIMIT -1 OFFSET ?)",
                (_MAX_PROPOSALS,),
            )
            of_all, of_one = database.execute(
                "SELECT count(*), count(CASE WHEN by = ? THEN 1 END) FROM proposals WHERE state = 'waiting'",
                (by,),
            ).fetchone()
            if of_all >= _MAX_PROPOSALS or of_one >= _MAX_OF_ONE:
                return None
            number = database.execute(
                "INSERT INTO proposals (url, target, by, at, state, decided_by, before)"
                " VALUES (?, ?, ?, ?, 'waiting', '', '')",
                (url, target, by, self._clock()),
            ).lastrowid
            return _proposal(database.execute(_PROPOSAL + "WHERE id = ?", (number,)).fetchone())

    def proposal(self, number: int) -> Proposal | None:
        with self._read() as database:
            row = database.execute(_PROPOSAL + "WHERE id = ?", (number,)).fetchone()
        return _proposal(row) if row else None

    def proposals(self, limit: int = 200) -> tuple[Proposal, ...]:
        """Those that wait, the oldest first; then those decided, the latest first."""
        with self._read() as database:
            rows = database.execute(
                _PROPOSAL
                + "ORDER BY state <> 'waiting', CASE state WHEN 'waiting' THEN id ELSE -id END LIMIT ?",
                (limit,),
            ).fetchall()
        return tuple(map(_proposal, rows))

    def waiting_proposals(self) -> int:
        with self._read() as database:
            return int(
                database.execute("SELECT count(*) FROM proposals WHERE state = 'waiting'").fetchone()[0]
            )

    def decide(
        self, number: int, state: ProposalState, *, by: str, before: str = "", only_if: ProposalState
    ) -> bool:
        """Change the state of a proposal; False when somebody else was faster."""
        with self._write() as database:
            return (
                database.execute(
                    "UPDATE proposals SET state = ?, decided_by = ?, before = ? WHERE id = ? AND state = ?",
                    (state, by, before, number, only_if),
                ).rowcount
                > 0
            )

    def drop_proposal(self, number: int) -> None:
        with self._write() as database:
            database.execute("DELETE FROM proposals WHERE id = ?", (number,))

    # Topics

    def begin_topic(self, owner: str, name: str, pages: int, size: int) -> None:
        with self._write() as database:
            database.execute(
                "INSERT INTO topics VALUES (?, ?, ?, ?, ?)", (owner, name, pages, size, self._clock())
            )

    def topics_of(self, owner: str) -> tuple[str, ...]:
        """The topics that an account began, the latest first; some may have been removed since."""
        with self._read() as database:
            rows = database.execute(
                "SELECT name, max(at) FROM topics WHERE owner = ? GROUP BY name ORDER BY max(at) DESC LIMIT 200",
                (owner,),
            ).fetchall()
        return tuple(row[0] for row in rows)

    def budgeted(self, owner: str) -> tuple[int, int]:
        """The pages and bytes that an account has claimed in the last 30 days. Removing a topic returns nothing."""
        with self._read() as database:
            row = database.execute(
                "SELECT coalesce(sum(pages), 0), coalesce(sum(bytes), 0) FROM topics WHERE owner = ? AND at > ?",
                (owner, self._clock() - BUDGET_DAYS * _DAY_S),
            ).fetchone()
        return int(row[0]), int(row[1])

    # Suggestions

    def suggest(self, owner: str, url: str, words: str) -> bool:
        """Keep what a pupil looked for, for an account, or for the reviewers when it is ""; False when too many are
        there, or these very words are."""
        with self._write() as database:
            if database.execute("SELECT count(*) FROM suggestions").fetchone()[0] >= _MAX_SUGGESTIONS:
                return False
            if database.execute(
                "SELECT 1 FROM suggestions WHERE owner = ? AND url = ? AND words = ?", (owner, url, words)
            ).fetchone():
                return True
            database.execute(
                "INSERT INTO suggestions (owner, url, words, day) VALUES (?, ?, ?, ?)",
                (owner, url, words, _day(self._clock())),
            )
            return True

    def suggestions(self, owner: str, limit: int = 200) -> tuple[PupilSuggestion, ...]:
        """What was suggested to an account, or to the reviewers for "", the latest first."""
        with self._read() as database:
            rows = database.execute(
                "SELECT id, url, words, day FROM suggestions WHERE owner = ? ORDER BY id DESC LIMIT ?",
                (owner, limit),
            ).fetchall()
        return tuple(PupilSuggestion(id=a, url=b, words=c, day=d) for a, b, c, d in rows)

    def settle(self, number: int, owner: str) -> bool:
        """Erase a suggestion of an account's; whether there was one."""
        with self._write() as database:
            return (
                database.execute(
                    "DELETE FROM suggestions WHERE id = ? AND owner = ?", (number, owner)
                ).rowcount
                > 0
            )

    def expire(self, days: int) -> None:
        """Erase suggestions older than some days, and claims on budgets that no longer count."""
        with self._write() as database:
            old = _day(self._clock() - days * _DAY_S)
            database.execute("DELETE FROM suggestions WHERE day < ?", (old,))

    def forget(self, url: str) -> int:
        """Erase everything about a page. Returns how many rows there were."""
        with self._write() as database:
            found = database.execute("SELECT id, url, target, before FROM proposals").fetchall()
            proposals = [number for number, *named in found if _names(named, url)]
            heard = database.execute("SELECT id, url FROM suggestions").fetchall()
            suggestions = [number for number, *named in heard if _names(named, url)]
            for number in proposals:
                database.execute("DELETE FROM proposals WHERE id = ?", (number,))
            for number in suggestions:
                database.execute("DELETE FROM suggestions WHERE id = ?", (number,))
        self._empty_journal()
        return len(proposals) + len(suggestions)


def _names(addresses: Iterable[str], url: str) -> bool:
    key = same_page_key(url)
    return any(urls.is_web_url(each) and same_page_key(each) == key for each in addresses)


def _proposal(row: tuple[int, str, str, str, float, str, str, str]) -> Proposal:
    number, url, target, by, at, state, decided_by, before = row
    return Proposal(
        id=number,
        url=url,
        target=target,
        by=by,
        at=at,
        state=ProposalState(state),
        decided_by=decided_by,
        before=before,
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
