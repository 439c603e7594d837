"""What other schools of the district say of missing pages: which page to read instead. In the collection's database.

Another school's word is an offer, never a decision: it has a place in the list and a name beside it, and nobody is
redirected by it. Only what the district's own admins pinned counts as a pin does. Moves, which no person confirmed,
need two schools that say the same.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from repair.collection.database import Database
from repair.collection.pins import same_page_key
from repair.secrets.publicaddresses import is_shareable
from repair.text import urls

REASON = "elsewhere"
"""The reason code of an alternative that another school confirmed."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS elsewhere (school INTEGER NOT NULL, kind TEXT NOT NULL, key BLOB NOT NULL,"
    " page TEXT NOT NULL, url TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (school, kind, key)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS elsewhere_page ON elsewhere (page)",
    "CREATE TABLE IF NOT EXISTS elsewhere_schools"
    " (school INTEGER PRIMARY KEY, name TEXT NOT NULL, is_district INTEGER NOT NULL)",
)
_MAX_OF_SCHOOL = 50_000
_MAX_OFFERS = 2
_MAX_ROWS = 50  # said of one page, as far as they are counted
_MOVE = "move"
_LEAST_FOR_MOVE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What a school says: `target` is to be read instead of `url`. `key` is its name for what it says."""

    school: int
    kind: str
    key: bytes
    url: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSchool:
    """A school that is heard, or the district itself."""

    school: int
    name: str
    is_district: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElsewhereOffer:
    """A page that other schools offer, the names of the schools, and whether the district's admins pinned it."""

    target: str
    schools: tuple[str, ...]
    is_pinned: bool = False


class ConfirmedElsewhere:
    """The table; methods block, from any thread, in any number of processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            for statement in _SCHEMA:
                connection.execute(statement)

    def offers(self, url: str) -> tuple[ElsewhereOffer, ...]:
        """Pages to offer for a URL, however it is written: the district's first, then those most schools name."""
        if not urls.is_web_url(url):
            return ()
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT target, kind, name, is_district FROM elsewhere JOIN elsewhere_schools USING (school)"
                " WHERE page = ? ORDER BY is_district DESC, kind = ?, school LIMIT ?",
                (same_page_key(url), _MOVE, _MAX_ROWS),
            ).fetchall()
        told: dict[str, dict[str, None]] = {}
        pinned, confirmed = set[str](), set[str]()
        for target, kind, name, is_district in rows:
            told.setdefault(target, {})[name] = None
            if kind != _MOVE:
                confirmed.add(target)
                pinned |= {target} if is_district else set()
        found = [
            ElsewhereOffer(target=target, schools=tuple(names), is_pinned=target in pinned)
            for target, names in told.items()
            if target in confirmed or len(names) >= _LEAST_FOR_MOVE
        ]
        found.sort(key=lambda offer: (not offer.is_pinned, -len(offer.schools), offer.target))
        return tuple(found[:_MAX_OFFERS])

    def note(self, said: Iterable[Confirmation]) -> int:
        """Take over what schools say, as far as it may be offered; returns how much of it is new or different."""
        held: dict[int, int] = {}
        with self._database.write() as connection:
            count = 0
            for each in said:
                if not _is_fit(each.url, each.target):
                    count += self.withdraw(each.school, each.kind, each.key)
                    continue
                if each.school not in held:
                    counted = "SELECT count(*) FROM elsewhere WHERE school = ?"
                    (held[each.school],) = connection.execute(counted, (each.school,)).fetchone()
                if held[each.school] >= _MAX_OF_SCHOOL:
                    continue
                held[each.school] += 1
                url, target = urls.normal(each.url), urls.normal(each.target)
                count += connection.execute(
                    "INSERT INTO elsewhere VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET page = excluded.page,"
                    " url = excluded.url, target = excluded.target"
                    " WHERE url <> excluded.url OR target <> excluded.target",
                    (each.school, each.kind, each.key, same_page_key(url), url, target),
                ).rowcount
        return count

    def withdraw(self, school: int, kind: str, key: bytes) -> int:
        """Forget what a school no longer says; returns how much that was."""
        with self._database.write() as connection:
            return connection.execute(
                "DELETE FROM elsewhere WHERE school = ? AND kind = ? AND key = ?", (school, kind, key)
            ).rowcount

    def names(self) -> frozenset[str]:
        """The names of the district's schools that are heard."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT name FROM elsewhere_schools WHERE NOT is_district AND school >= 0"
            )
            return frozenset(str(row[0]) for row in rows)

    def replace_school(self, school: OtherSchool, said: Iterable[Confirmation]) -> int:
        """Take over all that a school says, in place of what it said before; returns how much that is."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM elsewhere WHERE school = ?", (school.school,))
            connection.execute(
                "INSERT OR REPLACE INTO elsewhere_schools VALUES (?, ?, ?)",
                (school.school, school.name, school.is_district),
            )
            return self.note(said)

    def forget_school(self, name: str) -> int:
        """Forget all that a school said; returns how much that was."""
        with self._database.write() as connection:
            named = "SELECT school FROM elsewhere_schools WHERE name = ?"
            count = connection.execute(f"DELETE FROM elsewhere WHERE school IN ({named})", (name,)).rowcount  # noqa: S608
            connection.execute("DELETE FROM elsewhere_schools WHERE name = ?", (name,))
        return count

    def keep_schools(self, heard: Collection[OtherSchool]) -> None:
        """Take over the names of the district's schools that are heard, and forget what all others of them said.

        Schools whose signed files were imported have numbers below zero, and stay.
        """
        wanted = {each.school: (each.name, each.is_district) for each in heard}
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT school, name, is_district FROM elsewhere_schools WHERE school >= 0"
            ).fetchall()
        if {school: (name, bool(is_district)) for school, name, is_district in rows} == wanted:
            return
        with self._database.write() as connection:
            connection.execute("DELETE FROM elsewhere_schools WHERE school >= 0")
            connection.executemany(
                "INSERT INTO elsewhere_schools VALUES (?, ?, ?)",
                [(school, name, is_district) for school, (name, is_district) in wanted.items()],
            )
            connection.execute(
                "DELETE FROM elsewhere WHERE school NOT IN (SELECT school FROM elsewhere_schools)"
            )

    def forget(self, url: str) -> None:
        """Forget what was said of a URL, and where it was itself offered."""
        if urls.is_web_url(url):
            with self._database.write() as connection:
                connection.execute(
                    "DELETE FROM elsewhere WHERE page = ? OR target = ?",
                    (same_page_key(url), urls.normal(url)),
                )

    def clear(self) -> None:
        """Forget what the district's schools said."""
        self.keep_schools(())

    def count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM elsewhere").fetchone()[0])


def _is_fit(url: str, target: str) -> bool:
    return is_shareable(url) and is_shareable(target) and same_page_key(url) != same_page_key(target)
