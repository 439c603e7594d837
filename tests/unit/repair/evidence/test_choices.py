"""What earlier users chose."""

from datetime import timedelta

import pytest

from repair.collection.database import Database
from repair.collection.pages import PageSummary
from repair.evidence.choices import Choice, ChoiceStore, PreferredPage
from repair.ranking.plain import RankedPage
from repair.ranking.preference import prefer
from tests.holdings import SITE
from tests.make import A_MOMENT

GONE = f"{SITE}/gone"


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path / "collection.sqlite3")
    yield ChoiceStore(database)
    database.close()


def a_choice(chosen, **known):
    return Choice(**{"url": GONE, "chosen": f"{SITE}{chosen}", "at": A_MOMENT, "school": "other"} | known)


def voted(store, chosen, *networks, at=A_MOMENT, **known):
    """How many of the networks' clicks counted."""
    return sum(store.vote(GONE, f"{SITE}{chosen}", network=network, at=at, **known) for network in networks)


def favourites(store, now=A_MOMENT):
    return [each.url.removeprefix(SITE) for each in store.favourites(GONE, now=now)]


def networks(store):
    return {choice.chosen.removeprefix(SITE): choice.networks for choice in store.of(GONE)}


def test_the_most_chosen_comes_first(store):
    voted(store, "/a", "one", "two", "three")
    voted(store, "/b", "four", "five", "six", "seven")
    assert favourites(store) == ["/b", "/a"]


def test_choices_of_fewer_than_three_networks_on_one_day_do_not_count(store):
    for day in range(5):
        voted(store, "/a", "one", "two", at=A_MOMENT + timedelta(days=day))
    assert favourites(store) == []
    assert networks(store) == {"/a": 2}
    voted(store, "/a", "one", "two", "three", at=A_MOMENT + timedelta(days=6))
    assert favourites(store) == ["/a"]


def test_a_network_has_one_vote_per_link_and_day(store):
    assert voted(store, "/a", "one", "one", "one") == 1
    assert voted(store, "/b", "one") == 0
    assert networks(store) == {"/a": 1}
    assert voted(store, "/b", "one", at=A_MOMENT + timedelta(days=1)) == 1


def test_a_vote_moves_with_a_user_who_came_back(store):
    voted(store, "/a", "one")
    assert voted(store, "/b", "one", instead_of=f"{SITE}/c") == 0
    assert voted(store, "/b", "one", instead_of=f"{SITE}/a") == 1
    assert [(choice.chosen[-2:], choice.times) for choice in store.of(GONE)] == [("/b", 1), ("/a", 0)]


def test_the_votes_of_a_network_and_of_a_day_are_bounded(store, monkeypatch):
    monkeypatch.setattr("repair.evidence.choices._VOTES_OF_NETWORK", 3)
    monkeypatch.setattr("repair.evidence.choices._VOTES", 5)
    links = [f"{SITE}/gone/{number}" for number in range(10)]
    page = f"{SITE}/a"
    assert sum(store.vote(link, page, network="one", at=A_MOMENT) for link in links) == 3
    assert sum(store.vote(link, page, network="two", at=A_MOMENT) for link in links) == 2
    assert store.vote(links[0], page, network="one", at=A_MOMENT + timedelta(days=1))


def test_stored_choices_are_bounded_and_our_own_stay(store, monkeypatch):
    monkeypatch.setattr("repair.evidence.choices._MAX_CHOICES", 3)
    voted(store, "/ours", "one", at=A_MOMENT - timedelta(days=9))
    store.replace_reported([a_choice(f"/{number}") for number in range(9)])
    assert len(store.latest(10)) == 3
    assert "/ours" in networks(store)


def test_networks_are_forgotten_with_the_day(store):
    voted(store, "/a", "one")
    voted(store, "/b", "two", at=A_MOMENT + timedelta(days=1))
    with store._database.read() as connection:
        assert connection.execute("SELECT network FROM votes").fetchall() == [("two",)]


def test_choices_lose_weight_over_time(store):
    later = A_MOMENT + timedelta(days=366)
    store.replace_reported([a_choice("/old", times=3), a_choice("/new", times=2, at=later)])
    assert favourites(store, now=later) == ["/new", "/old"]


def test_other_schools_count_half(store):
    store.replace_reported([a_choice("/theirs", times=5)])
    voted(store, "/ours", "one", "two", "three")
    assert favourites(store) == ["/ours", "/theirs"]


