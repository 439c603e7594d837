"""The frontier that machines share and their turns at hosts, in a real PostgreSQL."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise

import psycopg
import pytest

from proxy.district.connection import connected
from proxy.district.crawling.hostleases import HostLeases
from proxy.district.crawling.machine import CrawlMachine
from proxy.district.crawling.sharedfrontier import SharedFrontier
from proxy.district.roles import invite_school
from proxy.district.schema import initialise
from proxy.errors import DistrictUnavailable
from proxy.fetching.entries import TemporaryFetchError
from proxy.fetching.hostturns import HostTurns
from repair.crawling.frontier import FrontierLink
from repair.crawling.frontierstore import LinkState, VisitedLink
from repair.crawling.topicdatabase import TopicDatabase
from tests.integration.processes import eventually

URL = "http://a.test/soil"


@pytest.fixture(scope="module")
def server(start_postgres):
    """A running PostgreSQL."""
    return start_postgres()


@pytest.fixture(scope="module")
def district(server):
    """The owner's settings of an initialised database."""
    settings = server.create_database()
    initialise(settings)
    return settings


@pytest.fixture
def school(district, tmp_path):
    """The settings of a school, in a district where nobody has crawled yet."""
    with connected(district) as connection:
        connection.execute("TRUNCATE crawl_links, crawl_hosts, crawl_machines")
        login = invite_school(connection, f"North {tmp_path.name}"[:80])
    password = tmp_path / "password"
    password.write_text(login.password)
    return replace(
        district, database_user=login.user, database_password_file=str(password), crawl_lease_s=1.5
    )


@pytest.fixture
def machines(school, tmp_path):
    """Makes machines that crawl, each with its own folder."""
    with ExitStack() as stack:
        counter = iter(range(100))

        def a_machine(*, silent=False, folder=None, **known):
            machine = CrawlMachine(school, folder or tmp_path / f"machine-{next(counter)}", **known)
            if silent:
                machine._signs.run = lambda: None
            machine.start()
            stack.callback(machine.close)
            return machine

        yield a_machine


@pytest.fixture
def frontier(machines, tmp_path):
    """Makes frontiers of one topic, each on a machine of its own unless told."""
    with ExitStack() as stack:

        def a_frontier(machine=None, **known):
            machine = machine or machines(**known)
            database = TopicDatabase(tmp_path / machine.name)
            stack.callback(database.close)
            return SharedFrontier(machine, database, "Soil")

        yield a_frontier


def a_link(url=URL, **known):
    return FrontierLink(url=url, host=url.split("/")[2], **known)


def done(link, state=LinkState.FETCHED, **known):
    known = {"final_url": link.url, "probability": 0.9, "fingerprint": 2**64 - 1, "received": 10, **known}
    return VisitedLink(link=link, state=state, **known)


def waiting(store):
    return sorted(link.url for link, _ in store.waiting())


def test_links_wait_with_all_that_is_known_of_them(frontier):
    store = frontier()
    link = a_link(
        depth=2,
        anchor="S\0oil",
        context="all about",
        parents=3,
        good_parents=1,
        best=0.5,
        total=0.7,
        nav=True,
    )
    store.put([link])
    (found,) = store.waiting()
    assert found == (replace(link, anchor="Soil"), 0.0)


def test_what_two_machines_know_of_a_link_is_joined(frontier):
    here, there = frontier(), frontier()
    here.put([a_link(anchor="Soil", parents=1, best=0.9, total=0.9, context="good")])
    there.put([a_link(anchor="Soil and crops", parents=2, best=0.3, total=0.5, context="poor")])
    ((link, _),) = here.waiting()
    assert (link.anchor, link.parents, link.best, link.total) == ("Soil and crops", 2, 0.9, 0.9)
    assert link.context == "good"


def test_visited_link_is_not_put_back_by_a_page_that_links_there(frontier):
    store = frontier()
    link = a_link()
    store.put([link])
    assert store.claim([link]).tries == {URL: 1}
    store.finish(done(link), [a_link("http://a.test/next")])
    store.put([link])
    assert waiting(store) == ["http://a.test/next"]
    assert store.visited() == (done(link),)
    assert (store.counts().fetched, store.counts().received) == (1, 10)


