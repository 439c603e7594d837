from repair.crawling.topics import Topic
from repair.evaluation.crawlers import (
    crawl_breadth_first,
    crawl_fish_search,
    crawl_knowingly,
    crawl_topic,
)
from repair.model import Document, Link
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text, other_texts

HOST = "http://w.test/wp"


def a_document(name, targets, about=FARM):
    links = tuple(
        Link(target_url=f"{HOST}/{target}", anchor=target.strip("0123456789")) for target in targets
    )
    return Document(url=f"{HOST}/{name}", title=name, text=a_text(about, name), links=links)


def a_web():
    """Each farm page links to the next one after eight operas, and each opera to operas."""
    farms = [a_document(f"farm{n}", [*(f"opera{n}{m}" for m in range(8)), f"farm{n + 1}"]) for n in range(20)]
    operas = [
        a_document(f"opera{n}{m}", [f"opera{n + 1}{m}"], about=OTHER) for n in range(20) for m in range(8)
    ]
    return {page.url: page for page in (*farms, *operas)}


def names(fetched):
    return [url.rpartition("/")[2] for url in fetched]


SEED = [f"{HOST}/farm0"]


def test_breadth_first_takes_links_in_the_order_they_were_seen():
    assert names(crawl_breadth_first(a_web(), SEED, pages=3)) == ["farm0", "opera00", "opera01"]


def test_fish_search_takes_the_first_links_of_relevant_pages_before_all_others():
    web = a_web()
    fetched = names(crawl_fish_search(web, SEED, lambda url: "farm" in url, pages=200))
    assert fetched[:8] == ["farm0", *(f"opera0{m}" for m in range(7))]
    assert len(set(fetched)) == len(fetched)


def test_fish_search_gives_up_a_line_of_irrelevant_pages():
    line = {page.url: page for page in (a_document(f"p{n}", [f"p{n + 1}"]) for n in range(10))}
    fetched = crawl_fish_search(line, [f"{HOST}/p0"], lambda url: False, pages=100)
    assert len(fetched) == 4


def test_who_knows_all_takes_the_shortest_way_to_each_wanted_page_and_then_ends():
    web = {
        page.url: page
        for page in (
            a_document("start", ["far1", "near1", "gone"]),
            a_document("far1", ["far2"]),
            a_document("far2", ["goal2"]),
            a_document("near1", ["goal1"]),
            a_document("goal1", []),
            a_document("goal2", []),
            a_document("goal3", ["start"]),
        )
    }
    wanted = {f"{HOST}/goal{n}" for n in (1, 2, 3)}
    way = ["start", "near1", "goal1", "far1", "far2", "goal2"]
    assert names(crawl_knowingly(web, [f"{HOST}/start"], wanted, pages=100)) == way
    assert names(crawl_knowingly(web, [f"{HOST}/start"], wanted, pages=4)) == way[:4]


def test_ours_stays_with_the_topic():
    web = a_web()
    fetched = crawl_topic(
        web,
        Topic(name="Farm", seeds=tuple(SEED)),
        SEED,
        lambda url: web[url].text.split(),
        background=other_texts(40),
        pages=12,
    )
    assert sum("farm" in name for name in names(fetched)) >= 9
