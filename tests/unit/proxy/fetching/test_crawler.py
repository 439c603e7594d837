"""The crawler over a fetcher with configured answers: what it records when things go wrong."""

import asyncio
from types import SimpleNamespace

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.crawler import CrawlTools, TopicCrawler
from proxy.fetching.crawlhelpers import read_page
from proxy.fetching.entries import FetchRefused, NoConnectivity, PermanentFetchError, TemporaryFetchError
from proxy.fetching.fetcher import FetchedPage
from proxy.fetching.politeness import HostSlots
from proxy.settings import FetchSettings
from repair.collection.collection import Collection
from repair.crawling.classifier import learn_topic
from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import LinkState
from repair.crawling.pagejudge import PageJudge
from repair.crawling.topiccrawl import CrawlPolicy, TopicCrawl
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topics import Topic
from repair.crawling.topicstore import TopicStore
from repair.model import Document, Link
from repair.settings import CollectionSettings
from tests.make import A_MOMENT, a_page
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text, farm_texts, other_texts

SEED = "http://seed.test/"
FETCH = FetchSettings(tries=2, retry_s=100.0, parts=0, at_once=2)


def html(about, name, *targets):
    links = "".join(f'<p>crop <a href="{target}">soil harvest</a></p>' for target in targets)
    return f"<title>{name}</title><p>{a_text(about, name, 80)}</p>{links}".encode()


class Web:
    """Fetches what is configured, saves into a list, and notes what was asked."""

    def __init__(self, pages):
        self.pages, self.asked, self.saved = pages, [], []
        self.rulings = SimpleNamespace(may_list=lambda page: True)

    async def fetch(self, url, *, limits):
        self.asked.append(url)
        answer = self.pages[url]
        if isinstance(answer, Exception):
            raise answer
        final, body = answer if isinstance(answer, tuple) else (url, answer)
        return FetchedPage(page=a_page(final, body=body))

    async def check(self, fetched, judgement=None):
        if b"private" in fetched.page.body:
            raise FetchRefused("may not be saved: private")

    async def pin(self, fetched):
        pass

    def add_pages(self, pages):
        self.saved += [fetched.page.url for fetched, _ in pages]


async def read(page):
    return read_page(page, CollectionSettings())


class Crawling:
    def __init__(self, folder):
        self.database = TopicDatabase(folder / "topics")
        self.collection = Collection.open(folder / "collection", CollectionSettings())
        self.topics = TopicStore(self.database)
        self.store = CrawlStore(self.database, "Farm")

    def crawl(self, pages, *, others=(), connectivity=None, **policy):
        """Run one crawl; returns the web and the reason to stop."""
        web = Web(pages)
        tools = CrawlTools(
            fetcher=web,
            saver=web,
            collection=self.collection,
            host_slots=HostSlots(),
            connectivity=connectivity or Connectivity(),
            topics=self.topics,
            fetch=FETCH,
            read=read,
            reading=CollectionSettings(),
            responses=None,
        )
        crawler = TopicCrawler(
            a_topic_crawl("Farm", farm_texts(20), other_texts(40), **policy),
            self.store,
            tools,
            start=(SEED,),
            others=others,
        )
        return web, asyncio.run(crawler.run())

    def states(self):
        return {visited.link.url: visited.state for visited in self.store.visited()}


def a_topic_crawl(name, positives, background, **policy):
    topic = Topic(name=name, seeds=(SEED,))
    judge = PageJudge(topic, learn_topic, positives=positives, background=background)
    judge.learn()
    limits = {"max_pages": 50, "max_bytes": 10**9, "explore": 0.0, **policy}
    return TopicCrawl(topic, judge, CrawlPolicy(**limits))


@pytest.fixture
def crawling(tmp_path):
    crawling = Crawling(tmp_path)
    yield crawling
    crawling.collection.close()
    crawling.database.close()


def test_pages_of_the_topic_are_saved_and_others_only_read(crawling):
    pages = {
        SEED: html(FARM, "seed", "http://a.test/farm", "http://b.test/opera"),
        "http://a.test/farm": html(FARM, "farm"),
        "http://b.test/opera": html(OTHER, "opera"),
    }
    web, reason = crawling.crawl(pages)
    assert reason == "no more links"
    assert sorted(web.saved) == ["http://a.test/farm", SEED]
    assert {page.url for page in crawling.topics.pages("Farm")} == set(web.saved)
    assert set(crawling.states().values()) == {LinkState.FETCHED}


def test_the_words_of_a_page_that_was_left_are_kept_for_the_next_run(crawling):
    pages = {
        SEED: html(FARM, "seed", "http://b.test/opera"),
        "http://b.test/opera": html(OTHER, "opera"),
    }
    crawling.crawl(pages)
    kept = crawling.topics.counterexamples("Farm")
    assert list(kept) == ["http://b.test/opera"]
    assert sorted(kept["http://b.test/opera"]) == sorted(
        read_page(
            a_page("http://b.test/opera", body=pages["http://b.test/opera"]), CollectionSettings()
        ).terms
    )