def test_link_goes_to_one_machine_and_its_host_with_it(frontier):
    here, there = frontier(), frontier()
    links = [a_link(), a_link("http://a.test/other"), a_link("http://b.test/")]
    here.put(links)
    assert here.claim(links[:1]).tries == {URL: 1}
    answer = there.claim(links)
    assert answer.tries == {"http://b.test/": 1}
    assert set(answer.closed) == {"a.test"}


def test_machine_holds_few_hosts_and_leaves_those_that_it_chose_before_to_others(frontier):
    here, there = frontier(), frontier()
    links = [a_link(f"http://{host}.test/{n}") for host in "abcdef" for n in range(2)]
    here.put(links)
    for link in links[::2]:
        assert len(here.claim([link]).tries) == 1
    answer = there.claim(links[1::2])
    assert set(answer.tries) == {"http://a.test/1", "http://b.test/1"}
    assert set(answer.closed) == {f"{host}.test" for host in "cdef"}


def test_postponed_link_waits_for_all_machines_and_says_how_long(frontier):
    here, there = frontier(), frontier()
    link = a_link()
    here.put([link])
    here.claim([link])
    here.postpone(URL, until=time.time() + 100, note="busy", counted=False)
    ((_, due_at),) = there.waiting()
    assert due_at - time.time() == pytest.approx(100, abs=20)
    here._machine.close()
    answer = there.claim([link])
    assert (answer.tries, list(answer.later)) == ({}, [URL])


def test_claims_at_the_same_time_give_each_link_to_one(frontier):
    stores = [frontier() for _ in range(4)]
    links = [a_link(f"http://{host}.test/{n}") for host in "abcdefgh" for n in range(10)]
    stores[0].put(links)

    def take_all(store):
        got = []
        for link in links * 3:
            for url in store.claim([link]).tries:
                got.append(url)
                store.finish(done(link))
        return got

    with ThreadPoolExecutor(4) as pool:
        got = [url for part in pool.map(take_all, stores) for url in part]
    assert len(got) == len(set(got))
    assert stores[0].counts().states[LinkState.FETCHED] == len(got) > 0


def test_news_are_what_others_did_each_told_once(frontier):
    here, there = frontier(), frontier()
    links = [a_link(f"http://{host}.test/") for host in "abc"]
    assert (here.visited(), there.visited()) == ((), ())
    here.put(links)
    assert here.news().waiting == []
    news = there.news()
    assert {link.url for link, _ in news.waiting} == {link.url for link in links}
    here.claim(links[:2])
    here.finish(done(links[0]), [a_link("http://d.test/")])
    news = there.news()
    assert [visited.link.url for visited in news.visited] == ["http://a.test/"]
    assert "http://d.test/" in {link.url for link, _ in news.waiting}
    assert (news.taken, news.under_way) == (["http://b.test/"], 1)
    assert there.news().visited == []
    assert here.news().visited == []


def test_news_of_a_transaction_that_commits_late_are_not_missed(frontier, district):
    here = frontier()
    here.visited()
    with psycopg.connect(district.database, user=district.database_user) as late:
        late.execute(
            "INSERT INTO linkmend.crawl_links (topic, url, host, depth, anchor, context, parents, good_parents, best,"
            " total, nav, worth) VALUES ('Soil', 'http://late.test/', 'late.test', 0, '', '', 0, 0, 0, 0, false, 0)"
        )
        there = frontier()
        there.put([a_link("http://early.test/")])
        assert [link.url for link, _ in here.news().waiting] == ["http://early.test/"]
        late.commit()
    assert "http://late.test/" in [link.url for link, _ in here.news().waiting]


