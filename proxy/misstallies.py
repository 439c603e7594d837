"""Tallies of misses: small rows beside the records, kept in step by triggers, from which lists and charts are made.

A record is long and has a page of its own; a list counts hundreds of thousands of them. So every quarter of an hour
(the finest step of time zones) has for each address, source page, kind and outcome one number. Whatever is noted,
chosen, erased or grown old changes the tallies in the same transaction.
"""

import sqlite3

SLOT_S = 900
"""The length of a slot in seconds; a slot's number is its beginning (since 1970) divided by this."""
NOTHING, OFFERED, OPENED = 0, 1, 2
"""Outcomes: nothing could be offered; something was; a reader opened some of it."""

_VERSION = 1
_ROOM_KB, _USUAL_KB = 256 * 1024, 2 * 1024  # a long log of an earlier version is counted in memory
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
CREATE INDEX misses_url_at ON misses (url, at);
DROP INDEX IF EXISTS misses_url;
"""
_INDEXES = """
CREATE INDEX addresses_site ON addresses (site);
CREATE INDEX tallies_slot ON tallies (slot, kind, outcome, times);
CREATE INDEX tallies_source ON tallies (source, address, times) WHERE source != 0;
CREATE INDEX misses_kind ON misses (kind, at);
CREATE INDEX misses_source ON misses (source_url, at) WHERE source_url IS NOT NULL;
CREATE INDEX misses_chosen ON misses (url, chosen, at, kind, site, source_url) WHERE chosen IS NOT NULL;
"""


def outcome(row: str) -> str:
    """The outcome of a record in SQL; `row` is what the record is called there."""
    return (
        f"CASE WHEN {row}.chosen IS NOT NULL THEN {OPENED}"
        f" WHEN {row}.offered = '[]' AND NOT {row}.copy THEN {NOTHING} ELSE {OFFERED} END"
    )


def _place(row: str) -> str:
    """Where a record stands in the tallies."""
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
_TRIGGERS = (
    f"CREATE TRIGGER miss_noted AFTER INSERT ON misses BEGIN {_ADD} END",
    f"CREATE TRIGGER miss_changed AFTER UPDATE ON misses BEGIN {_TAKE} {_ADD} {_FORGET} END",
    f"CREATE TRIGGER miss_gone AFTER DELETE ON misses BEGIN {_TAKE} {_FORGET} END",
)
_FILL = f"""
INSERT INTO addresses (url, site) SELECT url, min(site) FROM misses GROUP BY url;
INSERT INTO sources (url) SELECT DISTINCT source_url FROM misses WHERE source_url IS NOT NULL;
INSERT INTO tallies SELECT addresses.id, CAST(misses.at / {SLOT_S} AS INTEGER), coalesce(sources.id, 0), kind,
    {outcome("misses")}, count(*) FROM misses JOIN addresses ON addresses.url = misses.url
    LEFT JOIN sources ON sources.url = misses.source_url GROUP BY 1, 2, 3, 4, 5;
"""  # noqa: S608


def prepare(database: sqlite3.Connection) -> None:
    """Bring a database with a table of misses, of this version or an earlier one, to this version, all or nothing."""
    if _version(database) >= _VERSION:
        return
    database.execute(f"PRAGMA cache_size = -{_ROOM_KB}")
    with database:
        database.execute("BEGIN IMMEDIATE")
        if _version(database) >= _VERSION:
            return  # another process was quicker
        if "copy" not in {row[1] for row in database.execute("PRAGMA table_info(misses)")}:
            database.execute("ALTER TABLE misses ADD COLUMN copy INTEGER NOT NULL DEFAULT 0")
        for statement in (*_statements(_TABLES + _FILL + _INDEXES), *_TRIGGERS):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_VERSION}")
    database.execute(f"PRAGMA cache_size = -{_USUAL_KB}")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> list[str]:
    return [statement for statement in script.split(";\n") if statement.strip()]
