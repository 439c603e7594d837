import pytest

from repair.crawling.topicdatabase import TopicDatabase
from repair.growing.growthstore import BroughtBy, GrowthStore
from repair.growing.night import NightRun, StepOutcome, StepResult
from repair.growing.nightplan import PlannedWant
from repair.growing.wants import Want
from tests.unit.repair.growing.made import VOLCANOES, a_wanted_miss

ABSENT = StepResult(outcome=StepOutcome.ABSENT, note="status 404")
OFFLINE = StepResult(outcome=StepOutcome.NO_CONNECTION)
REFUSED = StepResult(outcome=StepOutcome.REFUSED, note="robots.txt")


def saved(received=10):
    return StepResult(outcome=StepOutcome.SAVED, pages=1, received=received)


class FakeNetwork:
    """Addresses that are there, archived, or related; it notes all that was asked."""

    def __init__(self, live=None, archived=(), related=()):
        self.live, self.archived, self.related = live or {}, archived, related
        self.asked = []

    async def fetch(self, url):
        self.asked.append(url)
        return self.live.get(url, ABSENT)

    async def fetch_archived(self, url):
        self.asked.append(f"archive of {url}")
        return saved() if url in self.archived else ABSENT

    async def find_related(self, miss, most):
        return list(self.related)[:most]

    async def crawl(self, want, *, pages, received):
        self.asked.append(f"crawl {want.name} {pages} {received}")
        return StepResult(outcome=StepOutcome.SAVED, pages=pages, received=5)


@pytest.fixture
def store(tmp_path):
    database = TopicDatabase(tmp_path)
    yield GrowthStore(database)
    database.close()


async def spend_night(store, network, *urls, crawl_pages=0, pages=50, received=1_000):
    misses = tuple(map(a_wanted_miss, urls))
    want = Want(topic=VOLCANOES, words=("lava",), misses=misses)
    store.note_wants([want])
    plan = [PlannedWant(want=want, due=misses, later=0, crawl_pages=crawl_pages)]
    return await NightRun(network, store, pages=pages, received=received).run(plan)


async def test_page_that_is_back_is_fetched_and_nothing_else_asked(store):
    network = FakeNetwork(live={"http://a.test/": saved()})
    assert await spend_night(store, network, "http://a.test/") == "done"
    assert network.asked == ["http://a.test/"]
    assert store.nights()[0].pages == {BroughtBy.BACK: 1}


async def test_dead_page_is_replaced_by_its_archived_copy_else_by_related_pages(store):
    network = FakeNetwork(
        live={"http://r.test/": saved()}, archived=["http://a.test/"], related=["http://r.test/"]
    )
    await spend_night(store, network, "http://a.test/", "http://b.test/")
    assert network.asked == [
        *("http://a.test/", "archive of http://a.test/"),
        *("http://b.test/", "archive of http://b.test/", "http://r.test/"),
    ]
    assert store.nights()[0].pages == {BroughtBy.ARCHIVED: 1, BroughtBy.RELATED: 1}
    assert set(store.grown()) == {"http://a.test/", "http://b.test/"}


async def test_page_that_may_not_be_fetched_is_not_sought_elsewhere(store):
    network = FakeNetwork(live={"http://a.test/": REFUSED})
    await spend_night(store, network, "http://a.test/")
    assert network.asked == ["http://a.test/"]
    assert store.tried()["http://a.test/"].tries == 1


async def test_night_without_a_connection_ends_and_the_address_stays_due(store):
    network = FakeNetwork(live={"http://a.test/": OFFLINE})
    stopped = await spend_night(store, network, "http://a.test/", "http://b.test/", crawl_pages=5)
    assert (stopped, network.asked) == ("no connection to the internet", ["http://a.test/"])
    assert store.tried() == {}


async def test_crawls_come_last_and_get_what_is_left(store):
    network = FakeNetwork(live={"http://a.test/": saved(400)})
    await spend_night(store, network, "http://a.test/", crawl_pages=90, pages=20)
    assert network.asked[-1] == "crawl Volcanoes 19 600"
    assert store.nights()[0].received == 405


@pytest.mark.parametrize("budget", [{"pages": 1}, {"received": 10}])
async def test_night_ends_when_its_pages_or_bytes_are_spent(store, budget):
    network = FakeNetwork(live={"http://a.test/": saved(), "http://b.test/": saved()})
    stopped = await spend_night(store, network, "http://a.test/", "http://b.test/", **budget)
    assert (stopped, network.asked) == ("budget reached", ["http://a.test/"])