def test_choices_from_and_to_an_address_are_forgotten(store):
    store.replace_reported([a_choice("/a"), a_choice("/b")])
    store.forget(f"{SITE}/a")
    assert favourites(store) == ["/b"]
    store.forget(GONE)
    assert favourites(store) == []


def test_a_choice_that_an_admin_forgets_does_not_come_back_the_same_day(store):
    voted(store, "/a", "one", "two", "three")
    assert store.forget_choice(GONE, f"{SITE}/a") == 1
    assert voted(store, "/a", "one", "two", "three") == 0
    assert store.of(GONE) == ()


def test_invalid_choices_are_not_recorded(store):
    assert voted(store, "/gone", "one") == 0
    assert voted(store, "/a", "") == 0
    assert not store.vote("nonsense", f"{SITE}/a", network="one", at=A_MOMENT)
    assert store.favourites("nonsense", now=A_MOMENT) == ()
    assert store.of("nonsense") == ()


def a_ranked(name, confidence, score=None):
    page = PageSummary(page=1, url=f"{SITE}/{name}", title="", language="en", digest=b"")
    return RankedPage(
        page=page, score=confidence if score is None else score, confidence=confidence, reasons=("url",)
    )


def preferred(*ranked, **shares):
    found = prefer(
        ranked, [PreferredPage(url=f"{SITE}/{name}", share=share) for name, share in shares.items()]
    )
    return [each.page.url.rpartition("/")[2] for each in found]


def test_choices_order_pages_that_the_text_supports_equally():
    equals = (a_ranked("a", 0.8), a_ranked("b", 0.8), a_ranked("c", 0.795))
    assert preferred(*equals, c=0.9, b=0.5) == ["c", "b", "a"]
    assert preferred(*equals) == ["a", "b", "c"]


def test_choices_put_no_page_before_one_that_the_text_supports_more():
    assert preferred(a_ranked("a", 0.8), a_ranked("b", 0.78), b=0.99) == ["a", "b"]
    assert preferred(a_ranked("a", 0.8, 3.0), a_ranked("b", 0.8, 2.0), b=0.99) == ["a", "b"]
    # Nor step by step, by way of others that are nearly as good.
    steps = [a_ranked(name, 0.8 - 0.006 * at) for at, name in enumerate("abcd")]
    assert preferred(*steps, d=0.9) == ["a", "b", "d", "c"]


def test_choices_add_no_page_and_change_no_confidence():
    found = prefer(
        [a_ranked("a", 0.8)],
        [PreferredPage(url=f"{SITE}/a", share=0.9), PreferredPage(url=f"{SITE}/x", share=1)],
    )
    assert [(each.score, each.confidence, each.reasons) for each in found] == [(0.8, 0.8, ("url", "shared"))]


def test_repeated_reports_of_a_school_do_not_add_up_and_older_ones_are_ignored(store):
    yesterday = A_MOMENT - timedelta(days=1)
    assert store.replace_reported([a_choice("/a", school="other", times=3)]) == 1
    assert store.replace_reported([a_choice("/a", school="other", times=4)]) == 1
    assert store.replace_reported([a_choice("/a", school="other", times=9, at=yesterday)]) == 0
    assert [choice.times for choice in store.latest(10)] == [4]


def test_a_failed_report_stores_nothing(store):
    def broken_off():
        yield a_choice("/a", school="other")
        raise ValueError("line 2")

    with pytest.raises(ValueError, match="line 2"):
        store.replace_reported(broken_off())
    assert store.latest(10) == ()


def test_confirmed_choices_are_our_users_choices_that_an_admin_pinned(store):
    for page in ("/a", "/b"):
        voted(store, page, page, page + "2")
    store.replace_reported([a_choice("/a", times=9)])
    (choice,) = store.confirmed_choices(lambda url, chosen: (url, chosen) == (GONE, f"{SITE}/a"))
    assert (choice.chosen, choice.school, choice.times) == (f"{SITE}/a", "", 2)


def test_forgetting_a_school_deletes_its_choices_but_never_our_own(store):
    voted(store, "/a", "one")
    store.replace_reported([a_choice("/a"), a_choice("/b", school="another")])
    assert store.forget_school("other") == 1
    assert store.forget_school("") == 0
    assert {choice.school for choice in store.latest(10)} == {"", "another"}


def test_a_school_name_is_stable_and_unique(store, tmp_path):
    other = Database(tmp_path / "other.sqlite3")
    assert store.school() == store.school() != ChoiceStore(other).school()
    other.close()
