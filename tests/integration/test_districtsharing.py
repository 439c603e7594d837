"""Schools that share what they learn over a real PostgreSQL: told once, offered elsewhere, withdrawn, erased."""

import contextlib
import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from proxy.district import schema
from proxy.district.connection import connected
from proxy.district.membership import leave
from proxy.district.pinning import pin_for_all, unpin_for_all
from proxy.district.reading import DistrictReader
from proxy.district.roles import invite_admin, shut_out
from proxy.district.sending import erase_school, send_batch
from proxy.district.told import digest
from proxy.errors import LinkmendError
from repair.collection.pins import same_page_key
from repair.evidence.choices import Choice
from repair.moves.rules import Move
from tests.integration.client import Client
from tests.integration.processes import eventually, linkmend
from tests.integration.schools import DAY, SchoolStores, invited

_LOST = "http://www.example.org/old/volcano.html"
_NEW = "http://www.example.net/volcano"


@pytest.fixture
def school(district, tmp_path):
    """Opens the stores of a school of this name; all are closed at the end."""
    with contextlib.ExitStack() as stack:

        def opened(name):
            settings = invited(district, name, tmp_path / name)
            return stack.enter_context(contextlib.closing(SchoolStores(tmp_path / name / "data", settings)))

        yield opened


def rows(district, query):
    with connected(district) as owner:
        return owner.execute(query).fetchall()


def test_what_one_school_pins_another_is_offered_with_its_name(school):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    assert one.send() == 1
    two.read()
    assert two.offered(_LOST) == [(_NEW, ("School A",))]
    assert two.offered("https://example.org/old/volcano.html/") == [(_NEW, ("School A",))]
    assert two.offered("http://www.example.org/other") == []
    assert one.read() == 0


def test_a_pin_that_is_taken_back_is_offered_no_more(school):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.send()
    two.read()
    one.pin(_LOST, _NEW + "/other")
    one.send()
    two.read()
    assert two.offered(_LOST) == [(_NEW + "/other", ("School A",))]
    one.pins.forget(_LOST)
    one.send()
    two.read()
    assert two.offered(_LOST) == []


def test_everything_that_waited_for_days_is_told_once_however_often_it_is_sent(school, district):
    one = school("School A")
    for number in range(450):
        one.pin(f"{_LOST}?page={number}", f"{_NEW}/{number}")
    for _ in range(3):
        one.miss("http://www.example.org/gone", readers=4)
    waiting = one.waiting()
    with contextlib.closing(one.connect()) as connection:
        send_batch(connection, one.spools[0])
        # As after kill -9 between the district's commit and the note that it was sent.
        one.spools[0].send_again(0)
    assert one.send() == waiting
    assert rows(district, "SELECT count(*), count(DISTINCT body->>'url') FROM learnt") == [(450, 450)]
    assert rows(district, "SELECT url, kind, day::text, times FROM misses") == [
        ("http://www.example.org/gone", "gone", "2026-03-02", 12)
    ]
    assert one.send() == 0


def test_two_processes_of_one_school_may_send_at_the_same_time(school, district):
    one = school("School A")
    for number in range(300):
        one.pin(f"{_LOST}?page={number}", f"{_NEW}/{number}")
    with ThreadPoolExecutor(3) as threads:
        for sending in [threads.submit(one.send) for _ in range(3)]:
            sending.result()
    assert rows(district, "SELECT count(*) FROM learnt") == [(300,)]


def test_a_standby_that_takes_over_gets_what_it_had_not_heard_of(start_postgres, tmp_path):
    primary = start_postgres()
    district = primary.create_database()
    schema.initialise(district)
    standby = start_postgres(of=primary)
    both = standby.settings(district.database.rpartition("/")[2], standbys=[primary])
    settings = invited(both, "School A", tmp_path / "A")
    with contextlib.closing(SchoolStores(tmp_path / "A" / "data", settings)) as one:
        one.pin(_LOST, _NEW)
        one.send()
        standby.wait_until_caught_up(primary)
        with standby.connect() as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
        one.pin(_LOST + "/2", _NEW)
        one.send()
        primary.kill()
        one.pin(_LOST + "/3", _NEW)
        standby.promote()
        eventually(lambda: _takes_writes(standby), "the standby was not promoted")
        one.send()
        told = rows(both, "SELECT body->>'url' FROM learnt ORDER BY 1")
        assert told == [(_LOST,), (_LOST + "/2",), (_LOST + "/3",)]
        assert one.waiting() == 0


def _takes_writes(server):
    with server.connect() as connection:
        return not connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]


