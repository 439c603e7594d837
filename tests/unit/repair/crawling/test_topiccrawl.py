from repair.crawling.classifier import learn_topic
from repair.crawling.pagejudge import PageJudge
from repair.crawling.topiccrawl import CrawlPolicy, TopicCrawl
from repair.crawling.topics import Topic
from repair.model import Link
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text, farm_texts, other_texts

SEED = "http://seed.test/"


def a_crawl(*, seeds=(SEED,), language="", verdicts=None, **policy):
    topic = Topic(name="Farm", seeds=seeds, language=language)
    judge = PageJudge(topic, learn_topic, positives=farm_texts(20), background=other_texts(40))
    judge.learn()
    policy = CrawlPolicy(**{"max_pages": 100, "max_bytes": 10**9, "explore": 0.0, **policy})
    crawl = TopicCrawl(topic, judge, policy, verdicts=verdicts)
    crawl.add_seeds(seeds)
    return crawl


def visit(crawl, about=FARM, links=(), **known):
    """Fetch the next page, which is about something and has links."""
    link = crawl.choose()
    page = crawl.read(a_text(about, link.url).split(), url=link.url)
    found = [Link(target_url=url, anchor=anchor) for url, anchor in links]
    crawl.note_page(link, page, found, final_url=link.url, **known)
    return link.url


def test_best_link_is_fetched_first_and_each_once():
    crawl = a_crawl()
    assert (
        visit(crawl, links=[("http://a.test/x", "opera king"), ("http://b.test/y", "crop harvest")]) == SEED
    )
    assert visit(crawl, links=[(SEED, "home"), ("http://a.test/x", "opera")]) == "http://b.test/y"
    assert visit(crawl) == "http://a.test/x"
    assert crawl.choose() is None
    assert crawl.reason_to_stop() == "no more links"


def test_traps_are_not_followed():
    crawl = a_crawl()
    visit(crawl, links=[("http://a.test/calendar/2026/05", "soil"), ("http://a.test/a?sort=up", "soil")])
    assert len(crawl.frontier) == 0


def test_busy_host_is_left_for_later():
    crawl = a_crawl()
    visit(crawl, links=[("http://a.test/1", "crop harvest"), ("http://b.test/2", "opera")])
    assert crawl.choose(busy_hosts={"a.test"}).url == "http://b.test/2"
    assert crawl.choose(busy_hosts={"a.test"}) is None
    assert crawl.choose().url == "http://a.test/1"


def test_crawl_stops_at_its_budget_of_pages_and_of_bytes():
    crawl = a_crawl(max_pages=2)
    visit(crawl, links=[("http://a.test/1", "soil"), ("http://b.test/2", "soil")])
    assert crawl.reason_to_stop() is None
    assert crawl.reason_to_stop(under_way=1) == "budget of pages reached"
    crawl = a_crawl(max_bytes=1000)
    visit(crawl, links=[("http://a.test/1", "soil")], received=1000)
    assert crawl.reason_to_stop() == "budget of bytes reached"


def test_crawl_stops_when_it_brings_too_little():
    crawl = a_crawl(max_pages=200)
    visit(crawl, links=[(f"http://h{number}.test/", "soil") for number in range(60)])
    for _ in range(39):
        assert crawl.reason_to_stop() is None
        visit(crawl, about=OTHER)
    visit(crawl, about=OTHER)
    assert "too few" in crawl.reason_to_stop()


def test_no_host_gets_more_than_its_share_unless_all_seeds_are_there():
    links = [(f"http://seed.test/{name}", "soil") for name in "abcdefgh"]
    shared = a_crawl(seeds=(SEED, "http://other.test/"), max_pages=8, host_share=0.5)
    fetched = [visit(shared, links=links) for _ in range(5)]
    assert sum(url.startswith(SEED) for url in fetched) == 4
    assert shared.choose() is None
    assert shared.reason_to_stop() == "no more links"
    alone = a_crawl(max_pages=8, host_share=0.5)
    assert len({visit(alone, links=links) for _ in range(8)}) == 8


def test_same_text_under_another_address_is_no_new_page_and_its_links_are_not_followed():
    crawl = a_crawl()
    visit(crawl, links=[("http://a.test/1", "soil"), ("http://b.test/2", "soil")])
    text = a_text(FARM, 7, words=200).split()
    for url, links in (("1", []), ("2", [Link(target_url="http://c.test/", anchor="soil")])):
        link = crawl.choose()
        page = crawl.read(text, url=link.url)
        crawl.note_page(link, page, links, final_url=link.url)
        assert page.duplicate is (url == "2")
        assert page.belongs is (url == "1")
    assert crawl.frontier.get("http://c.test/") is None


def test_pages_whose_text_is_mostly_one_menu_are_told_apart_by_their_titles():
    crawl = a_crawl()
    visit(crawl, links=[(f"http://{host}.test/", "soil") for host in "abc"])
    menu = a_text(FARM, 7, words=200).split()
    found = []
    for title in ("Wheat", "Rye", " Rye "):
        link = crawl.choose()
        page = crawl.read(menu, url=link.url, title=title)
        crawl.note_page(link, page, [], final_url=link.url)
        found.append(page.duplicate)
    assert found == [False, False, True]


def test_links_are_counted_by_where_they_lead():
    crawl = a_crawl()
    menu = [("http://a.test/menu", "soil")] * 1_000
    visit(crawl, links=[*menu, ("http://a.test/harvest", "crop harvest")])
    assert len(crawl.frontier) == 2


def test_seeds_belong_and_what_a_person_took_out_does_not():
    crawl = a_crawl(verdicts={"http://a.test/toys": False})
    opera, farming = a_text(OTHER, 1).split(), a_text(FARM, 1).split()
    assert crawl.read(opera, url=SEED).belongs
    assert not crawl.read(opera, url="http://b.test/").belongs
    assert crawl.read(farming, url="http://b.test/").belongs
    assert not crawl.read(farming, url="http://a.test/toys").belongs


def test_page_in_another_language_does_not_belong():
    crawl = a_crawl(language="en")
    text = a_text(FARM, 1).split()
    assert crawl.read(text, language="en").belongs
    assert crawl.read(text).belongs
    assert not crawl.read(text, language="sw").belongs


def test_some_links_are_drawn_at_random():
    links = [
        ("http://best.test/", "crop harvest soil"),
        *((f"http://h{n}.test/", "opera king") for n in range(30)),
    ]
    firsts = set()
    for explore in (0.0, 1.0):
        crawl = a_crawl(explore=explore)
        visit(crawl, links=links)
        firsts.add(crawl.choose().url == "http://best.test/")
    assert firsts == {True, False}


def test_what_an_earlier_run_fetched_is_known_and_counts():
    first, second = a_crawl(), a_crawl()
    visit(first, links=[("http://a.test/1", "soil")])
    for link in first.frontier:
        second.put_back(link)
    seed = second.choose()
    second.recall(seed, SEED, 0.9, None, received=500, held=False)
    second.recall_waiting(first.frontier)
    assert (second.fetched, second.received, second.belonging) == (1, 500, 1)
    assert not second.add_seeds((SEED,))
    assert visit(second) == "http://a.test/1"


def test_held_page_costs_nothing():
    crawl = a_crawl()
    visit(crawl, links=[("http://a.test/1", "soil")], held=True)
    assert (crawl.fetched, crawl.belonging, len(crawl.frontier)) == (0, 1, 1)


def test_failure_costs_no_page_of_the_budget():
    crawl = a_crawl()
    crawl.note_failure(crawl.choose(), received=10)
    assert (crawl.fetched, crawl.received) == (0, 10)
