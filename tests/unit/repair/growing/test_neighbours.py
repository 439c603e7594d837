from repair.growing.neighbours import related_links
from repair.model import Link
from tests.unit.repair.growing.made import WEIGHTS, a_wanted_miss

SOURCE = "http://school.test/unit"


def related(*links, most=5, url="http://a.test/lava"):
    miss = a_wanted_miss(url, sources=(SOURCE,))
    return related_links(miss, {SOURCE: links}.__getitem__, WEIGHTS, most=most)


def a_link(url, anchor, **known):
    return Link(target_url=url, anchor=anchor, **known)


def test_links_that_say_the_same_come_first_and_others_stay_out():
    assert related(
        a_link("http://b.test/", "football results"),
        a_link("http://c.test/", "volcanoes"),
        a_link("http://d.test/", "lava of volcanoes"),
    ) == ("http://d.test/", "http://c.test/")


def test_lost_page_itself_menus_and_traps_are_left_out():
    assert (
        related(
            a_link("http://a.test/lava", "lava of volcanoes"),
            a_link("http://b.test/", "lava of volcanoes", nav=True),
            a_link("http://c.test/lava.zip", "lava of volcanoes"),
        )
        == ()
    )


def test_number_of_links_is_bounded():
    links = [a_link(f"http://b.test/{n}", "lava of volcanoes") for n in range(9)]
    assert len(related(*links, most=2)) == 2
