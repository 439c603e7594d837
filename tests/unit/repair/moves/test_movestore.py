"""Known moves in the database, and asking them."""

import pytest

from repair.collection.database import Database
from repair.collection.pages import PageStore
from repair.moves import movestore
from repair.moves.linkswaps import LINKED
from repair.moves.movestore import REPAIR, MoveFinder, MoveStore
from repair.moves.rules import Move
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
    assert store.note(a_move("rain"))
    assert store.note(Move(old="http://b.test/x", new=f"{SITE}/x", origin=REPAIR))
    assert store.moves("school.test") == (a_move("rain"),)
    assert [move.origin for move in store.moves("b.test")] == [REPAIR]


def test_moves_that_are_none_are_not_noted(database):
    store = MoveStore(database)
    assert not store.note(Move(old=f"{SITE}/a", new="https://school.test/a"))
    assert not store.note(Move(old="x", new="y"))
    assert not store.note(Move(old=f"{SITE}/a", new=f"{SITE}/{'b' * 1_000}"))


def test_the_later_move_of_a_page_counts(database):
    store = MoveStore(database)
    store.note(a_move("rain"))
    store.note(a_move("rain", to="newer"))
    assert store.moves("school.test") == (a_move("rain", to="newer"),)


def test_a_move_can_be_unlearnt(database):
    store = MoveStore(database)
    for move in (a_move("rain"), a_move("snow")):
        store.note(move)
    before = store.version("school.test")
    store.forget(f"{SITE}/old/rain")
    assert store.moves("school.test") == (a_move("snow"),)
    assert store.version("school.test") != before
    store.forget(f"{SITE}/new/snow")
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
    assert finder.guesses(f"{SITE}/old/snow") == ()
    store.note(a_move("rain"))
    assert [guess.url for guess in finder.guesses(f"{SITE}/old/snow")] == [f"{SITE}/new/snow"]
    assert finder.directories(f"{SITE}/old/snow") == {f"{SITE}/new/": 0.5}
    assert finder.guesses("nonsense") == ()
    assert finder.directories("nonsense") == {}


def test_a_move_known_already_changes_nothing(database):
    store = MoveStore(database)
    store.note(a_move("rain"))
    before = store.version("school.test")
    assert not store.note(a_move("rain"))
    assert store.version("school.test") == before


def test_hosts_of_one_domain_push_out_no_moves_of_others(database, monkeypatch):
    monkeypatch.setattr(movestore, "_MAX_OF_SITE", 5)
    monkeypatch.setattr(movestore, "_MAX_ALL", 8)
    monkeypatch.setattr(movestore, "_COUNT_EVERY", 1)
    store = MoveStore(database)
    store.note(a_move("rain"))
    for number in range(50):
        store.note(Move(old=f"http://h{number}.evil.test/x", new=f"http://h{number}.evil.test/y"))
    assert store.moves("school.test") == (a_move("rain"),)
    assert [len(store.moves(f"h{number}.evil.test")) for number in (44, 45, 49)] == [0, 1, 1]
    for number in range(8):
        store.note(Move(old=f"http://s{number}.test/x", new=f"http://s{number}.test/y"))
    assert store.moves("school.test") == ()


def test_only_the_latest_moves_of_a_host_are_kept(database, monkeypatch):
    monkeypatch.setattr(movestore, "_MAX_MOVES", 2)
    store = MoveStore(database)
    store.note(Move(old="http://b.test/x", new=f"{SITE}/x"))
    for name in ("rain", "snow", "hail"):
        store.note(a_move(name))
    assert store.moves("school.test") == (a_move("hail"), a_move("snow"))
    assert len(store.moves("b.test")) == 1


def test_a_page_is_followed_from_move_to_move_whatever_its_scheme(database):
    store = MoveStore(database)
    store.note(a_move("rain"))
    store.note(Move(old=f"{SITE}/new/rain", new="http://weather.test/showers"))
    assert store.moved_to(f"{SITE}/old/rain") == "http://weather.test/showers"
    assert store.moved_to("https://school.test/old/rain") == "http://weather.test/showers"
    assert store.moved_to(f"{SITE}/old/snow") is None


