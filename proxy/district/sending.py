"""Sends what a school's spools have to the district, in batches; each counts once however often it is sent.

A row at the district is the state of one key of one school, so sending it again changes nothing. In the transaction
of a batch the district notes how far it has got with this spool. When it knows less than was sent, its primary was
lost and a standby took over that had not heard of everything: the school then sends the rest again.
"""

import logging
from collections.abc import Sequence

import psycopg
from psycopg.types.json import Jsonb

from proxy.district.connection import DistrictConnection
from proxy.district.spool import DistrictSpool, SpoolRow
from proxy.district.told import KINDS

log = logging.getLogger(__name__)

_BATCH = 200
# Each a single statement for a whole batch: the database counts and checks by statements.
_SHARE = (
    "INSERT INTO learnt (school, kind, key, body) SELECT current_school(), told.*"
    " FROM unnest(%s::text[], %s::bytea[], %s::jsonb[]) AS told ON CONFLICT (school, kind, key) DO UPDATE"
    " SET body = excluded.body WHERE learnt.body IS DISTINCT FROM excluded.body"
)
_WITHDRAW = (
    "UPDATE learnt SET body = NULL FROM unnest(%s::text[], %s::bytea[]) AS gone (kind, key)"
    " WHERE learnt.school = current_school() AND learnt.kind = gone.kind AND learnt.key = gone.key"
    " AND body IS NOT NULL"
)
_WANT = (
    "INSERT INTO wants (school, key, url, day) SELECT current_school(), told.*"
    " FROM unnest(%s::bytea[], %s::text[], %s::date[]) AS told ON CONFLICT (school, key) DO UPDATE"
    " SET day = excluded.day WHERE wants.day <> excluded.day"
)
_NO_LONGER_WANTED = "DELETE FROM wants WHERE school = current_school() AND key = ANY(%s::bytea[])"
_MISS = (
    "INSERT INTO misses (school, key, url, day, kind, times) SELECT current_school(), told.*"
    " FROM unnest(%s::bytea[], %s::text[], %s::date[], %s::text[], %s::int[]) AS told"
    " ON CONFLICT (school, key, kind, day) DO UPDATE SET times = excluded.times"
    " WHERE misses.times <> excluded.times"
)
_NO_LONGER_MISSED = (
    "DELETE FROM misses WHERE school = current_school() AND key = ANY(%s::bytea[]) AND NOT EXISTS"
    " (SELECT FROM unnest(%s::bytea[], %s::date[], %s::text[]) AS kept (key, day, kind)"
    " WHERE kept.key = misses.key AND kept.day = misses.day AND kept.kind = misses.kind)"
)
_TAKEN = (
    "INSERT INTO spools VALUES (current_school(), %s, %s)"
    " ON CONFLICT (school, spool) DO UPDATE SET taken = greatest(spools.taken, excluded.taken)"
)
_FORGET = (
    # Every school has had months to read the tombstone; one that was away for longer reads everything anew.
    "DELETE FROM learnt WHERE school = current_school() AND body IS NULL"
    " AND changed_at < now() - make_interval(days => %s)",
    "DELETE FROM misses WHERE school = current_school() AND day < current_date - %s",
    "DELETE FROM wants WHERE school = current_school() AND day < current_date - %s",
)
_ERASED = (
    "misses",
    "wants",
    "spools",
    "presence",
    "applied",
    "school_days",
    "school_health",
    "crawl_links",
    "crawl_machines",
)
TOMBSTONE_DAYS = 90


def send_batch(connection: DistrictConnection, spool: DistrictSpool) -> int:
    """Send the oldest changes; returns how many. Raises psycopg.Error when the district does not take them."""
    name = spool.name()
    if not name:
        return 0
    catch_up(connection, spool, name)
    rows = spool.batch(_BATCH)
    if rows:
        _send(connection, name, rows)
        spool.mark_sent(rows)
    return len(rows)