def test_misses_are_told_as_counts_and_days_and_only_of_pages_that_several_missed(school, district):
    one = school("School A")
    one.miss("http://www.example.org/private", readers=2)
    one.miss("http://intranet.local/marks", readers=5)
    one.miss("http://www.example.org/find?q=my+illness", readers=5)
    one.miss("http://www.example.org/gone", readers=3)
    for days in range(5):  # one reader, whose code is another one each day
        one.miss("http://www.example.org/again-and-again", at=DAY - timedelta(days=days))
    one.send()
    assert rows(district, "SELECT url, times FROM misses") == [("http://www.example.org/gone", 3)]
    with connected(district) as owner:
        tables = ("learnt", "misses", "wants", "presence", "usage", "spools")
        told = "".join(str(owner.execute(f"SELECT * FROM {table}").fetchall()) for table in tables)
    assert "reader" not in told
    assert "an admin" not in told


def test_an_erased_address_leaves_the_district_and_the_spool_and_the_other_schools(school, district):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.miss(_LOST, readers=3)
    one.send()
    two.read()
    one.pins.forget(_LOST)
    one.hints.forget(_LOST)
    one.misses.erase(url=_LOST)
    one.send()
    two.read()
    assert two.offered(_LOST) == []
    assert rows(district, "SELECT count(*) FROM misses") == [(0,)]
    assert rows(district, "SELECT kind, body FROM learnt") == [("pin", None)]
    for spool in one.spools:
        with spool._connected() as connection:
            assert "volcano" not in str(connection.execute("SELECT key FROM district_spool").fetchall())


def test_choices_of_another_school_count_as_those_of_an_imported_file(school):
    one, two = school("School A"), school("School B")
    for network in ("n1", "n2", "n3"):
        one.hints.choices.vote(_LOST, _NEW, network=network, at=DAY)
    one.hints.choices.vote(_LOST + "/2", _NEW, network="n1", at=DAY)
    one.send()
    two.read()
    (choice,) = two.hints.choices.latest(5)
    assert (choice.url, choice.chosen, choice.school, choice.times) == (_LOST, _NEW, "School A", 3)
    one.hints.choices.forget(_LOST)
    one.send()
    two.read()
    assert two.hints.choices.latest(5) == ()


def test_choices_of_others_are_not_told_again(school, district):
    one = school("School A")
    one.hints.choices.replace_reported([Choice(url=_LOST, chosen=_NEW, school="a file", times=9, at=DAY)])
    one.send()
    assert rows(district, "SELECT count(*) FROM learnt") == [(0,)]


def test_a_move_counts_once_two_schools_say_the_same(school):
    one, two, three = school("School A"), school("School B"), school("School C")
    for each in (one, two):
        each.hints.note_redirect(_LOST, _NEW)
        each.send()
        three.read()
        expected = [] if each is one else [(_NEW, ("School A", "School B"))]
        assert three.offered(_LOST) == expected


def test_an_error_page_counts_once_two_schools_know_it(school):
    one, two, three = school("School A"), school("School B"), school("School C")
    sketch = tuple(range(20, 60))
    for each in (one, two):
        each.sites.remember("http://www.example.org/x", sketch)
        each.send()
        three.read()
        assert three.sites.is_error_page("http://www.example.org/y", sketch) is (each is two)
    two.sites.vouch("http://www.example.org/x", sketch)
    two.send()
    three.read()
    assert not three.sites.is_error_page("http://www.example.org/y", sketch)


def test_only_what_the_districts_own_admins_pinned_counts_as_a_pin(school, district, tmp_path):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.send()
    with connected(district) as owner:
        login = invite_admin(owner, "ida" + str(owner.info.dbname))
    (tmp_path / "ida").write_text(login.password)
    ida = replace(district, database_user=login.user, database_password_file=str(tmp_path / "ida"))
    with connected(ida) as connection:
        pin_for_all(connection, _LOST, _NEW + "/of-the-district")
        with pytest.raises(LinkmendError, match="public"):
            pin_for_all(connection, _LOST, "http://10.0.0.1/")
    two.read()
    first, second = two.elsewhere.offers(_LOST)
    assert (first.target, first.is_pinned) == (_NEW + "/of-the-district", True)
    assert (second.target, second.is_pinned) == (_NEW, False)
    with contextlib.closing(one.connect()) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        pin_for_all(connection, _LOST, "http://evil.example/")
    with connected(ida) as connection:
        assert unpin_for_all(connection, "https://example.org/old/volcano.html")
    two.read()
    assert [offer.is_pinned for offer in two.elsewhere.offers(_LOST)] == [False]


