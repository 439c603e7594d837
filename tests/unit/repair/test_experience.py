"""What earlier readers chose."""

from datetime import timedelta

import pytest

from repair.database import Database
from repair.experience import Choice, ChoiceStore, Favourite, SharedExperience
from repair.model import HeldPage
from tests.holdings import SITE
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/gone"


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield ChoiceStore(database)
    database.close()


def a_choice(chosen, **known):
    return Choice(**{"url": GONE, "chosen": f"{SITE}{chosen}", "at": A_MOMENT} | known)


def favourites(store, now=A_MOMENT):
    return [each.url.removeprefix(SITE) for each in store.favourites(GONE, now=now)]


def test_the_most_chosen_comes_first(store):
    store.note([a_choice("/a"), a_choice("/b"), a_choice("/b")])
    assert favourites(store) == ["/b", "/a"]


def test_more_readers_make_it_surer(store):
    store.note([a_choice("/a")])
    once = store.favourites(GONE, now=A_MOMENT)[0].share
    store.note([a_choice("/a", times=9)])
    assert once == 0.5
    assert once < store.favourites(GONE, now=A_MOMENT)[0].share < 1.0


def test_what_was_refused_as_often_as_chosen_is_left_out(store):
    store.note([a_choice("/a"), a_choice("/a", times=0, refused=1), a_choice("/b")])
    assert favourites(store) == ["/b"]


def test_choices_fade(store):
    store.note([a_choice("/old", times=3), a_choice("/new", times=2, at=A_MOMENT + timedelta(days=366))])
    assert favourites(store, now=A_MOMENT + timedelta(days=366)) == ["/new", "/old"]


def test_other_schools_count_half(store):
    store.note([a_choice("/theirs", school="other"), a_choice("/ours")])
    assert favourites(store) == ["/ours", "/theirs"]


def test_how_often_our_own_readers_chose_a_page_is_told(store):
    store.note([a_choice("/a", times=3, refused=1), a_choice("/a", school="other")])
    assert store.times(GONE, f"{SITE}/a") == 2
    assert store.times(GONE, f"{SITE}/b") == 0


def test_choices_from_and_to_an_address_are_forgotten(store):
    store.note([a_choice("/a"), a_choice("/b")])
    store.forget(f"{SITE}/a")
    assert favourites(store) == ["/b"]
    store.forget(GONE)
    assert favourites(store) == []


def test_what_is_no_choice_is_not_noted(store):
    assert (
        store.note([a_choice("/gone"), a_choice("/a", url="nonsense"), a_choice("/a", school="x", url="")])
        == 0
    )
    assert store.favourites("nonsense", now=A_MOMENT) == ()


class FakeExperience:
    def favourites(self, url, *, now):
        return (Favourite(url="/held", share=0.8), Favourite(url="/lost", share=0.1))


class FakePages:
    def get(self, url):
        if url != "/held":
            return None
        known = {"language": "en", "fetched_at": A_MOMENT, "pinned": False, "has_copy": False}
        return HeldPage(url=url, title="Water cycle", text="", **known)


def test_the_titles_of_held_favourites_are_evidence():
    evidence = SharedExperience(FakeExperience(), FakePages()).find(a_broken_link(GONE))
    assert evidence is not None
    assert evidence.terms == (("water", 0.8), ("cycl", 0.8))
    assert evidence.text == "Water cycle"


def test_what_a_school_says_again_does_not_add_up_and_older_news_is_none(store):
    yesterday = A_MOMENT - timedelta(days=1)
    assert store.take_over([a_choice("/a", school="other", times=3)]) == 1
    assert store.take_over([a_choice("/a", school="other", times=4)]) == 1
    assert store.take_over([a_choice("/a", school="other", times=9, at=yesterday)]) == 0
    assert [choice.times for choice in store.latest(10)] == [4]


def test_when_the_telling_fails_nothing_of_it_is_kept(store):
    def broken_off():
        yield a_choice("/a", school="other")
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        store.take_over(broken_off())
    assert store.latest(10) == ()


def test_confirmed_is_what_our_own_readers_chose_twice_more_than_they_refused_it(store):
    store.note([a_choice("/a", times=2), a_choice("/b", times=1), a_choice("/c", times=3, refused=2)])
    store.note([a_choice("/d", times=9, school="other")])
    assert list(store.confirmed()) == [a_choice("/a", times=2)]


def test_all_that_a_school_told_is_forgotten_but_never_our_own(store):
    store.note([a_choice("/a"), a_choice("/a", school="other"), a_choice("/b", school="another")])
    assert store.forget_school("other") == 1
    assert store.forget_school("") == 0
    assert {choice.school for choice in store.latest(10)} == {"", "another"}


def test_a_school_is_called_the_same_every_time_and_like_no_other(store, tmp_path):
    other = Database(tmp_path / "other.sqlite3")
    assert store.school() == store.school() != ChoiceStore(other).school()
    other.close()
