"""Users' choices: what earlier users, of this school or of others, chose instead of a URL that was missing.

A choice is a click on a repair page. It counts once per network and day, however many addresses, windows or clicks
there are: anybody can have many of those, and an IPv6 device has any number of addresses. Networks come as codes
that change every day, and are deleted with the day. What stays is a count per page, and nothing about the users.

Choices are opinions that anybody can have. They order pages that the text supports equally, and no more: they find
no page, raise no confidence and teach nothing. A choice loses half its weight with every half year.
"""

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.collection.database import Database
from repair.text import urls

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS choices (url TEXT NOT NULL, chosen TEXT NOT NULL, school TEXT NOT NULL,"
    " times INTEGER NOT NULL, refused INTEGER NOT NULL, last_at REAL NOT NULL,"
    " PRIMARY KEY (url, chosen, school)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS votes (day TEXT NOT NULL, network TEXT NOT NULL, url TEXT NOT NULL,"
    " chosen TEXT NOT NULL, PRIMARY KEY (day, network, url)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS votes_url ON votes (url, chosen)",
)
_NETWORKS = "ALTER TABLE choices ADD COLUMN networks INTEGER NOT NULL DEFAULT 0"
_HALF_LIFE_S = 183 * 86_400.0
_OTHER_SCHOOL_WEIGHT = 0.5  # weight of a choice at another school
_PSEUDO_CHOICES = 1.0  # pseudo-count of other choices: one click is not yet an answer
_LIMIT = 5
_MAX_TIMES = 1_000_000
_LEAST_NETWORKS = 3  # on one day; one device at home has two, IPv4 and IPv6
_VOTES_OF_NETWORK = 300  # a day; a class that works through one list of dead links stays below
_VOTES = 50_000  # a day, of all networks
_MAX_CHOICES = 200_000
_NAME_KEY = "school"
_ADD = (
    "INSERT INTO choices VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url, chosen, school) DO UPDATE SET"
    " times = min(times + excluded.times, 1000000), refused = min(refused + excluded.refused, 1000000),"
    " last_at = max(last_at, excluded.last_at), networks = max(networks, excluded.networks)"
)
_REPLACE = (
    "INSERT INTO choices VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url, chosen, school) DO UPDATE SET"
    " times = excluded.times, refused = excluded.refused, last_at = excluded.last_at"
    " WHERE excluded.last_at >= last_at"
)
_SELECT = "SELECT url, chosen, school, times, refused, last_at, networks FROM choices "
_BOUND = (
    "DELETE FROM choices WHERE (url, chosen, school) IN (SELECT url, chosen, school FROM choices"
    " ORDER BY school = '', last_at LIMIT max(0, (SELECT count(*) FROM choices) - ?))"
)