def test_moves_that_go_round_in_a_circle_lead_nowhere_else(database):
    store = MoveStore(database)
    store.note(Move(old=f"{SITE}/a", new=f"{SITE}/b"))
    store.note(Move(old=f"{SITE}/b", new=f"{SITE}/a"))
    assert store.moved_to(f"{SITE}/a") == f"{SITE}/b"


def test_a_place_where_everything_is_sent_is_no_move(database):
    store = MoveStore(database)
    for name in ("rain", "snow", "hail"):
        store.note(Move(old=f"{SITE}/old/{name}", new=f"{SITE}/sorry"))
    assert store.moved_to(f"{SITE}/old/rain") == f"{SITE}/sorry"
    store.note(Move(old=f"{SITE}/old/fog", new=f"{SITE}/sorry"))
    assert store.moved_to(f"{SITE}/old/rain") is None


def test_what_readers_chose_is_not_told_as_a_move_of_the_page_itself(database):
    store = MoveStore(database)
    store.note(Move(old=f"{SITE}/old/rain", new=f"{SITE}/x", origin=REPAIR))
    assert store.moved_to(f"{SITE}/old/rain") is None


def test_the_canonical_address_of_a_copy_is_where_the_page_went(database):
    page = a_document("/old/rain", canonical_url=f"{SITE}/showers")
    PageStore(database).put(page, fetched_at=A_MOMENT, seen_at=A_MOMENT)
    assert MoveStore(database).moved_to(f"{SITE}/old/rain") == f"{SITE}/showers"


def test_the_known_move_of_the_page_itself_is_trusted_if_that_page_is_held(database):
    store = MoveStore(database)
    finder = MoveFinder(store, HELD.__contains__)
    store.note(Move(old=f"{SITE}/old/wet", new=f"{SITE}/new/rain"))
    store.note(Move(old=f"{SITE}/old/dry", new=f"{SITE}/nowhere"))
    assert [(guess.url, guess.confidence) for guess in finder.guesses(f"{SITE}/old/wet")] == [
        (f"{SITE}/new/rain", movestore.KNOWN)
    ]
    assert finder.guesses(f"{SITE}/old/dry") == ()


def test_where_many_moves_are_known_news_are_learnt_behind_the_answer(database, monkeypatch):
    monkeypatch.setattr(movestore, "_LEARN_AT_ONCE", 0)
    store = MoveStore(database)
    finder = MoveFinder(store, HELD.__contains__)
    assert not finder.catch_up()
    assert finder.guesses(f"{SITE}/old/snow") == ()
    store.note(a_move("rain"))
    assert finder.guesses(f"{SITE}/old/snow") == ()
    assert finder.catch_up()
    assert not finder.catch_up()
    assert [guess.url for guess in finder.guesses(f"{SITE}/old/snow")] == [f"{SITE}/new/snow"]


def test_told_moves_teach_only_where_the_name_was_kept(database):
    store = MoveStore(database)
    renamed = Move(old=f"{SITE}/old/rain", new=f"{SITE}/new/rainfall", origin=LINKED)
    kept = Move(old=f"{SITE}/old/snow", new=f"{SITE}/new/snow.html", origin=LINKED)
    assert store.note_told(renamed)
    assert store.note_told(kept)
    assert store.moves("school.test") == (kept,)
    assert store.moved_to(renamed.old) == renamed.new


def test_told_moves_yield_to_the_site_and_can_be_taken_back(database):
    store = MoveStore(database)
    store.note(a_move("rain"))
    told = Move(old=f"{SITE}/old/rain", new=f"{SITE}/other/rain", origin=LINKED)
    assert not store.note_told(told)
    store.forget_told(told.old)
    assert store.moved_to(told.old) == f"{SITE}/new/rain"
    store.note_told(Move(old=f"{SITE}/old/snow", new=f"{SITE}/new/snow", origin=LINKED))
    store.forget_told(f"{SITE}/old/snow")
    assert store.moved_to(f"{SITE}/old/snow") is None
