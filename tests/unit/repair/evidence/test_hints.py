"""What is known beside words, through its one door."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from repair.collection.pins import Pins
from repair.evidence.hints import Hints
from repair.knowntargets import TargetKind
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


def known_targets(hints, url=GONE):
    return [(each.url.removeprefix(SITE), each.kind) for each in hints.known_targets(a_broken_link(url))]


def test_an_empty_collection_has_no_known_targets(hints):
    assert hints.known_targets(a_broken_link(GONE)) == ()
    assert hints.known_targets(a_broken_link("nonsense")) == ()
    assert not hints.catch_up() or not hints.catch_up()


def test_a_redirect_teaches_where_neighbouring_pages_moved(hints):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    assert known_targets(hints) == [("/new/rain", TargetKind.MOVE)]
    assert known_targets(hints, f"{SITE}/old/fog") == []
    assert hints.directories(GONE) == {f"{SITE}/new/": 0.5}


def chosen(hints, url, page, *networks, **known):
    for network in networks:
        hints.note_choice(url, page, A_MOMENT, network=network, **known)


def test_user_choices_are_no_known_targets(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    assert known_targets(hints) == []
    assert [each.url for each in hints.favourites(GONE)] == [f"{SITE}/new/hail"]


def test_choices_teach_a_move_only_with_an_admins_pin(hints, collection):
    old, new = f"{SITE}/old/snow", f"{SITE}/new/snow"
    chosen(hints, old, new, *map(str, range(12)))
    assert known_targets(hints) == []
    Pins(collection.database).pin(old, new, "admin", A_MOMENT)
    chosen(hints, old, new, "another")
    assert known_targets(hints) == [("/new/rain", TargetKind.MOVE)]
    hints.forget_choice(old, new)
    assert known_targets(hints) == []


def test_moves_learnt_from_clicks_by_an_earlier_version_are_deleted(hints, collection):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    with collection.database.write() as connection:
        connection.execute("UPDATE moves SET origin = 'repair'")
    assert known_targets(Hints(collection, RepairSettings())) == []


def test_choices_do_not_override_redirects(hints):
    hints.note_redirect(f"{SITE}/old/snow", f"{SITE}/new/snow")
    chosen(hints, f"{SITE}/old/snow", f"{SITE}/other/snow", "one", "two", "three")
    assert known_targets(hints) == [("/new/rain", TargetKind.MOVE)]


def test_going_up_to_the_directory_is_no_choice(hints, collection):
    collection.add(a_document("/old/"), fetched_at=A_MOMENT)
    chosen(hints, GONE, f"{SITE}/old/", "one", "two", "three")
    assert hints.choices.of(GONE) == ()


def test_a_near_duplicate_of_our_copy_is_a_known_target(hints, collection):
    collection.add(a_document(GONE, text=TEXT), fetched_at=A_MOMENT)
    collection.add(a_document("/showers", text=TEXT + " and more"), fetched_at=A_MOMENT)
    collection.add(a_document("/weather", text=TEXT.replace("word", "else")), fetched_at=A_MOMENT)
    while hints.catch_up():
        pass
    (target,) = hints.known_targets(a_broken_link(GONE))
    assert (target.url, target.kind) == (f"{SITE}/showers", TargetKind.DUPLICATE)
    assert 0.85 < target.confidence <= 0.95


def test_forgotten_hints_give_no_known_targets(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    hints.note_redirect(GONE, f"{SITE}/new/rain")
    hints.tags.attach(GONE, "weather")
    hints.forget(f"{GONE}#part")
    hints.forget("nonsense")
    assert known_targets(hints) == []
    assert hints.favourites(GONE) == ()
    assert hints.tags.tags(GONE) == ()


def linked(number):
    return a_document(f"/page{number}", links=[a_link(f"/target{number}", "Worksheet")])


def test_stop_anchors_are_learnt_as_the_links_grow(hints, collection):
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


def test_concurrent_reads_and_writes_work(collection):
    everyone = [Hints(collection, RepairSettings()) for _ in range(2)]

    def work(number):
        hints = everyone[number % 2]
        for turn in range(5):
            hints.note_redirect(f"{SITE}/old/{number}-{turn}", f"{SITE}/new/{number}-{turn}")
            chosen(hints, GONE, f"{SITE}/new/hail", f"{number}-{turn}")
            hints.known_targets(a_broken_link(GONE))
            hints.catch_up()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert [choice.networks for choice in everyone[0].choices.of(GONE)] == [20]


def test_a_page_that_a_user_came_back_from_counts_less(hints):
    chosen(hints, GONE, f"{SITE}/new/hail", "one", "two", "three")
    chosen(hints, GONE, f"{SITE}/other/snow", "one", "two", "three", unfit=f"{SITE}/new/hail")
    assert [each.url for each in hints.favourites(GONE)] == [f"{SITE}/other/snow"]


def test_a_page_that_replaced_its_links_tells_moves(hints):
    hints.note_new_links(
        f"{SITE}/old/weather",
        [a_link("/old/rain", "more about rain"), a_link("/old/snow", "snow in spring")],
        [a_link("/new/rain", "more about rain"), a_link("/new/snow", "snow in spring")],
    )
    assert known_targets(hints) == [("/new/rain", TargetKind.MOVE)]
    assert known_targets(hints, f"{SITE}/old/hail") == [("/new/hail", TargetKind.MOVE)]


def test_one_strange_page_tells_no_move_and_two_that_disagree_end_it(hints):
    before, after = [a_link("/old/rain", "rain and snow")], [a_link("/new/rain", "rain and snow")]
    hints.note_new_links("http://other.test/links", before, after)
    assert known_targets(hints) == []
    hints.note_new_links("http://another.test/links", before, after)
    assert known_targets(hints) == [("/new/rain", TargetKind.MOVE)]
    hints.note_new_links(f"{SITE}/old/", before, [a_link("/newer/rain", "rain and snow")])
    assert known_targets(hints) == []


def test_a_site_s_own_redirect_outweighs_what_pages_tell(hints):
    hints.note_redirect(GONE, f"{SITE}/new/hail")
    hints.note_new_links(
        f"{SITE}/old/", [a_link("/old/rain", "more rain")], [a_link("/new/rain", "more rain")]
    )
    assert known_targets(hints) == [("/new/hail", TargetKind.MOVE)]