@pytest.mark.parametrize(
    "body",
    [
        {"url": _LOST, "target": "javascript:alert(1)"},
        {"url": _LOST, "target": "http://127.0.0.1/admin"},
        {"url": _LOST, "target": "http://router.local/reset"},
        {"url": _LOST, "target": _LOST},
        {"url": _LOST, "target": ["http://a.example/"]},
        {"url": _LOST},
        [1],
        "http://a.example/",
        {"url": _LOST, "target": "http://a.example/" + "x" * 3000},
    ],
)
def test_what_a_hostile_school_writes_is_not_offered(school, body):
    one, two = school("School A"), school("School B")
    with contextlib.closing(one.connect()) as connection:
        connection.execute(
            "INSERT INTO learnt (school, kind, key, body) VALUES (current_school(), 'pin', %s, %s)",
            (digest("pin", same_page_key(_LOST)), json.dumps(body)),
        )
    assert two.read() == 1
    assert two.offered(_LOST) == []


@pytest.mark.parametrize("body", ["[" * 4000 + "]" * 4000, "1e8000", '{"url": 1e8000}'])
def test_a_row_that_nobody_can_read_keeps_nobody_from_reading_the_others(school, body):
    hostile, honest, third = school("School A"), school("School B"), school("School C")
    with contextlib.closing(hostile.connect()) as connection:
        connection.execute(
            "INSERT INTO learnt (school, kind, key, body) VALUES (current_school(), 'pin', %s, %s)",
            (digest("pin", "any"), body),
        )
    honest.pin(_LOST, _NEW)
    honest.send()
    third.read()
    assert third.offered(_LOST) == [(_NEW, ("School B",))]


@pytest.mark.parametrize("days", [2**31 - 1, 0])
def test_how_long_a_hostile_school_keeps_its_rows_keeps_others_from_nothing(school, district, days):
    hostile, honest = school("School A"), school("School B")
    with contextlib.closing(hostile.connect()) as connection:
        connection.execute(
            "INSERT INTO presence (school, version, waiting, retention_days) VALUES (current_school(), '1', 0, %s)",
            (days,),
        )
        connection.execute(
            "INSERT INTO misses VALUES (current_school(), %s, 'http://a.example/', 'gone', '2020-01-01', 1)",
            (b"k" * 16,),
        )
    with contextlib.closing(honest.connect()) as connection:
        assert connection.execute("SELECT forget_expired()").fetchone() == (True,)
    assert rows(district, "SELECT count(*) FROM misses") == [(1 if days else 0,)]


def test_a_hostile_school_says_one_thing_of_a_page_and_leaves_room_for_others(school):
    hostile, honest, third = school("School A"), school("School B"), school("School C")
    with contextlib.closing(hostile.connect()) as connection:
        for kind, number in itertools.product(("pin", "move"), range(60)):
            connection.execute(
                "INSERT INTO learnt (school, kind, key, body) VALUES (current_school(), %s, %s, %s)",
                (
                    kind,
                    digest(kind, f"{number}"),
                    json.dumps({"url": _LOST, "target": f"http://0{number}.evil.example/"}),
                ),
            )
    honest.pin(_LOST, _NEW)
    honest.send()
    third.read()
    assert third.offered(_LOST) == [(_NEW, ("School B",))]


def test_what_a_school_said_is_forgotten_everywhere_when_it_is_shut_out(school, district):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.send()
    two.read()
    assert two.offered(_LOST)
    with connected(district) as owner:
        shut_out(owner, "School A", erase=False)
    two.read()
    assert two.offered(_LOST) == []


def test_a_school_that_leaves_may_take_its_rows_with_it(school, district):
    one, two = school("School A"), school("School B")
    for each in (one, two):
        each.pin(f"{_LOST}/{each.settings.database_user}", _NEW)
        each.miss("http://www.example.org/gone", readers=3)
        each.send()
    one.read()
    assert leave(one.settings, one.data, one.collection.database, erase=True) == 1
    assert rows(district, "SELECT count(*) FROM misses") == [(1,)]
    assert rows(district, "SELECT count(*) FROM learnt WHERE body IS NOT NULL") == [(1,)]
    assert one.elsewhere.count() == 0
    one.pin(_LOST, _NEW)
    assert one.waiting() == 0


