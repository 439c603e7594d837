"""Tallies of misses: small rows beside the records, updated by triggers, the source of lists and charts.

Records are long, and a list counts hundreds of thousands of them. So there is one count for each quarter of an hour
(the finest step of time zones), address, source page, kind and outcome. Every insert, choice, erasure and purge
changes the tallies in the same transaction.
"""

import sqlite3

SLOT_S = 900
"""The length of a slot in seconds; a slot's number is its beginning (since 1970) divided by this."""
NOTHING, OFFERED, OPENED = 0, 1, 2
"""Outcomes: nothing was offered; something was; the user opened an offer."""

_VERSION = 1
AT_ONCE = 5_000
"""Records of an earlier version's log that one step counts, in some tenths of a second."""
_TABLES = """
CREATE TABLE addresses (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, site TEXT NOT NULL);
CREATE TABLE sources (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE);
CREATE TABLE tallies (
    address INTEGER NOT NULL, slot INTEGER NOT NULL, source INTEGER NOT NULL, kind TEXT NOT NULL,
    outcome INTEGER NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (address, slot, source, kind, outcome)
) WITHOUT ROWID;
CREATE TABLE marks (
    url TEXT NOT NULL, mark TEXT NOT NULL, by TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (mark, url)
) WITHOUT ROWID;
CREATE TABLE filling (passed TEXT NOT NULL);
"""
_NUMBER, _TEXT = "INTEGER NOT NULL DEFAULT 0", "TEXT NOT NULL DEFAULT ''"
_LATER_COLUMNS = {
    "copy": _NUMBER,
    "source_guessed": _NUMBER,
    "network": _TEXT,
}  # that the first version had not
_INDEXES = """
CREATE INDEX misses_url_at ON misses (url, at);
CREATE INDEX addresses_site ON addresses (site);
CREATE INDEX tallies_slot ON tallies (slot, kind, outcome, times);
CREATE INDEX tallies_source ON tallies (source, address, times) WHERE source != 0;
CREATE INDEX misses_kind ON misses (kind, at);
CREATE INDEX misses_source ON misses (source_url, at) WHERE source_url IS NOT NULL;
CREATE INDEX misses_chosen ON misses (url, chosen, at, kind, site, source_url) WHERE chosen IS NOT NULL;
"""


def outcome(row: str) -> str:
    """The outcome of a record as SQL; `row` is the record's name there."""
    return (
        f"CASE WHEN {row}.chosen IS NOT NULL THEN {OPENED}"
        f" WHEN {row}.offered = '[]' AND NOT {row}.copy THEN {NOTHING} ELSE {OFFERED} END"
    )


def _place(row: str) -> str:
    """The SQL condition that finds the tally of a record."""
    return (
        f"address = (SELECT id FROM addresses WHERE url = {row}.url)"  # noqa: S608
        f" AND slot = CAST({row}.at / {SLOT_S} AS INTEGER)"
        f" AND source = coalesce((SELECT id FROM sources WHERE url = {row}.source_url), 0)"
        f" AND kind = {row}.kind AND outcome = {outcome(row)}"
    )


_ADD = f"""
    INSERT INTO addresses (url, site) SELECT new.url, new.site
        WHERE NOT EXISTS (SELECT 1 FROM addresses WHERE url = new.url);
    INSERT INTO sources (url) SELECT new.source_url
        WHERE new.source_url IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sources WHERE url = new.source_url);
    INSERT INTO tallies SELECT (SELECT id FROM addresses WHERE url = new.url),
        CAST(new.at / {SLOT_S} AS INTEGER),
        coalesce((SELECT id FROM sources WHERE url = new.source_url), 0), new.kind, {outcome("new")}, 1
        WHERE true ON CONFLICT DO UPDATE SET times = times + 1;
"""  # noqa: S608  (our own names throughout)
_TAKE = f"""
    UPDATE tallies SET times = times - 1 WHERE {_place("old")};
    DELETE FROM tallies WHERE {_place("old")} AND times <= 0;
"""  # noqa: S608
_FORGET = """
    DELETE FROM sources WHERE url = old.source_url
        AND NOT EXISTS (SELECT 1 FROM tallies WHERE source = sources.id AND source != 0);
    DELETE FROM addresses WHERE url = old.url
        AND NOT EXISTS (SELECT 1 FROM tallies WHERE address = addresses.id);
"""
_NOT_YET = "id <= (SELECT passed FROM filling)"
_TRIGGERS = (
    ("miss_noted", "INSERT", "new", _ADD),
    ("miss_changed", "UPDATE", "old", f"{_TAKE} {_ADD} {_FORGET}"),
    ("miss_gone", "DELETE", "old", f"{_TAKE} {_FORGET}"),
)
_PART = "misses.id > ? AND misses.id <= ?"
_FILL = (
    f"INSERT INTO addresses (url, site) SELECT url, min(site) FROM misses WHERE {_PART}"  # noqa: S608  (as above)
    " AND NOT EXISTS (SELECT 1 FROM addresses WHERE addresses.url = misses.url) GROUP BY url",
    f"INSERT INTO sources (url) SELECT DISTINCT source_url FROM misses WHERE {_PART}"  # noqa: S608
    " AND source_url IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sources WHERE sources.url = misses.source_url)",
    # CROSS JOIN keeps SQLite from scanning all addresses each time.
    f"INSERT INTO tallies SELECT addresses.id, CAST(misses.at / {SLOT_S} AS INTEGER),"  # noqa: S608
    f" coalesce(sources.id, 0), kind, {outcome('misses')}, count(*)"
    " FROM misses CROSS JOIN addresses ON addresses.url = misses.url"
    f" LEFT JOIN sources ON sources.url = misses.source_url WHERE {_PART} GROUP BY 1, 2, 3, 4, 5"
    " ON CONFLICT DO UPDATE SET times = times + excluded.times",
)


