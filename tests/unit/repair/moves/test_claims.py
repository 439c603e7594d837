"""Who is believed about a move."""

import pytest

from repair.collection.database import Database
from repair.moves import claims
from repair.moves.claims import LinkClaims
from repair.moves.rules import Move

MOVE = Move(old="http://site.test/maths/old/sums", new="http://site.test/maths/new/sums")
AWAY = Move(old="http://site.test/maths/old/sums", new="http://elsewhere.test/sums")


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield database
    database.close()


@pytest.fixture
def told(database):
    store = LinkClaims(database)
    return lambda page, move=MOVE: store.note(page, move)


@pytest.mark.parametrize(
    ("page", "believed"),
    [
        ("http://site.test/maths/index.html", True),
        ("http://site.test/", True),
        ("http://site.test/biology/", False),
        ("http://site.test/biology", False),
        ("http://www.site.test/", False),
        ("http://other.test/links", False),
        ("no address", False),
    ],
)
def test_one_page_is_believed_about_its_own_part_of_its_host(told, page, believed):
    assert told(page) is believed


def test_two_other_parts_of_the_site_are_believed(told):
    assert not told("http://site.test/biology/a")
    assert not told("http://site.test/biology/b")
    assert told("http://site.test/physics/a")


def test_two_other_sites_are_believed_but_not_two_hosts_of_one(told):
    assert not told("http://one.test/links")
    assert not told("http://www.one.test/links")
    assert told("http://two.test/links")


def test_only_the_site_itself_sends_its_pages_to_another_site(told):
    assert not any(told(f"http://{name}.test/links", AWAY) for name in ("one", "two", "three", "elsewhere"))
    assert not any(told(f"http://site.test/{name}/", AWAY) for name in ("biology", "physics"))
    assert told("http://site.test/maths/", AWAY)


def test_disagreement_ends_the_claim(told):
    other = Move(old=MOVE.old, new="http://site.test/maths/sums-and-more")
    assert told("http://site.test/maths/")
    assert not told("http://other.test/links", other)
    assert not told("http://site.test/maths/")


def test_a_page_may_correct_itself(told):
    other = Move(old=MOVE.old, new="http://site.test/maths/sums-and-more")
    assert told("http://site.test/maths/", other)
    assert told("http://site.test/maths/")


def test_claims_can_be_forgotten(database, told):
    told("http://one.test/links")
    LinkClaims(database).forget(MOVE.old)
    assert not told("http://two.test/links")


def test_a_site_that_claims_without_end_pushes_out_its_own_claims(database, told, monkeypatch):
    monkeypatch.setattr(claims, "_MAX_OF_SITE", 3)
    told("http://one.test/links")
    for number in range(20):
        move = Move(old=f"http://site.test/{number}/a", new=f"http://site.test/{number}/b")
        told("http://loud.test/links", move)
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM move_claims").fetchone() == (4,)
    assert told("http://two.test/links")


def test_many_tellers_of_one_page_take_limited_space(database, told):
    for number in range(40):
        told(f"http://s{number}.test/links")
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM move_claims").fetchone()[0] <= 8
