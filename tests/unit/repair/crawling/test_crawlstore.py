import pytest

from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import LinkState, VisitedLink
from repair.crawling.topicdatabase import TopicDatabase

URL = "http://a.test/soil"


def a_link(url=URL, **known):
    return FrontierLink(url=url, host="a.test", **known)


def done(link, state=LinkState.FETCHED, **known):
    known = {"final_url": link.url, "probability": 0.9, "fingerprint": 2**64 - 1, "received": 10, **known}
    return VisitedLink(link=link, state=state, **known)


@pytest.fixture
def database(tmp_path):
    database = TopicDatabase(tmp_path)
    yield database
    database.close()


@pytest.fixture
def store(database):
    return CrawlStore(database, "Soil")


def test_links_wait_with_all_that_is_known_of_them(store):
    link = a_link(
        depth=2, anchor="Soil", context="all about", parents=3, good_parents=1, best=0.5, total=0.7, nav=True
    )
    store.put([link])
    assert store.waiting() == ((link, 0.0),)


def test_more_known_of_a_waiting_link_replaces_what_was(store):
    store.put([a_link()])
    store.put([a_link(anchor="Soil", parents=2)])
    assert [(link.anchor, link.parents) for link, _ in store.waiting()] == [("Soil", 2)]


def test_visited_link_is_not_put_back_by_a_page_that_links_there(store):
    link = a_link()
    store.put([link])
    store.claim([a_link()])
    store.finish(done(link), [a_link("http://a.test/next")])
    store.put([link])
    assert [link.url for link, _ in store.waiting()] == ["http://a.test/next"]
    (visited,) = store.visited()
    assert visited == done(link)
    assert (store.counts().fetched, store.counts().received) == (1, 10)


def test_interrupted_link_is_due_again_and_given_up_when_it_ends_every_run(store):
    store.put([a_link()])
    for tries in (1, 2):
        assert store.claim([a_link()]).tries == {URL: tries}
        assert store.waiting() == ()
        assert store.recover(max_tries=3) == 1
    store.claim([a_link()])
    assert store.recover(max_tries=3) == 0
    assert store.counts().states[LinkState.FAILED] == 1


def test_postponed_link_says_when_it_is_due(store):
    store.put([a_link()])
    store.claim([a_link()])
    store.postpone(URL, until=77.0, note="busy", counted=False)
    assert store.waiting()[0][1] == 77.0
    assert store.claim([a_link()]).tries == {URL: 1}


def test_topics_have_frontiers_of_their_own(store, database):
    other = CrawlStore(database, "Water")
    store.put([a_link()])
    assert other.waiting() == ()
    other.put([a_link()])
    other.claim([a_link()])
    assert len(store.waiting()) == 1


def test_forgotten_address_is_nowhere(store, database):
    link = a_link("http://a.test/redirect")
    store.put([link, a_link("http://a.test/kept")])
    store.finish(done(link, final_url=URL))
    database.forget(URL)
    assert store.visited() == ()
    assert len(store.waiting()) == 1


def test_dropped_links_are_gone_unless_they_were_claimed(store):
    store.put([a_link(), a_link("http://a.test/2")])
    store.claim([a_link()])
    store.drop([URL, "http://a.test/2"])
    assert (store.waiting(), store.counts().states[LinkState.FETCHING]) == ((), 1)


def test_best_waiting_links_come_first_and_the_crawl_goes_on_between_two_claims(store):
    low, high, middle = (a_link(f"http://a.test/{worth}", worth=worth) for worth in (0.2, 0.9, 0.5))
    store.put([low, high, middle])
    assert store.went_on_at() == 0.0
    store.claim([high])
    assert store.best_waiting(2) == (middle, low)
    assert store.went_on_at() > 0.0
    store.finish(done(high))
    assert store.went_on_at() > 0.0


def test_address_that_is_set_aside_is_not_visited_and_a_visited_one_stays(store):
    seen, fresh = a_link("http://a.test/seen"), a_link("http://a.test/new")
    store.put([seen])
    store.finish(done(seen))
    store.set_aside([seen.url, fresh.url], "looked for by itself")
    assert store.waiting() == ()
    assert {each.link.url: each.state for each in store.visited()} == {
        seen.url: LinkState.FETCHED,
        fresh.url: LinkState.FAILED,
    }
