"""The district's PostgreSQL: who may read and write what, and how much. A real server, and a standby."""

import contextlib
from dataclasses import replace

import psycopg
import pytest

from proxy.district import schema
from proxy.district.connection import OVER_QUOTA, connect, connected
from proxy.district.crawling.sharedfrontier import forget_link
from proxy.district.roles import invite_admin, invite_school, shut_out
from proxy.district.sending import erase_school, forget_old, show_presence
from proxy.errors import DistrictUnavailable, LinkmendError

_KEY = b"k" * 16


@pytest.fixture
def enter(district, tmp_path):
    """Invites a school, or an admin, and opens a connection with its login."""
    with contextlib.ExitStack() as stack:

        def entered(name, *, invite=invite_school):
            with connected(district) as owner:
                login = invite(owner, name)
            file = tmp_path / login.user
            file.write_text(login.password + "\n")
            settings = replace(district, database_user=login.user, database_password_file=str(file))
            return stack.enter_context(contextlib.closing(connect(settings)))

        yield entered


def write(connection, body='{"url": "http://a.test/"}', *, key=_KEY, school="current_school()", kind="pin"):
    connection.execute(
        f"INSERT INTO learnt (school, kind, key, body) VALUES ({school}, %s, %s, %s)"
        " ON CONFLICT (school, kind, key) DO UPDATE SET body = excluded.body",
        (kind, key, body),
    )


def write_miss(connection, url="http://a.test/"):
    connection.execute(
        "INSERT INTO misses VALUES (current_school(), %s, %s, 'gone', current_date, 3)", (_KEY, url)
    )


def count(connection, table):
    return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_the_schema_is_made_once_and_has_the_newest_version(district):
    assert schema.initialise(district) == schema.newest_version()
    with connected(district) as owner:
        assert schema.version(owner) == schema.newest_version()
        assert count(owner, "schools") == 1


def test_a_school_waits_for_an_older_schema_to_be_brought_up_to_date_and_works_with_a_newer_one(district):
    with connected(district) as owner:
        schema.check_version(owner)
        for version, is_older in (("0001", True), ("later_0001", False)):
            owner.execute("UPDATE schema_version SET version_num = %s", (version,))
            refused = pytest.raises(DistrictUnavailable, match="district init")
            with refused if is_older else contextlib.nullcontext():
                schema.check_version(owner)
        owner.execute("DROP TABLE schema_version")
        with pytest.raises(DistrictUnavailable, match="version none"):
            schema.check_version(owner)


def test_a_school_cannot_read_what_another_missed_and_the_districts_admin_can(enter):
    one, two, admin = enter("School A"), enter("School B"), enter("ida", invite=invite_admin)
    write_miss(one)
    two.execute("INSERT INTO wants VALUES (current_school(), %s, 'http://b.test/', current_date)", (_KEY,))
    assert [count(each, "misses") for each in (one, two, admin)] == [1, 0, 1]
    assert [count(each, "wants") for each in (one, two, admin)] == [0, 1, 1]


def test_all_schools_read_what_one_shares_and_none_can_change_or_delete_it(enter):
    one, two = enter("School A"), enter("School B")
    write(one)
    names = two.execute("SELECT name, body->>'url' FROM learnt JOIN schools ON id = school").fetchall()
    assert names == [("School A", "http://a.test/")]
    assert two.execute("UPDATE learnt SET body = '{}'").rowcount == 0
    assert two.execute("DELETE FROM learnt").rowcount == 0
    assert count(one, "learnt") == 1


@pytest.mark.parametrize("table", ["learnt", "misses", "wants"])
def test_a_school_cannot_write_under_another_name(enter, table):
    one, two = enter("School A"), enter("School B")
    (other,) = one.execute("SELECT current_school()").fetchone()
    values = {
        "learnt": f"({other}, 'pin', '{'k' * 16}', '{{}}')",
        "misses": f"({other}, '{'k' * 16}', 'http://a.test/', 'gone', current_date, 1)",
        "wants": f"({other}, '{'k' * 16}', 'http://a.test/', current_date)",
    }
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        two.execute(f"INSERT INTO {table} VALUES {values[table]}")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT role FROM schools",
        "UPDATE schools SET rows_per_day = 1000000",
        "UPDATE usage SET written = 0",
        "CREATE TABLE linkmend.mine (a int)",
        "CREATE TEMP TABLE mine (a int)",
        "SET ROLE linkmend_admin",
        "SET SESSION AUTHORIZATION postgres",
        "DROP TABLE learnt",
        "ALTER TABLE misses DISABLE ROW LEVEL SECURITY",
        "COPY learnt TO PROGRAM 'true'",
        "TRUNCATE learnt",
    ],
)
def test_a_school_can_do_no_more_than_it_needs(enter, statement):
    one = enter("School A")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        one.execute(statement)


