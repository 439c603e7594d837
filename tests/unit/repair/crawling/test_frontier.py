from repair.crawling.frontier import Frontier, FrontierLink
from repair.model import Link

URL = "http://a.test/soil-types"


def a_link(url=URL, worth=0.5, host="a.test"):
    return FrontierLink(url=url, host=host, worth=worth)


def test_link_gathers_what_pages_say_of_it():
    link = a_link()
    link.note_parent(Link(target_url=URL, anchor="Soil", before="all about", after="here"), 0.9, belongs=True)
    link.note_parent(Link(target_url=URL, anchor="Earth", before="less", after="known"), 0.1, belongs=False)
    link.note_parent(Link(target_url=URL, anchor="Soil"), 0.2, belongs=False)
    assert (link.anchor, link.context, link.parents, link.good_parents) == (
        "Soil Earth",
        "all about here",
        3,
        1,
    )
    assert (link.best, round(link.total, 2)) == (0.9, 1.2)


def test_link_is_navigation_only_if_all_say_so():
    link = a_link()
    link.note_parent(Link(target_url=URL, anchor="Menu", nav=True), 0.9, belongs=True)
    assert link.nav
    link.note_parent(Link(target_url=URL, anchor="Soil"), 0.9, belongs=True)
    assert not link.nav


def test_best_link_at_a_free_host_is_found():
    frontier = Frontier([a_link("http://a.test/1", 0.9), a_link("http://b.test/2", 0.5, "b.test")])
    assert frontier.best().url == "http://a.test/1"
    assert frontier.best(without_hosts={"a.test"}).url == "http://b.test/2"
    assert frontier.best(without_hosts={"a.test", "b.test"}) is None


def test_links_worth_least_are_dropped_when_there_are_too_many():
    frontier = Frontier([a_link(f"http://a.test/{number}", number / 10) for number in range(9)], max_links=8)
    assert frontier.drop_least() == tuple(f"http://a.test/{number}" for number in (2, 1, 0))
    assert len(frontier) == 6
    assert frontier.drop_least() == ()


def test_link_whose_worth_changes_changes_its_place():
    links = [a_link(f"http://a.test/{number}", number / 10) for number in range(9)]
    frontier = Frontier(links)
    links[0].worth = 1.0
    frontier.reorder(links[:1])
    assert frontier.best() is links[0]
    links[0].worth = 0.1
    frontier.reorder(links[:1])
    assert frontier.best() is links[8]
    frontier.take(links[8].url)
    assert frontier.best() is links[7]
    assert frontier.hosts() == {"a.test"}
