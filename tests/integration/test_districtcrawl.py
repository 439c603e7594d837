"""Three machines crawl one topic together, as processes that are killed: what the sites see of it."""

import contextlib
import json
import os
import random
import shutil

import psycopg
import pytest

from proxy.district.connection import connected
from proxy.district.roles import invite_school
from proxy.district.schema import initialise
from repair.collection.collection import Collection
from repair.settings import CollectionSettings
from tests.integration.origin import reply
from tests.integration.processes import START_S, Running, eventually, surroundings
from tests.integration.test_crawling import (
    PAUSE_S,
    SETTINGS,
    CountedOrigin,
    NamedOrigin,
    PublicWeb,
    School,
    a_page,
)
from tests.unit.repair.crawling.pages import FARM

KILLS = int(os.environ.get("CRAWL_KILLS", "3"))
SEED = int(os.environ.get("CRAWL_SEED", "16"))
HOSTS, PAGES = 8, 7
LEASE_S = 3.0


@pytest.fixture(scope="module")
def postgres(start_postgres):
    """A running PostgreSQL."""
    return start_postgres()


@pytest.fixture
def stack():
    with contextlib.ExitStack() as opened:
        yield opened


class DistrictSchool(School):
    """A school of a district that crawls with the others."""

    def __init__(self, folder, district, web):
        folder.mkdir()
        super().__init__(folder)
        with connected(district) as owner:
            login = invite_school(owner, folder.name)
        password = folder / "password"
        password.write_text(login.password)
        self.config.write_text(
            f'{SETTINGS}\n[proxy]\nparent = "{web.url}"\n'
            f'[district]\ndatabase = "{district.database}"\ndatabase_user = "{login.user}"\n'
            f'database_password_file = "{password}"\nshared_crawl = true\ncrawl_lease_s = {LEASE_S}\n'
        )
        self.running = None

    def start(self):
        self.running = Running(
            self.command("crawl", "Farm", "--json"), env=surroundings(self.config.read_text())
        )

    @property
    def machine(self):
        path = self.data / "topics" / "machine"
        return path.read_text() if path.is_file() else ""

    def holds(self, addresses):
        with Collection.open(self.data / "collection", CollectionSettings()) as collection:
            return {url for url in addresses if collection.holds(url)}


def rows(district, query, *values):
    with psycopg.connect(district.database, user=district.database_user) as connection:
        return connection.execute(query, values).fetchall()


def change(district, query, *values):
    with psycopg.connect(district.database, user=district.database_user) as connection:
        connection.execute(query, values)


@pytest.mark.slow
def test_killed_machines_that_crawl_together_fetch_nothing_twice_and_stay_polite(postgres, tmp_path, stack):
    chance = random.Random(SEED)
    district = postgres.create_database()
    initialise(district)
    origins = [NamedOrigin(f"farm{n}.example", answer_s=0.02 + 0.03 * n) for n in range(HOSTS)]
    web = stack.enter_context(PublicWeb(*origins))
    schools = [DistrictSchool(tmp_path / name, district, web) for name in ("north", "south", "west")]
    try:
        good = [f"{origin.url}/farm/{n}" for n in range(PAGES) for origin in origins]
        links = [(url, "soil crop") for url in good]
        for at, origin in enumerate(origins):
            for n in range(PAGES):
                shown = links if n == 0 else chance.sample(links, 20)
                origin.serve(f"/farm/{n}", a_page(FARM, f"{at} {n}", shown))
        seeds = [part for origin in origins[:2] for part in ("--seed", f"{origin.url}/farm/0")]
        for school in schools:
            added = school.run("topics", "add", "Farm", "--word", "soil", "--word", "crop", *seeds)
            assert added.returncode == 0, added.stderr

        def asked():
            return sum(len(origin.times) for origin in origins)

        interrupted = set()
        # A start takes longer than this crawl: nobody may begin before all are there.
        change(
            district,
            "INSERT INTO linkmend.crawl_hosts (host, machine, leased_until)"
            " SELECT host, 'nobody', 'infinity' FROM unnest(%s::text[]) AS host",
            [origin.url.removeprefix("http://") for origin in origins],
        )
        for school in schools:
            school.start()
        eventually(
            lambda: len(rows(district, "SELECT machine FROM linkmend.crawl_machines")) == len(schools),
            "a machine is missing",
            timeout_s=START_S,
        )
        change(district, "DELETE FROM linkmend.crawl_hosts")
        for kill in range(1, KILLS + 1):
            wanted = kill * len(good) // (KILLS + 2)
            eventually(lambda wanted=wanted: asked() >= wanted, "the crawl does not go on", timeout_s=START_S)
            running = [school for school in schools if school.running.process.poll() is None]
            killed = chance.choice(running)
            killed.running.kill()
            interrupted |= {
                url
                for (url,) in rows(
                    district,
                    "SELECT url FROM linkmend.crawl_links WHERE state = 'fetching' AND machine = %s",
                    killed.machine,
                )
            }
            killed.start()
        for school in schools:
            eventually(
                lambda school=school: school.running.process.poll() is not None,
                "a crawl does not end",
                timeout_s=START_S,
            )
            assert school.running.process.returncode == 0, school.running.output
    finally:
        for school in schools:
            if school.running is not None and school.running.process.poll() is None:
                school.running.kill()

    told = [json.loads(school.running.output.splitlines()[-1]) for school in schools]
    assert {each["stopped"] for each in told} <= {"no more links", "the links that are left are due later"}, (
        told
    )
    states = dict(rows(district, "SELECT url, state FROM linkmend.crawl_links"))
    assert {url for url, state in states.items() if state in ("fetched", "held")} == set(good), states
    held = [school.holds(good) for school in schools]
    assert set().union(*held) == set(good)
    counts = {
        f"{origin.url}{path}": count
        for origin in origins
        for path, count in origin.asked.items()
        if path != "/robots.txt"
    }
    assert set(counts) == set(good)
    twice = {url for url, count in counts.items() if count > 1}
    assert twice <= interrupted, (twice, interrupted)
    assert [origin.most_at_once for origin in origins] == [1] * HOSTS
    assert all(origin.least_pause_s() >= PAUSE_S * 0.95 for origin in origins)
    assert sum(bool(each) for each in held) > 1
    print(f"seed {SEED}, {KILLS} kills; pages of each {[len(each) for each in held]}; twice {len(twice)}")  # noqa: T201