Row = tuple[str, str, str, int, int, float, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen for a URL; `school` is "" for our own.

    `times` counts each network once a day; `networks` is the number of networks on the busiest day, 0 for what
    other schools report.
    """

    url: str
    chosen: str
    at: datetime
    school: str = ""
    times: int = 1
    refused: int = 0
    networks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferredPage:
    """A page chosen before; `share` is its part of the users' weight: below 1, and larger with more users."""

    url: str
    share: float


class ChoiceStore:
    """Choices in the collection's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)
            if "networks" not in {row[1] for row in connection.execute("PRAGMA table_info(choices)")}:
                connection.execute(_NETWORKS)

    def vote(
        self, url: str, chosen: str, *, network: str, at: datetime, instead_of: str | None = None
    ) -> bool:
        """Count a user's click; returns whether it counted.

        A network has one vote per URL and day. The user can move it from `instead_of`, a page they came back from.
        """
        if not network or not (urls.is_web_url(url) and urls.is_web_url(chosen)):
            return False
        url, chosen, day = urls.normal(url), urls.normal(chosen), at.astimezone(UTC).date().isoformat()
        if url == chosen:
            return False
        with self._database.write() as connection:
            if connection.execute("DELETE FROM votes WHERE day != ?", (day,)).rowcount:
                connection.execute(_BOUND, (_MAX_CHOICES,))
            key = (day, network, url)
            row = connection.execute(
                "SELECT chosen FROM votes WHERE day = ? AND network = ? AND url = ?", key
            ).fetchone()
            if row is not None:
                left = urls.normal(instead_of) if instead_of and urls.is_web_url(instead_of) else None
                if row[0] != left or left == chosen:
                    return False
                connection.execute(
                    "UPDATE choices SET times = max(0, times - 1) WHERE url = ? AND chosen = ? AND school = ''",
                    (url, left),
                )
            elif _has_used_votes(connection.execute, day, network):
                return False
            connection.execute("INSERT OR REPLACE INTO votes VALUES (?, ?, ?, ?)", (*key, chosen))
            (networks,) = connection.execute(
                "SELECT count(*) FROM votes WHERE url = ? AND chosen = ? AND day = ?", (url, chosen, day)
            ).fetchone()
            connection.execute(_ADD, (url, chosen, "", 1, 0, at.timestamp(), networks))
        return True

    def replace_reported(self, choices: Iterable[Choice]) -> int:
        """Replace what other schools reported before; returns how many choices are new or unchanged.

        A school reports all its choices of a page at once, so that reporting twice changes nothing. When `choices`
        raises, none of them is stored.
        """
        with self._database.write() as connection:
            count = sum(connection.execute(_REPLACE, row).rowcount for row in _rows(choices))
            connection.execute(_BOUND, (_MAX_CHOICES,))
        return count

    def confirmed_choices(self, is_confirmed: Callable[[str, str], bool]) -> Iterator[Choice]:
        """What our own users chose and an admin confirmed, less what they rejected as often; by URL.

        `is_confirmed` gets the missing URL and the chosen page.
        """
        with self._database.read() as connection:
            rows = connection.execute(_SELECT + "WHERE school = '' AND times > refused ORDER BY url, chosen")
            for choice in map(_choice, rows):
                if is_confirmed(choice.url, choice.chosen):
                    yield choice

    def of(self, url: str, limit: int = 20) -> tuple[Choice, ...]:
        """What was chosen for a URL, here and elsewhere, the choices of most networks first."""
        if not urls.is_web_url(url):
            return ()
        with self._database.read() as connection:
            rows = connection.execute(
                _SELECT + "WHERE url = ? ORDER BY networks DESC, times DESC, chosen, school LIMIT ?",
                (urls.normal(url), limit),
            )
            return tuple(map(_choice, rows))

    def latest(self, limit: int) -> tuple[Choice, ...]:
        """The latest choices, here and elsewhere, the latest first."""
        with self._database.read() as connection:
            rows = connection.execute(_SELECT + "ORDER BY last_at DESC, url, chosen LIMIT ?", (limit,))
            return tuple(map(_choice, rows))

    def school(self) -> str:
        """A random name for this school, unique and stable; it reveals nothing about the school."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO meta VALUES (?, ?)", (_NAME_KEY, f"school-{secrets.token_hex(8)}")
            )
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_NAME_KEY,)).fetchone()
        return str(row[0])

    def favourites(self, url: str, *, now: datetime) -> tuple[PreferredPage, ...]:
        """Pages chosen for a URL by several networks or at other schools, the most chosen first.

        Pages rejected as often as chosen are left out.
        """
        if not urls.is_web_url(url):
            return ()
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT chosen, school, times - refused, last_at FROM choices"
                " WHERE url = ? AND (school != '' OR networks >= ?)",
                (urls.normal(url), _LEAST_NETWORKS),
            ).fetchall()
        weights: dict[str, float] = {}
        for chosen, school, times, last_at in rows:
            age = max(0.0, now.timestamp() - last_at)
            weight = times * 0.5 ** (age / _HALF_LIFE_S) * (_OTHER_SCHOOL_WEIGHT if school else 1.0)
            weights[chosen] = weights.get(chosen, 0.0) + weight
        total = sum(weight for weight in weights.values() if weight > 0) + _PSEUDO_CHOICES
        liked = [
            PreferredPage(url=page, share=weight / total) for page, weight in weights.items() if weight > 0
        ]
        return tuple(sorted(liked, key=lambda each: (-each.share, each.url))[:_LIMIT])

    def forget(self, url: str) -> None:
        """Forget what was chosen for a URL, and where it was itself chosen."""
        with self._database.write() as connection:
            for table in ("choices", "votes"):
                connection.execute(f"DELETE FROM {table} WHERE url = ?1 OR chosen = ?1", (url,))  # noqa: S608

    def forget_choice(self, url: str, chosen: str) -> int:
        """Forget that a page was chosen for a URL, here and elsewhere; returns how many choices were deleted.

        Today's votes stay, without the page, so that the same networks cannot vote for the URL again today.
        """
        if not (urls.is_web_url(url) and urls.is_web_url(chosen)):
            return 0
        key = (urls.normal(url), urls.normal(chosen))
        with self._database.write() as connection:
            connection.execute("UPDATE votes SET chosen = '' WHERE url = ? AND chosen = ?", key)
            return connection.execute("DELETE FROM choices WHERE url = ? AND chosen = ?", key).rowcount

    def forget_school(self, school: str) -> int:
        """Forget all choices of another school; returns how many there were."""
        with self._database.write() as connection:
            return connection.execute(
                "DELETE FROM choices WHERE school = ? AND school != ''", (school,)
            ).rowcount


def _rows(choices: Iterable[Choice]) -> Iterator[Row]:
    for choice in choices:
        if not (urls.is_web_url(choice.url) and urls.is_web_url(choice.chosen)):
            continue
        url, chosen = urls.normal(choice.url), urls.normal(choice.chosen)
        times, refused = (min(max(number, 0), _MAX_TIMES) for number in (choice.times, choice.refused))
        if url != chosen:
            yield url, chosen, choice.school, times, refused, choice.at.timestamp(), 0


def _choice(row: Row) -> Choice:
    url, chosen, school, times, refused, last_at, networks = row
    return Choice(
        url=url,
        chosen=chosen,
        school=school,
        times=times,
        refused=refused,
        at=datetime.fromtimestamp(last_at, UTC),
        networks=networks,
    )


def _has_used_votes(
    execute: Callable[[str, tuple[str, ...]], sqlite3.Cursor], day: str, network: str
) -> bool:
    """Whether a network, or all of them together, have used up a day's votes."""
    (own,) = execute("SELECT count(*) FROM votes WHERE day = ? AND network = ?", (day, network)).fetchone()
    (all_,) = execute("SELECT count(*) FROM votes WHERE day = ?", (day,)).fetchone()
    return bool(own >= _VOTES_OF_NETWORK or all_ >= _VOTES)
