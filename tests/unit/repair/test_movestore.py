"""Known moves in the database, and asking them."""

import pytest

from repair.database import Database
from repair.moves import Move
from repair.movestore import MoveFinder, MoveStore
from repair.pages import PageStore
from tests.holdings import SITE, a_document
from tests.make import A_MOMENT

HELD = {f"{SITE}/new/{name}" for name in ("rain", "snow", "hail")}


def a_move(name, to="new"):
    return Move(old=f"{SITE}/old/{name}", new=f"{SITE}/{to}/{name}")


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield database
    database.close()


def test_moves_are_kept_by_the_host_they_left(database):
    store = MoveStore(database)
    assert store.note([a_move("rain"), Move(old="http://b.test/x", new=f"{SITE}/x", origin="repair")]) == 2
    assert store.moves("school.test") == (a_move("rain"),)
    assert [move.origin for move in store.moves("b.test")] == ["repair"]


def test_moves_that_are_none_are_not_noted(database):
    store = MoveStore(database)
    nowhere = [Move(old=f"{SITE}/a", new="https://school.test/a"), Move(old="x", new="y")]
    assert store.note(nowhere) == 0


def test_the_later_move_of_a_page_counts(database):
    store = MoveStore(database)
    store.note([a_move("rain")])
    store.note([a_move("rain", to="newer")])
    assert store.moves("school.test") == (a_move("rain", to="newer"),)


def test_a_move_can_be_unlearnt(database):
    store = MoveStore(database)
    store.note([a_move("rain")])
    store.forget(f"{SITE}/old/rain")
    assert store.moves("school.test") == ()


def test_canonical_addresses_of_held_pages_are_moves(database):
    store = MoveStore(database)
    page = a_document("/old/rain", canonical_url=f"{SITE}/new/rain")
    PageStore(database).put(page, fetched_at=A_MOMENT, seen_at=A_MOMENT)
    assert [move.origin for move in store.moves("school.test")] == ["canonical"]
    assert store.moves("other.test") == ()


def test_what_is_noted_is_learnt_at_once(database):
    store = MoveStore(database)
    finder = MoveFinder(store, HELD.__contains__)
    assert finder.answer(f"{SITE}/old/snow") is None
    store.note([a_move("rain")])
    found = finder.answer(f"{SITE}/old/snow")
    assert found is not None
    assert found.url == f"{SITE}/new/snow"
    assert finder.guesses("nonsense") == ()