def test_a_school_that_writes_too_much_is_refused_and_others_are_not(enter, district):
    one, two = enter("School A"), enter("School B")
    with connected(district) as owner:
        owner.execute("UPDATE schools SET rows_per_day = 5 WHERE name = 'School A'")
    for number in range(5):
        write(one, key=bytes([number]) * 16)
    with pytest.raises(psycopg.Error) as refused:
        write(one, key=bytes([0]) * 16)
    assert refused.value.sqlstate == OVER_QUOTA
    assert (count(one, "learnt"), one.execute("SELECT written, held FROM usage").fetchone()) == (5, (5, 5))
    write(two)
    assert count(two, "learnt") == 6


def test_a_school_cannot_hold_more_than_its_share_and_deleting_makes_room(enter, district):
    one = enter("School A")
    with connected(district) as owner:
        owner.execute("UPDATE schools SET rows_held = 1")
    write(one)
    with pytest.raises(psycopg.Error, match="quota"):
        write(one, key=b"o" * 16)
    one.execute("DELETE FROM learnt")
    write(one, key=b"o" * 16)
    assert count(one, "learnt") == 1


def test_what_a_school_says_of_the_time_of_its_rows_does_not_count(enter):
    one = enter("School A")
    write(one)
    one.execute("UPDATE learnt SET changed_at = 'infinity'")
    assert one.execute("SELECT changed_at <= clock_timestamp() FROM learnt").fetchone() == (True,)


def test_a_school_that_has_used_its_share_may_still_withdraw_what_it_said(enter, district):
    one = enter("School A")
    write(one)
    with connected(district) as owner:
        owner.execute("UPDATE schools SET rows_per_day = 0, rows_held = 0")
    assert one.execute("UPDATE learnt SET body = NULL").rowcount == 1
    with pytest.raises(psycopg.Error, match="quota"):
        write(one)


def test_rows_that_are_too_large_or_of_an_unknown_kind_are_refused(enter):
    one = enter("School A")
    for wrong in ({"body": '"' + "x" * 9000 + '"'}, {"kind": "rule"}, {"key": b"short"}):
        with pytest.raises(psycopg.errors.CheckViolation):
            write(one, **wrong)


def test_an_admin_writes_for_the_district(enter):
    admin, one = enter("ida", invite=invite_admin), enter("School A")
    write(admin)
    assert one.execute("SELECT is_district FROM learnt JOIN schools ON id = school").fetchone() == (True,)


def test_a_school_that_is_shut_out_is_neither_let_in_nor_heard(enter, district):
    one, two = enter("School A"), enter("School B")
    write(one)
    with connected(district) as owner:
        shut_out(owner, "School A", erase=False)
        assert count(owner, "learnt") == 1
    assert count(two, "learnt") == 0
    with pytest.raises(psycopg.OperationalError):
        count(one, "learnt")
    with connected(district) as owner:
        assert shut_out(owner, "School A", erase=True) == 1
        assert count(owner, "learnt") == 0
        with pytest.raises(LinkmendError, match="no such school"):
            shut_out(owner, "School A", erase=True)


def test_a_new_invitation_gives_a_new_password_and_keeps_what_the_school_wrote(enter, district, tmp_path):
    write(enter("School A"))
    again = enter("School A")
    assert again.execute("SELECT count(*) FROM learnt WHERE school = current_school()").fetchone() == (1,)
    (tmp_path / "wrong").write_text("not the password")
    settings = replace(
        district, database_user=again.info.user, database_password_file=str(tmp_path / "wrong")
    )
    with pytest.raises(DistrictUnavailable, match="password authentication failed") as refused:
        connect(settings)
    assert "not the password" not in str(refused.value)


def test_the_server_never_sees_a_password(enter, postgres):
    with postgres.connect() as owner:
        owner.execute("ALTER SYSTEM SET log_statement = 'all'")
        owner.execute("SELECT pg_reload_conf()")
    one = enter("School A")
    with postgres.connect() as owner:
        owner.execute("ALTER SYSTEM RESET log_statement")
        owner.execute("SELECT pg_reload_conf()")
    assert "SCRAM-SHA-256$" in postgres.process.output
    assert one.info.password
    assert one.info.password not in postgres.process.output