def catch_up(connection: DistrictConnection, spool: DistrictSpool, name: str) -> None:
    """Have a spool send again what the district does not know of any more."""
    row = connection.execute(
        "SELECT taken FROM spools WHERE school = current_school() AND spool = %s", (name,)
    ).fetchone()
    taken, sent = int(row[0]) if row else 0, spool.last_sent()
    if taken < sent:
        log.warning("district: its database has lost the latest changes; sending them again")
        spool.send_again(taken)


def show_presence(connection: DistrictConnection, *, version: str, waiting: int, retention_days: int) -> None:
    """Tell the district that this school is here, with which linkmend, how much it has still to tell, and how long
    the district keeps what was missed here."""
    connection.execute(
        "INSERT INTO presence VALUES (current_school(), %s, %s, now(), %s) ON CONFLICT (school) DO UPDATE SET"
        " version = excluded.version, waiting = excluded.waiting, seen_at = now(),"
        " retention_days = excluded.retention_days",
        (version[:40], waiting, max(0, retention_days)),
    )


def forget_old(connection: DistrictConnection, *, retention_days: int) -> None:
    """Delete what this school keeps at the district for no longer, and what others left that come no more."""
    for statement, days in zip(_FORGET, (TOMBSTONE_DAYS, retention_days, retention_days), strict=True):
        connection.execute(statement, (days,))
    connection.execute("SELECT forget_expired()")


def erase_school(connection: DistrictConnection) -> int:
    """Delete all that this school has at the district; returns how many rows others could read.

    Those stay as tombstones, without content, until every school has read them.
    """
    with connection.transaction():
        for table in _ERASED:
            connection.execute(f"DELETE FROM {table} WHERE school = current_school()")  # noqa: S608  (constants)
        return connection.execute(
            "UPDATE learnt SET body = NULL WHERE school = current_school() AND body IS NOT NULL"
        ).rowcount


def _send(connection: DistrictConnection, name: str, rows: Sequence[SpoolRow]) -> None:
    try:
        with connection.transaction():
            _share(connection, [row for row in rows if KINDS[row.kind].is_shared])
            _tell_misses(connection, [row for row in rows if row.kind == "miss"])
            _tell_wants(connection, [row for row in rows if row.kind == "want"])
            connection.execute(_TAKEN, (name, rows[-1].change))
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        # One row that no database takes must not hold up the others.
        if len(rows) > 1:
            for row in rows:
                _send(connection, name, (row,))
        else:
            log.warning(
                "district: something of kind %s cannot be told: %s", rows[0].kind, type(error).__name__
            )


def _share(connection: DistrictConnection, rows: Sequence[SpoolRow]) -> None:
    """First what is gone: of a key that came back there may be a note of each."""
    gone = [row for row in rows if row.body is None]
    told = [row for row in rows if row.body is not None]
    if gone:
        connection.execute(_WITHDRAW, ([row.kind for row in gone], [row.digest for row in gone]))
    if told:
        bodies = [Jsonb(row.body) for row in told]
        connection.execute(_SHARE, ([row.kind for row in told], [row.digest for row in told], bodies))


def _tell_misses(connection: DistrictConnection, rows: Sequence[SpoolRow]) -> None:
    days = [(row.digest, row.body["url"], *day) for row in rows if row.body for day in row.body["days"]]
    keys, addresses, dates, kinds, times = (
        (list(column) for column in zip(*days, strict=True)) if days else [[]] * 5
    )
    if rows:
        connection.execute(_NO_LONGER_MISSED, ([row.digest for row in rows], keys, dates, kinds))
    if days:
        connection.execute(_MISS, (keys, addresses, dates, kinds, times))


def _tell_wants(connection: DistrictConnection, rows: Sequence[SpoolRow]) -> None:
    told = [(row.digest, row.body["url"], row.body["day"]) for row in rows if row.body]
    if gone := [row.digest for row in rows if row.body is None]:
        connection.execute(_NO_LONGER_WANTED, (gone,))
    if told:
        connection.execute(_WANT, tuple(list(column) for column in zip(*told, strict=True)))