@pytest.mark.slow
def test_second_machine_takes_over_what_a_dead_one_left_and_keeps_its_distance(postgres, tmp_path):
    district = postgres.create_database()
    initialise(district)
    origin = NamedOrigin("farm.example", answer_s=0.2)
    with PublicWeb(origin) as web:
        first, second = (DistrictSchool(tmp_path / name, district, web) for name in ("first", "second"))
        for n in range(6):
            origin.serve(f"/farm/{n}", a_page(FARM, n, [(f"/farm/{m}", "soil crop") for m in range(6)]))
        for school in (first, second):
            school.run("topics", "add", "Farm", "--word", "soil", "--seed", f"{origin.url}/farm/0")
        first.start()
        first.running.wait_until(lambda: len(origin.times) >= 3, "no crawl", timeout_s=START_S)
        first.running.kill()
        shutil.rmtree(first.data)
        ended = second.run("crawl", "Farm", "--json")
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["fetched"] == 6
    assert sum(count for path, count in origin.asked.items() if path != "/robots.txt") <= 7
    assert origin.most_at_once == 1
    assert origin.least_pause_s() >= PAUSE_S * 0.95


@pytest.mark.slow
def test_retry_after_holds_for_the_whole_host_on_all_machines(postgres, tmp_path):
    district = postgres.create_database()
    initialise(district)
    origin = NamedOrigin("farm.example")
    with PublicWeb(origin) as web:
        first, second = (DistrictSchool(tmp_path / name, district, web) for name in ("first", "second"))
        busy = reply("later", status="429 Too Many Requests", Retry_After="3600")
        origin.serve("/farm/0", busy)
        for school in (first, second):
            seeds = ("--seed", f"{origin.url}/farm/0", "--seed", f"{origin.url}/farm/1")
            school.run("topics", "add", "Farm", "--word", "soil", *seeds)
        for school in (first, second):
            ended = school.run("crawl", "Farm", "--json")
            assert json.loads(ended.stdout)["stopped"] == "the links that are left are due later", (
                ended.stderr
            )
    assert sum(count for path, count in origin.asked.items() if path != "/robots.txt") == 1


def put_by_a_hostile_school(district, address, state="waiting", host=""):
    change(
        district,
        "INSERT INTO linkmend.crawl_links (topic, url, host, state, depth, anchor, context, parents, good_parents,"
        " best, total, nav, worth, fingerprint) VALUES ('Farm', %s, %s, %s, 0, 'soil', '', 9, 9, 9, 9, false, 1e9,"
        " 'no number')",
        address,
        host or address.split("/")[2],
        state,
    )


@pytest.mark.slow
def test_a_hostile_school_has_nobody_fetch_what_is_in_their_own_network(postgres, tmp_path):
    district = postgres.create_database()
    initialise(district)
    with CountedOrigin() as inside, PublicWeb() as web:
        school = DistrictSchool(tmp_path / "school", district, web)
        text = school.config.read_text()
        school.config.write_text(text.replace(web.url, ""))  # a parent would connect instead
        inside.serve("/reboot", a_page(FARM, 0, []))
        put_by_a_hostile_school(district, f"{inside.url}/reboot")
        put_by_a_hostile_school(district, f"http://localhost:{inside.port}/reboot")
        school.run("topics", "add", "Farm", "--word", "soil", "--seed", f"{inside.url}/marks?q=ida")
        school.run("crawl", "Farm", "--json")
    assert not inside.asked
    told = rows(district, "SELECT url FROM linkmend.crawl_links WHERE url LIKE '%%marks%%'")
    assert not told, "other schools read what is in this one's network"


@pytest.mark.slow
def test_rows_that_nobody_can_read_end_no_crawl(postgres, tmp_path):
    district = postgres.create_database()
    initialise(district)
    farm = NamedOrigin("farm.example")
    farm.serve("/farm/0", a_page(FARM, 0, [("/farm/1", "soil crop")]))
    farm.serve("/farm/1", a_page(FARM, 1, []))
    with PublicWeb(farm) as web:
        school = DistrictSchool(tmp_path / "school", district, web)
        put_by_a_hostile_school(district, "no address", host="a.example")
        put_by_a_hostile_school(district, "javascript:alert(1)", "failed", host="a.example")
        put_by_a_hostile_school(district, "http://a.example/", "fetched")
        put_by_a_hostile_school(district, f"{farm.url}/farm/1", host="a.example")
        put_by_a_hostile_school(district, "http://b.example/")
        change(
            district, "UPDATE linkmend.crawl_links SET next_try = 'infinity' WHERE url = 'http://b.example/'"
        )
        put_by_a_hostile_school(district, "http://c.example/")
        change(district, "INSERT INTO linkmend.crawl_hosts (host, free_at) VALUES ('c.example', 'infinity')")
        school.run("topics", "add", "Farm", "--word", "soil", "--seed", f"{farm.url}/farm/0")
        ended = school.run("crawl", "Farm", "--json")
        assert ended.returncode == 0, ended.stderr
    assert farm.asked["/farm/0"] == farm.asked["/farm/1"] == 1