def test_new_links_are_recorded_with_their_page_and_what_more_pages_say_of_them_in_the_end(
    crawling, monkeypatch
):
    target = "http://c.test/later"
    pages = {
        SEED: html(FARM, "seed", "http://a.test/soil-harvest", target),
        "http://a.test/soil-harvest": html(FARM, "one", target),
    }
    recorded, finish = [], crawling.store.finish
    monkeypatch.setattr(
        crawling.store,
        "finish",
        lambda visited, found=(): (recorded.append({link.url for link in found}), finish(visited, found)),
    )
    crawling.crawl(pages, max_pages=2)
    assert recorded == [{"http://a.test/soil-harvest", target}, set()]
    assert {link.url: link.parents for link, _ in crawling.store.waiting()} == {target: 2}


def test_later_run_goes_on_and_asks_for_nothing_again(crawling):
    pages = {SEED: html(FARM, "seed", "http://a.test/1", "http://b.test/2")}
    pages |= {url: html(FARM, url) for url in ("http://a.test/1", "http://b.test/2")}
    first, reason = crawling.crawl(pages, max_pages=1)
    assert (first.asked, reason) == ([SEED], "budget of pages reached")
    second, _ = crawling.crawl(pages)
    assert sorted(second.asked) == ["http://a.test/1", "http://b.test/2"]


def test_page_that_was_saved_when_the_process_died_is_not_fetched_again(crawling):
    """It was killed after saving, before the link was done."""
    document = Document(
        url=SEED,
        title="seed",
        text=a_text(FARM, 1, 80),
        links=(Link(target_url="http://a.test/1", anchor="soil"),),
    )
    crawling.collection.add(document, fetched_at=A_MOMENT)
    web, _ = crawling.crawl({"http://a.test/1": html(FARM, "next")})
    assert web.asked == ["http://a.test/1"]
    assert crawling.states()[SEED] is LinkState.HELD
    assert len(crawling.topics.pages("Farm")) == 2


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (FetchRefused("robots.txt"), LinkState.REFUSED),
        (PermanentFetchError("404"), LinkState.FAILED),
        (b"<p>private", LinkState.REFUSED),
        (b"<meta name=robots content=noindex><p>soil", LinkState.REFUSED),
        (("http://elsewhere.test/", html(FARM, "moved")), LinkState.FETCHED),
    ],
)
def test_what_became_of_a_link_is_recorded(crawling, answer, state):
    web, reason = crawling.crawl({SEED: answer})
    assert (crawling.states(), reason) == ({SEED: state}, "no more links")
    assert bool(web.saved) is (state is LinkState.FETCHED)


def test_what_is_refused_before_it_is_asked_for_ends_no_crawl(crawling):
    closed = [f"http://closed{number}.test/soil" for number in range(60)]
    pages = {SEED: html(FARM, "seed", *closed)} | dict.fromkeys(closed, FetchRefused("robots.txt"))
    assert crawling.crawl(pages)[1] == "no more links"
    # Nor in a later run, which knows of them.
    crawling.store.put(
        a_topic_crawl("Farm", farm_texts(20), other_texts(40)).add_seeds(("http://new.test/",))
    )
    assert crawling.crawl({"http://new.test/": html(FARM, "new")})[1] == "no more links"


def test_pages_that_may_not_be_read_end_a_crawl(crawling):
    closed = [f"http://closed{number}.test/soil" for number in range(60)]
    pages = {SEED: html(FARM, "seed", *closed)}
    pages |= dict.fromkeys(closed, b"<meta name=robots content=noindex><p>soil")
    assert crawling.crawl(pages)[1] == "too few pages of the topic among the latest"


def test_address_with_a_secret_is_refused_without_a_request(crawling):
    secret = "http://a.test/?session=0123456789abcdef0123456789abcdef"
    crawling.store.put(a_topic_crawl("Farm", farm_texts(20), other_texts(40)).add_seeds((secret,)))
    web, _ = crawling.crawl({SEED: html(FARM, "seed")})
    assert web.asked == [SEED]
    assert crawling.states()[secret] is LinkState.REFUSED


def test_site_that_is_busy_is_asked_later_in_another_run(crawling):
    web, reason = crawling.crawl({SEED: TemporaryFetchError("503", after_s=500.0)})
    assert (web.asked, reason) == ([SEED], "the links that are left are due later")
    ((_, due_at),) = crawling.store.waiting()
    assert due_at > 0
    assert crawling.crawl({})[0].asked == []


def test_without_connectivity_the_crawl_stops_and_no_try_counts(crawling):
    _, reason = crawling.crawl({SEED: NoConnectivity("nobody there")})
    assert "no connection" in reason
    assert crawling.store.claim([FrontierLink(url=SEED, host="seed.test")]).tries == {SEED: 1}


def test_redirect_to_a_page_that_the_crawl_has_is_not_saved_twice(crawling):
    pages = {SEED: html(FARM, "seed", "http://a.test/old"), "http://a.test/old": (SEED, html(FARM, "seed"))}
    web, _ = crawling.crawl(pages)
    assert web.saved == [SEED]
    assert crawling.states()["http://a.test/old"] is LinkState.FAILED


def test_page_is_judged_for_the_other_topics_of_the_run_too(crawling):
    opera = a_topic_crawl("Opera", other_texts(20), farm_texts(40))
    pages = {SEED: html(FARM, "seed", "http://b.test/opera"), "http://b.test/opera": html(OTHER, "opera")}
    web, _ = crawling.crawl(pages, others=[opera])
    assert [page.topic for page in crawling.topics.topics_of("http://b.test/opera")] == ["Opera"]
    assert "http://b.test/opera" in web.saved