def test_reading_goes_on_where_it_stopped_and_begins_anew_in_another_district(
    school, district, postgres, tmp_path
):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.send()
    with connected(district) as owner:
        owner.execute("ALTER TABLE learnt DISABLE TRIGGER learnt_stamp")
        owner.execute("UPDATE learnt SET changed_at = now() - interval '1 hour'")
        owner.execute("ALTER TABLE learnt ENABLE TRIGGER learnt_stamp")
    assert [two.read(), two.read()] == [1, 0]
    with connected(district) as owner:
        owner.execute("UPDATE about SET district = gen_random_uuid()")
    assert two.read() == 1


def test_a_row_that_the_database_does_not_take_holds_up_no_other(school, district):
    one = school("School A")
    one.pin(_LOST, _NEW)
    with one.topics.write() as connection:
        connection.execute(
            "INSERT INTO topics VALUES ('too long', '[]', ?, '[]', 'en', 1, 1, '', '[]', 0)",
            (json.dumps(["word" * 5000]),),
        )
        connection.execute(
            "INSERT INTO topics VALUES ('rocks', '[]', '[\"magma\"]', '[]', 'en', 1, 1, '', '[]', 0)"
        )
    one.send()
    assert rows(district, "SELECT body->>'name' FROM learnt WHERE kind = 'topic'") == [("rocks",)]
    assert one.waiting() == 0
    assert one.send() == 0


def settings_text(settings):
    return (
        f'[district]\ndatabase = "{settings.database}"\ndatabase_user = "{settings.database_user}"\n'
        f'database_password_file = "{settings.database_password_file}"\n'
    )


def alternatives(running, url=_LOST):
    return Client(running.url).get(url, Accept="application/json").told["alternatives"]


def test_mended_once_mended_for_the_district_within_a_minute(start_postgres, tmp_path, start_linkmend):
    """The real proxies: one is killed before a pin, the primary is killed too, and a standby takes over."""
    primary = start_postgres()
    district = primary.create_database()
    schema.initialise(district)
    standby = start_postgres(of=primary)
    district = primary.settings(district.database.rpartition("/")[2], standbys=[standby])
    there = invited(district, "School B", tmp_path / "B")
    here = invited(district, "School A", tmp_path / "A")
    one = SchoolStores(tmp_path / "A" / "data", here)
    second = start_linkmend("--offline", data=tmp_path / "B" / "data", settings=settings_text(there))
    first = start_linkmend("--offline", data=one.data, settings=settings_text(one.settings))
    first.kill()
    one.pin(_LOST, _NEW)
    one.close()
    standby.wait_until_caught_up(primary)
    primary.kill()
    assert alternatives(second) == []
    again = start_linkmend("--offline", data=one.data, settings=settings_text(one.settings))

    again.wait_for_line("what is to be shared waits")
    standby.promote()
    found = eventually(lambda: alternatives(second), "the pin was not offered", timeout_s=60)
    assert [(each["url"], each["source"], each["reasons"], each["told_by"]) for each in found] == [
        (_NEW, "shared", ["elsewhere"], ["School A"])
    ]
    page = Client(second.url).open_page(_LOST)
    assert "Confirmed at" in page.text
    assert "School A" in page.text
    told = linkmend("district", "status", "--config", second.config, "--data", second.data, "--json")
    assert json.loads(told.stdout)["school"] == "School B"
    again.stop()
    left = linkmend("district", "leave", "--erase", "--config", again.config, "--data", again.data)
    assert "1 entries deleted" in left.stdout, left.stderr
    eventually(lambda: not alternatives(second), "what was withdrawn is still offered", timeout_s=60)
    joined = linkmend("district", "join", "--config", again.config, "--data", again.data)
    assert "joined as School A" in joined.stdout, joined.stderr


def test_a_school_that_wants_no_offers_gets_none(school):
    one, two = school("School A"), school("School B")
    one.pin(_LOST, _NEW)
    one.send()
    two.read()
    DistrictReader(two.collection.database, two.sites).forget()
    assert two.offered(_LOST) == []


def test_a_school_can_erase_all_its_rows_with_its_own_rights(school, district):
    one = school("School A")
    one.pin(_LOST, _NEW)
    one.miss("http://www.example.org/gone", readers=3)
    one.send()
    with contextlib.closing(one.connect()) as connection:
        assert erase_school(connection) == 1
    assert rows(district, "SELECT count(*) FROM misses") == [(0,)]


def test_redirects_are_told_only_between_public_addresses(school, district):
    one = school("School A")
    one.hints._moves.note(Move(old="http://intranet.local/a", new=_NEW))
    one.hints._moves.note(Move(old=_LOST, new="http://intranet.local/a"))
    one.send()
    assert rows(district, "SELECT count(*) FROM learnt") == [(0,)]