def test_of_several_servers_the_one_that_takes_writes_answers(start_postgres):
    primary = start_postgres()
    district = primary.create_database()
    schema.initialise(district)
    standby = start_postgres(of=primary)
    standby.wait_until_caught_up(primary)
    both = standby.settings(district.database.rpartition("/")[2], standbys=[primary])
    with connected(both) as connection:
        assert connection.info.port == primary.port
    primary.kill()
    with pytest.raises(DistrictUnavailable):
        connect(both)
    standby.promote()
    with connected(both) as connection:
        assert connection.info.port == standby.port
        write(connection)


def put_link(connection, url="http://a.test/soil", *, school="NULL", topic="Soil"):
    connection.execute(
        "INSERT INTO crawl_links (topic, url, host, depth, anchor, context, parents, good_parents, best, total, nav,"
        f" worth, school) VALUES (%s, %s, 'a.test', 0, '', '', 1, 1, 0, 0, false, 0, {school})"
        " ON CONFLICT (topic, url) DO UPDATE SET worth = 1, school = excluded.school",
        (topic, url),
    )


def put_many_links(connection):
    """One by one, of which few are counted."""
    for number in range(30_000):
        put_link(connection, f"http://a.test/{number}")


@pytest.mark.parametrize(
    "question",
    [
        "SELECT url FROM misses",
        "SELECT url FROM wants",
        # Functions that tell of a row before the database has asked whose it is.
        "SELECT url FROM misses WHERE 1 / (length(url) - length('http://secret.test/')) > 0",
        "SELECT url FROM wants WHERE url::int = 1",
        "SELECT unnest(xpath('//url/text()', query_to_xml('SELECT url FROM misses', true, false, '')))::text",
        "SELECT misses.url FROM schools JOIN misses ON misses.school = schools.id",
        "UPDATE wants SET day = day RETURNING url",
        "DELETE FROM misses RETURNING url",
        "SELECT most_common_vals::text FROM pg_stats WHERE tablename IN ('misses', 'wants')",
        "SELECT query FROM pg_stat_activity WHERE query LIKE '%secret%' AND usename <> current_user",
        "WITH all_of AS MATERIALIZED (SELECT * FROM misses) SELECT url FROM all_of",
        "TABLE school_days",
        "TABLE school_health",
        "TABLE usage",
        "TABLE spools",
        "TABLE presence",
    ],
)
def test_whatever_a_school_asks_it_learns_nothing_of_what_others_missed_and_want(enter, district, question):
    one, two = enter("School A"), enter("School B")
    write_miss(one, "http://secret.test/")
    for statement in (
        "INSERT INTO wants VALUES (current_school(), decode(md5('x'), 'hex'), 'http://secret.test/', current_date)",
        "INSERT INTO school_days VALUES (current_school(), current_date, 3, 1, 5)",
        "INSERT INTO school_health VALUES (current_school(), '{}')",
        "INSERT INTO spools VALUES (current_school(), gen_random_uuid(), 1)",
        "INSERT INTO presence VALUES (current_school(), '1', 0)",
    ):
        one.execute(statement)
    with connected(district) as owner:
        owner.execute("ANALYZE")
    assert two.execute(question).fetchall() == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO misses VALUES (current_school(), 'kkkkkkkkkkkkkkkk', 'http://a.test/', 'x', current_date, 1)",
        "UPDATE learnt SET body = '{}'",
    ],
)
def test_an_ended_session_of_a_school_is_not_ended_by_another(enter, statement):
    one, two = enter("School A"), enter("School B")
    (pid,) = one.execute("SELECT pg_backend_pid()").fetchone()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        two.execute("SELECT pg_terminate_backend(%s)", (pid,))
    one.execute(statement)


def test_links_of_crawls_have_the_school_that_found_them_whatever_is_said_of_it(enter):
    one, two = enter("School A"), enter("School B")
    (other,) = two.execute("SELECT current_school()").fetchone()
    put_link(one, school=other)
    put_link(two)  # which knows more of it now
    found = two.execute("SELECT school <> current_school(), worth FROM crawl_links").fetchall()
    assert found == [(True, 1.0)]