def prepare(database: sqlite3.Connection) -> bool:
    """Migrate a database of an earlier version; returns whether the migration is complete.

    For a long log it only begins, so that the start is not delayed; `catch_up` does the rest.
    """
    if _version(database) >= _VERSION and not _missing_columns(database):
        return True
    with database:
        database.execute("BEGIN IMMEDIATE")
        for column in _missing_columns(
            database
        ):  # asked again: another process may have added them meanwhile
            database.execute(f"ALTER TABLE misses ADD COLUMN {column} {_LATER_COLUMNS[column]}")
        if _version(database) >= _VERSION:
            return True
        if "filling" not in _names(database, "table"):
            _begin(database)
    while is_short(database):
        if catch_up(database) is None:
            return True
    return False


def catch_up(database: sqlite3.Connection) -> int | None:
    """Do one more step in one transaction; returns how many records it counted, None when the migration is complete.

    Steps go in the order of ids, and `filling` holds the last counted one. The triggers count only records up to it:
    changes beyond it are counted when a step gets there.
    """
    with database:
        database.execute("BEGIN IMMEDIATE")
        if _version(database) >= _VERSION:
            return None  # another process has done it
        (passed,) = database.execute("SELECT passed FROM filling").fetchone()
        following = "SELECT id FROM misses WHERE id > ? ORDER BY id LIMIT ?"
        count, last = database.execute(
            f"SELECT count(*), max(id) FROM ({following})",  # noqa: S608
            (passed, AT_ONCE),
        ).fetchone()
        if count:
            for statement in _FILL:
                database.execute(statement, (passed, last))
            database.execute("UPDATE filling SET passed = ?", (last,))
        if count == AT_ONCE:
            return int(count)
        if _has_made_index(database):
            return int(count)
        _finish(database)
        return None


def is_short(database: sqlite3.Connection) -> bool:
    """Whether the whole log can be counted in one step."""
    (count,) = database.execute("SELECT count(*) FROM (SELECT 1 FROM misses LIMIT ?)", (AT_ONCE,)).fetchone()
    return int(count) < AT_ONCE


def _missing_columns(database: sqlite3.Connection) -> list[str]:
    known = {row[1] for row in database.execute("PRAGMA table_info(misses)")}
    return [column for column in _LATER_COLUMNS if column not in known]


def _begin(database: sqlite3.Connection) -> None:
    for statement in _statements(_TABLES):
        database.execute(statement)
    database.execute("INSERT INTO filling VALUES ('')")
    for name, event, row, then in _TRIGGERS:
        database.execute(
            f"CREATE TRIGGER {name} AFTER {event} ON misses WHEN {row}.{_NOT_YET} BEGIN {then} END"
        )


def _has_made_index(database: sqlite3.Connection) -> bool:
    """Create one more index, which takes seconds for a long log; False when all exist."""
    known = _names(database, "index")
    for statement in _statements(_INDEXES):
        if statement.split()[2] not in known:
            database.execute(statement)
            return True
    return False


def _finish(database: sqlite3.Connection) -> None:
    for name, event, _, then in _TRIGGERS:
        database.execute(f"DROP TRIGGER {name}")
        database.execute(f"CREATE TRIGGER {name} AFTER {event} ON misses BEGIN {then} END")
    database.execute("DROP TABLE filling")
    database.execute("DROP INDEX IF EXISTS misses_url")
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _names(database: sqlite3.Connection, kind: str) -> set[str]:
    return {str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))}


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    return [statement for statement in script.split(";\n") if statement.strip()]