def test_dead_machine_s_links_and_hosts_go_to_others_and_it_tells_nothing_more(frontier):
    dead, living = frontier(silent=True), frontier()
    link = a_link()
    dead.put([link])
    dead.claim([link])
    living.news()
    assert living.claim([link]).closed

    def claimed():
        living.news()
        return living.claim([link]).tries

    assert eventually(claimed, "the dead machine's lease does not end") == {URL: 2}
    dead.finish(done(link, probability=0.1))
    living.finish(done(link))
    assert living.visited() == (done(link),)


def test_machine_that_is_started_again_takes_up_its_own_links_at_once(frontier, machines, tmp_path):
    machine = machines(folder=tmp_path / "one", silent=True)
    store = frontier(machine)
    link = a_link()
    store.put([link])
    store.claim([link])
    again = SharedFrontier(machines(folder=tmp_path / "one"), store._database, "Soil")
    assert again.recover(max_tries=5) == 1
    assert again.claim([link]).tries == {URL: 2}
    assert again.recover(max_tries=2) == 1
    assert again.counts().states[LinkState.FAILED] == 1


def test_what_is_recorded_together_is_all_there_or_not_at_all(frontier):
    store = frontier()
    links = [a_link(), a_link("http://b.test/")]
    store.put(links)
    store.claim(links)

    def fail_halfway():
        with store.together():
            store.finish(done(links[0]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert store.visited() == ()
    with store.together():
        for link in links:
            store.finish(done(link))
        assert store.visited() == ()
    assert len(store.visited()) == 2


def test_school_that_may_not_write_cannot_crawl_along(frontier, district):
    store = frontier(patience_s=0.0)
    with connected(district) as connection:
        connection.execute("UPDATE schools SET may_write = false")
    with pytest.raises(DistrictUnavailable):
        store.put([a_link()])
    assert store.waiting() == ()


@pytest.mark.slow
def test_work_goes_on_after_the_database_was_killed(frontier, server):
    store = frontier(patience_s=120.0)
    link = a_link()
    store.put([link])
    store.claim([link])
    server.kill()
    recorded = threading.Thread(target=store.finish, args=(done(link),))
    recorded.start()
    server.restart()
    recorded.join(120)
    assert store.visited() == (done(link),)


async def _visits(leases, host, seen, *, count, pause_s):
    for _ in range(count):
        async with leases.at(host, pause_s=pause_s):
            began = time.monotonic()
            await asyncio.sleep(0.02)
            seen.append((began, time.monotonic()))


def test_machines_take_turns_at_a_host_with_its_pause_between(machines, tmp_path):
    leases = [HostLeases(machines(), HostTurns(tmp_path / f"turns-{n}")) for n in range(3)]
    seen = []

    async def visit():
        await asyncio.gather(*(_visits(each, "a.test", seen, count=3, pause_s=0.1) for each in leases))

    asyncio.run(visit())
    seen.sort()
    assert len(seen) == 9
    assert all(later[0] - sooner[1] >= 0.1 for sooner, later in pairwise(seen))


def test_turn_of_a_killed_machine_ends_with_its_lease(machines, tmp_path):
    dead = HostLeases(machines(silent=True), HostTurns(tmp_path / "dead"))
    living = HostLeases(machines(), HostTurns(tmp_path / "living"))
    assert dead._take("a.test", 0.1) == 0.0
    assert living._take("a.test", 0.1) > 0
    eventually(lambda: living._take("a.test", 0.1) == 0.0, "the turn does not end")


def test_host_that_asked_for_rest_is_left_alone_by_all(machines, frontier, tmp_path):
    here = HostLeases(machines(), HostTurns(tmp_path / "here"))
    machine = machines()
    there, store = HostLeases(machine, HostTurns(tmp_path / "there")), frontier(machine)

    async def be_told():
        async with here.at("a.test", pause_s=0.0):
            pass
        await here.rest("a.test", 500.0)
        async with there.at("a.test", pause_s=0.0):
            pass

    with pytest.raises(TemporaryFetchError) as told:
        asyncio.run(be_told())
    assert told.value.after_s == pytest.approx(500, abs=60)
    store.put([a_link()])
    assert store.claim([a_link()]).closed["a.test"] == pytest.approx(500, abs=60)