def test_a_school_that_finds_too_many_links_is_refused_and_others_are_not(enter, district):
    one, two = enter("School A"), enter("School B")
    with connected(district) as owner:
        owner.execute("UPDATE schools SET links_held = 100 WHERE name = 'School A'")
    many = (
        "INSERT INTO crawl_links (topic, url, host, depth, anchor, context, parents, good_parents, best, total, nav,"
        " worth) SELECT 'Soil', 'http://a.test/' || %s::text || number, 'a.test', 0, '', '', 1, 1, 0, 0, false, 0"
        " FROM generate_series(1, 1200) AS number"
    )
    with pytest.raises(psycopg.Error) as refused:
        one.execute(many, ("one",))
    assert refused.value.sqlstate == OVER_QUOTA
    two.execute(many, ("two",))
    assert count(two, "crawl_links") == 1200
    with pytest.raises(psycopg.Error, match="quota"):
        put_many_links(one)


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("INSERT INTO spools VALUES (current_school(), gen_random_uuid(), 1)", "spools"),
        ("INSERT INTO school_days SELECT current_school(), current_date - {0}, 1, 1, 1", "school_days"),
        ("INSERT INTO crawl_machines (machine, lease) VALUES ('m{0}', '1 minute')", "crawl_machines"),
    ],
)
def test_no_table_of_the_district_can_be_filled_without_end(enter, district, statement, more):
    one = enter("School A")
    with connected(district) as owner:
        owner.execute("UPDATE schools SET rows_held = 3")
    for number in range(3):
        one.execute(statement.format(number))
    with pytest.raises(psycopg.Error, match="quota"):
        one.execute(statement.format(3))
    assert count(one, more) == 3


def test_a_school_that_erases_itself_leaves_no_link_figure_nor_machine(enter, district):
    one, two = enter("School A"), enter("School B")
    for each in (one, two):
        write_miss(each)
        put_link(each, f"http://{each.info.user}.test/")
        each.execute("INSERT INTO crawl_machines (machine, lease) VALUES (session_user, '1 minute')")
        each.execute("INSERT INTO school_days VALUES (current_school(), current_date, 3, 1, 5)")
        each.execute("INSERT INTO school_health VALUES (current_school(), '{}')")
        each.execute("INSERT INTO applied VALUES (current_school(), 'rules', 1, '', '[]')")
        show_presence(each, version="1", waiting=0, retention_days=30)
    erase_school(one)
    with connected(district) as owner:
        for table in (
            "crawl_links",
            "crawl_machines",
            "school_days",
            "school_health",
            "applied",
            "presence",
            "misses",
        ):
            left = owner.execute(
                f"SELECT name FROM {table} JOIN schools ON schools.id = {table}.school"
            ).fetchall()
            assert left == [("School B",)], table
        shut_out(owner, "School B", erase=True)
        assert [count(owner, table) for table in ("crawl_links", "crawl_machines", "misses")] == [0, 0, 0]


def test_what_is_old_goes_also_when_its_school_comes_no_more(enter, district):
    gone, other = enter("School A"), enter("School B")
    show_presence(gone, version="1", waiting=0, retention_days=30)
    gone.execute(
        "INSERT INTO misses SELECT current_school(), decode(md5(age::text), 'hex'), 'http://a.test/', 'gone',"
        " current_date - age, 1 FROM unnest('{20, 40}'::int[]) AS age"
    )
    gone.execute(
        "INSERT INTO wants SELECT current_school(), decode(md5(age::text), 'hex'), 'http://a.test/',"
        " current_date - age FROM unnest('{20, 40}'::int[]) AS age"
    )
    put_link(gone, "http://a.test/old")
    put_link(gone, "http://a.test/new")
    with connected(district) as owner:
        owner.execute("ALTER TABLE crawl_links DISABLE TRIGGER crawl_links_owner")
        owner.execute("UPDATE crawl_links SET changed_at = now() - interval '91 days' WHERE url LIKE '%old'")
    forget_old(other, retention_days=10)
    assert [count(gone, table) for table in ("misses", "wants", "crawl_links")] == [1, 1, 1]
    assert other.execute("SELECT forget_expired()").fetchone() == (False,)  # it was done today


def test_a_removed_page_is_forgotten_among_the_links_that_schools_crawl_together(enter, district):
    one, two = enter("School A"), enter("School B")
    for number, each in enumerate((one, two)):
        put_link(each, topic=f"topic {number}")
    put_link(two, "http://a.test/other")
    two.execute("UPDATE crawl_links SET final_url = 'http://a.test/soil' WHERE url LIKE '%other'")
    put_link(two, "http://a.test/stays")
    assert forget_link(district, "http://a.test/soil") == 3
    assert two.execute("SELECT url FROM crawl_links").fetchall() == [("http://a.test/stays",)]
