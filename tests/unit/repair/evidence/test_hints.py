"""What is known beside words, through its one door."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from repair.hints import Hints
from repair.pins import Pins
from repair.pointers import Kind
from repair.settings import RepairSettings
from tests.holdings import SITE, a_collection, a_document, a_link
from tests.make import A_MOMENT, a_broken_link

GONE = f"{SITE}/old/rain"
TEXT = " ".join(f"word{number}" for number in range(200))


@pytest.fixture
def collection(tmp_path):
    pages = [a_document(f"/new/{name}", title=name) for name in ("rain", "snow", "hail")]
    with a_collection(tmp_path, *pages) as collection:
        yield collection


@pytest.fixture
def hints(collection):
    return Hints(collection, RepairSettings())


def pointers(hints, url=GONE):
    return [(each.url.removeprefix(SITE), each.kind) for each in hints.pointers(a_broken_link(url))]


def test_nobody_points_at_anything_to_begin_with(hints):
    assert hints.pointers(a_broken_link(GONE)) == ()
    assert hints.pointers(a_broken_link("nonsense")) == ()
    assert not hints.catch_up() or not hints.catch_up()


def test_a_redirect_seen_points_where_the_pages_beside_it_went(hints):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    assert pointers(hints) == [("/new/rain", Kind.MOVE)]
    assert pointers(hints, f"{SITE}/old/fog") == []
    assert hints.directories(GONE) == {f"{SITE}/new/": 0.5}


def chosen(hints, url, page, *networks, **known):
    for network in networks:
        hints.note_choice(url, page, A_MOMENT, network=network, **known)


def test_what_users_chose_is_pointed_at_by_nobody(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    assert pointers(hints) == []
    assert [each.url for each in hints.favourites(GONE)] == [f"{SITE}/new/hail"]


def test_choices_alone_teach_no_move_with_an_admins_pin_they_do(hints, collection):
    old, new = f"{SITE}/old/snow", f"{SITE}/new/snow"
    chosen(hints, old, new, *map(str, range(12)))
    assert pointers(hints) == []
    Pins(collection.database).pin(old, new, "admin", A_MOMENT)
    chosen(hints, old, new, "another")
    assert pointers(hints) == [("/new/rain", Kind.MOVE)]
    hints.forget_choice(old, new)
    assert pointers(hints) == []


def test_moves_that_clicks_taught_an_earlier_version_are_unlearnt(hints, collection):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    with collection.database.write() as connection:
        connection.execute("UPDATE moves SET origin = 'repair'")
    assert pointers(Hints(collection, RepairSettings())) == []


def test_choices_do_not_overrule_what_the_site_says(hints):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    chosen(hints, f"{SITE}/old/snow", f"{SITE}/other/snow", "one", "two", "three")
    assert pointers(hints) == [("/new/rain", Kind.MOVE)]


def test_going_up_to_the_directory_is_no_choice(hints, collection):
    collection.add(a_document("/old/"), fetched_at=A_MOMENT)
    chosen(hints, GONE, f"{SITE}/old/", "one", "two", "three")
    assert hints.choices.of(GONE) == ()


def test_a_page_that_says_what_our_copy_says_is_pointed_at(hints, collection):
    collection.add(a_document(GONE, text=TEXT), fetched_at=A_MOMENT)
    collection.add(a_document("/showers", text=TEXT + " and more"), fetched_at=A_MOMENT)
    collection.add(a_document("/weather", text=TEXT.replace("word", "else")), fetched_at=A_MOMENT)
    while hints.catch_up():
        pass
    (pointer,) = hints.pointers(a_broken_link(GONE))
    assert (pointer.url, pointer.kind) == (f"{SITE}/showers", Kind.DUPLICATE)
    assert 0.85 < pointer.confidence <= 0.95


def test_what_is_forgotten_points_nowhere(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    hints.note_redirect(GONE, f"{SITE}/new/rain")
    hints.tags.attach(GONE, "weather")
    hints.forget(f"{GONE}#part")
    hints.forget("nonsense")
    assert pointers(hints) == []
    assert hints.favourites(GONE) == ()
    assert hints.tags.tags(GONE) == ()


def linked(number):
    return a_document(f"/page{number}", links=[a_link(f"/target{number}", "Worksheet")])


def test_anchors_that_lead_anywhere_are_learnt_as_the_links_grow(hints, collection):
    assert not hints.is_stop_anchor("worksheet")
    for number in range(20):
        collection.add(linked(number), fetched_at=A_MOMENT)
    other = Hints(collection, RepairSettings())
    while hints.catch_up():
        pass
    assert hints.is_stop_anchor("  WORKSHEET ")
    assert not other.is_stop_anchor("Worksheet")
    assert not other.catch_up()
    assert other.is_stop_anchor("Worksheet")
    assert Hints(collection, RepairSettings()).is_stop_anchor("Worksheet")


def test_the_admin_s_and_the_built_in_stop_anchors_count_too(collection):
    hints = Hints(collection, RepairSettings(stop_anchors=("Visit  our FRIENDS",)))
    assert hints.is_stop_anchor("visit our friends!")
    assert hints.is_stop_anchor("click here")
    assert not hints.is_stop_anchor("water cycle")


def test_readers_and_writers_in_many_threads_do_not_disturb_each_other(collection):
    everyone = [Hints(collection, RepairSettings()) for _ in range(2)]

    def work(number):
        hints = everyone[number % 2]
        for turn in range(5):
            hints.note_redirect(f"{SITE}/old/{number}-{turn}", f"{SITE}/new/{number}-{turn}")
            chosen(hints, GONE, f"{SITE}/new/hail", f"{number}-{turn}")
            hints.pointers(a_broken_link(GONE))
            hints.catch_up()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert [choice.networks for choice in everyone[0].choices.of(GONE)] == [20]


def test_a_page_that_a_reader_came_back_from_counts_less(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    chosen(hints, GONE, f"{SITE}/other/snow", "one", "two", "three", unfit=f"{SITE}/new/hail")
    assert [each.url for each in hints.favourites(GONE)] == [f"{SITE}/other/snow"]
