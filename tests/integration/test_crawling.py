"""`linkmend crawl` as a real program on several origins: what it fetches, what it leaves alone, and `kill -9`."""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest

from repair.collection.collection import Collection
from repair.locks import lock_alone
from repair.moves.movestore import MoveStore
from repair.settings import CollectionSettings
from tests.integration.origin import Origin, cut, reply
from tests.integration.processes import ROOT, START_S, Running, surroundings
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text

PAUSE_S = 0.3
KILLS = int(os.environ.get("CRAWL_KILLS", "4"))
NAMES = ("a", "b", *(f"c{number}" for number in range(max(14, 2 * KILLS))))
"""Each costs a start of the program; docs/growing.md tells what twenty showed."""
SETTINGS = f"""
[fetch]
pause_s = {PAUSE_S}
retry_s = 0.01
timeout_s = 2.0
bytes_per_s = 0
at_once = 3
parts = 0
"""
RULES = """
[[rule]]
url = "*/blocked"
action = "block"
"""


class CountedOrigin(Origin):
    """An origin that notes when requests began and ended, and how many it had at once."""

    def __init__(self, answer_s=0.02):
        super().__init__()
        self.answer_s = answer_s
        self.most_at_once = self._now = 0
        self.times = []

    def serve(self, path, answer):
        async def count(exchange):
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            if path != "/robots.txt":
                self.times.append(time.monotonic())
            try:
                await asyncio.sleep(self.answer_s)
                with contextlib.suppress(ConnectionError):
                    await (exchange.send(answer) if isinstance(answer, bytes) else answer(exchange))
            finally:
                self._now -= 1

        self.pages[path] = count

    def least_pause_s(self):
        return min(later - sooner for sooner, later in zip(self.times, self.times[1:], strict=False))


class NamedOrigin(CountedOrigin):
    """An origin at a public name, to which `PublicWeb` leads."""

    def __init__(self, name, **known):
        super().__init__(**known)
        self.name = name

    @property
    def url(self):
        return f"http://{self.name}"


class PublicWeb(Origin):
    """A parent proxy, which answers for these origins."""

    def __init__(self, *origins):
        super().__init__()
        self._origins = {origin.name: origin for origin in origins}
        self.pages = self

    def get(self, address, missing):
        name, _, path = address.removeprefix("http://").partition("/")
        if name not in self._origins:
            return missing
        self._origins[name].asked[f"/{path}"] += 1
        return self._origins[name].pages.get(f"/{path}", missing)


async def stall(exchange):
    """Send a byte now and then, as long as somebody listens."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n")
    while not exchange.writer.is_closing():
        await exchange.send(b"x")
        await asyncio.sleep(0.05)


def a_page(about, number, links, **headers):
    text = ". ".join(a_text(about, f"{number}/{part}", 12).capitalize() for part in range(20))
    anchors = " ".join(f'<a href="{link}">{name}</a>' for link, name in links)
    return reply(
        f"<html lang=en><title>Farm {number}</title><h1>Farm {number}</h1><p>{text}.</p><p>{anchors}</p></html>",
        **headers,
    )


class School:
    """A data folder, its settings, and `linkmend` on it."""

    def __init__(self, folder):
        self.data = folder / "data"
        self.config = folder / "linkmend.toml"
        self.config.write_text(SETTINGS)
        (folder / "rules.d").mkdir()
        (folder / "rules.d" / "00.toml").write_text(RULES)

    def command(self, *arguments):
        return (
            *(sys.executable, "-m", "proxy.main", *map(str, arguments)),
            *("--config", str(self.config), "--data", str(self.data)),
        )

    def run(self, *arguments):
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=400,
            cwd=ROOT,
            env={**os.environ, **surroundings(self.config.read_text())},
        )

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(self.data / "topics" / "topics.sqlite")) as database:
            return database.execute(sql).fetchall()


@pytest.fixture
def school(tmp_path):
    return School(tmp_path)


@pytest.mark.slow
def test_killed_crawl_loses_nothing_fetches_nothing_twice_and_stays_polite(school):
    with CountedOrigin() as quick, CountedOrigin(answer_s=0.15) as slow, CountedOrigin() as broken:
        good = {f"{host.url}/farm/{name}" for host in (quick, slow) for name in NAMES}
        refused = (
            f"{quick.url}/closed/x",
            f"{quick.url}/blocked",
            "http://169.254.169.254/farm",
            f"{slow.url}/own",
        )
        faulty = (f"{broken.url}/cut", f"{broken.url}/stall", f"{broken.url}/gone")
        personal = (
            f"{slow.url}/farm/q?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmnop"
        )
        everything = [(url, "soil crop") for url in (*sorted(good), *refused, *faulty, personal)]
        for host in (quick, slow):
            for number, name in enumerate(NAMES):
                host.serve(
                    f"/farm/{name}", a_page(FARM, f"{host.port} {number}", everything[number:] + everything)
                )
        quick.serve("/robots.txt", reply("User-agent: *\nDisallow: /closed/", kind="text/plain"))
        quick.serve("/closed/x", a_page(FARM, "closed", []))
        quick.serve("/blocked", a_page(FARM, "blocked", []))
        slow.serve("/own", a_page(FARM, "own", [], Cache_Control="private"))
        broken.serve("/cut", cut)
        broken.serve("/stall", stall)

        seeds = [part for name in "ab" for part in ("--seed", f"{quick.url}/farm/{name}")]
        seeds += ["--seed", f"{slow.url}/farm/a"]
        added = school.run(
            "topics", "add", "Farm", "--word", "soil", "--word", "crop", "--word", "seed", *seeds
        )
        assert added.returncode == 0, added.stderr

        interrupted = set()
        for kill in range(1, KILLS + 1):
            # In the middle: after the pages that it asks for first, which are those that the last one was killed at.
            wanted = max(kill * len(good) // (KILLS + 2), len(quick.times) + len(slow.times) + 3)
            running = Running(school.command("crawl", "Farm"))
            running.wait_until(
                lambda wanted=wanted: len(quick.times) + len(slow.times) >= wanted,
                "the crawl does not go on",
                timeout_s=START_S,
            )
            running.kill()
            interrupted |= {
                url for (url,) in school.rows("SELECT url FROM frontier WHERE state = 'fetching'")
            }
        ended = school.run("crawl", "Farm", "--json")
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)

    assert told["stopped"] in ("no more links", "the links that are left are due later"), told
    found = {url for (url,) in school.rows("SELECT url FROM page_topics WHERE topic = 'Farm'")}
    rows = school.rows("SELECT url, state, tries, probability, note FROM frontier")
    assert found == good, [row for row in rows if row[0] in good ^ found]
    with Collection.open(school.data / "collection", CollectionSettings()) as collection:
        assert {url for url in good if collection.holds(url)} == good
        assert not any(collection.holds(url) for url in refused)
    states = dict(school.rows("SELECT url, state FROM frontier"))
    assert {states[url] for url in refused} == {"refused"}
    assert states[f"{broken.url}/gone"] == "failed"
    assert personal not in states
    for host in (quick, slow):
        twice = {
            f"{host.url}{path}" for path, count in host.asked.items() if count > 1 and path != "/robots.txt"
        }
        assert twice <= interrupted, (twice, interrupted)
        assert not any("token" in path for path in host.asked)
        assert host.least_pause_s() >= PAUSE_S * 0.95
    assert quick.asked["/closed/x"] == quick.asked["/blocked"] == 0
    assert [host.most_at_once for host in (quick, slow, broken)] == [1, 1, 1]


@pytest.mark.slow
def test_dry_run_fetches_nothing_and_two_crawls_do_not_run_at_once(school):
    with CountedOrigin() as origin:
        origin.serve("/", a_page(FARM, 1, [("/other", "opera king")]))
        origin.serve("/other", a_page(OTHER, 2, []))
        school.run("topics", "add", "Farm", "--word", "soil", "--seed", origin.url)
        dry = school.run("crawl", "farm", "--dry-run", "--json")
        assert (dry.returncode, origin.times) == (0, []), dry.stderr
        assert json.loads(dry.stdout)["next"] == [{"url": f"{origin.url}/", "worth": 1.0}]
        lock = lock_alone(school.data / "topics" / "crawl.lock")
        busy = school.run("crawl", "Farm")
        assert (busy.returncode, "another crawl" in busy.stderr) == (1, True)
        os.close(lock)
        done = school.run("crawl", "Farm", "--pages", "1")
        assert done.returncode == 0, done.stderr
        assert "budget of pages reached" in done.stdout
        assert origin.asked["/other"] == 0


@pytest.mark.slow
def test_refresh_asks_conditionally_keeps_what_is_gone_and_learns_moves(school):
    with CountedOrigin() as origin:
        names = ("same", "changed", "gone", "moved")
        links = [(f"/farm/{name}", "soil crop") for name in names]
        for name in names:
            origin.serve(f"/farm/{name}", a_page(FARM, name, links, ETag=f'"{name}"'))
        school.run("topics", "add", "Farm", "--word", "soil", "--seed", f"{origin.url}/farm/same")
        crawled = school.run("crawl", "Farm")
        assert crawled.returncode == 0, crawled.stderr
        early = json.loads(school.run("crawl", "Farm", "--refresh", "--json").stdout)
        assert (early["unchanged"], early["stopped"]) == (0, "nothing more is due")

        conditions = []

        async def not_modified(exchange):
            conditions.append(exchange.headers.get("if-none-match"))
            await exchange.send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n")

        origin.serve("/farm/same", not_modified)
        origin.serve("/farm/changed", a_page(FARM, "changed since", [("/farm/new", "soil")]))
        origin.serve("/farm/gone", reply("no such page", status="404 Not Found"))
        origin.serve("/farm/moved", reply(status="301 Moved Permanently", Location="/farm/here"))
        origin.serve("/farm/here", a_page(FARM, "moved", links))
        origin.serve(
            "/sitemap.xml", reply("<urlset><url><loc>/farm/listed</loc></url></urlset>", kind="text/xml")
        )
        with contextlib.closing(sqlite3.connect(school.data / "topics" / "topics.sqlite")) as database:
            database.execute("UPDATE page_topics SET judged_at = judged_at - 700000")
            database.commit()
        refreshed = school.run("crawl", "Farm", "--refresh", "--json")
        told = json.loads(refreshed.stdout)
        assert {name: told[name] for name in ("unchanged", "changed", "gone", "moved", "failed")} == {
            "unchanged": 1,
            "changed": 1,
            "gone": 1,
            "moved": 1,
            "failed": 0,
        }, refreshed.stderr
        assert told["new_links"] == 2
        assert conditions == ['"same"']
        assert origin.most_at_once == 1
        assert origin.least_pause_s() >= PAUSE_S * 0.95
    waiting = {url for (url,) in school.rows("SELECT url FROM frontier WHERE state = 'waiting'")}
    assert waiting == {f"{origin.url}/farm/new", f"{origin.url}/farm/listed"}
    with Collection.open(school.data / "collection", CollectionSettings()) as collection:
        assert all(collection.holds(f"{origin.url}/farm/{name}") for name in (*names, "here"))
        assert collection.get(f"{origin.url}/farm/changed").title == "Farm changed since"
        moved = MoveStore(collection.database).moved_to(f"{origin.url}/farm/moved")
        assert moved == f"{origin.url}/farm/here"


@pytest.mark.slow
def test_public_pages_lead_no_crawl_into_a_private_network(school):
    farm, inside = NamedOrigin("farm.example"), NamedOrigin("10.1.2.3")
    marks, reboot = f"{inside.url}/marks", f"{inside.url}/reboot"
    farm.serve(
        "/farm/0", a_page(FARM, 0, [(marks, "soil crop"), ("/farm/1", "soil crop"), ("/farm/2", "soil crop")])
    )
    farm.serve("/farm/1", reply(status="302 Found", Location=reboot))
    farm.serve("/farm/2", a_page(FARM, 2, []))
    for path in ("/marks", "/reboot"):
        inside.serve(path, a_page(FARM, 3, []))
    with PublicWeb(farm, inside) as web:
        school.config.write_text(f'{SETTINGS}\n[proxy]\nparent = "{web.url}"\n')
        school.run("topics", "add", "Farm", "--word", "soil", "--seed", f"{farm.url}/farm/0")
        ended = school.run("crawl", "Farm", "--json")
        assert ended.returncode == 0, ended.stderr
        assert farm.asked["/farm/2"] == farm.asked["/farm/1"] == 1
        assert not inside.asked
        # Where its own seeds are, a crawl reads on.
        school.run("topics", "add", "Inside", "--word", "soil", "--seed", marks)
        assert school.run("crawl", "Inside", "--json").returncode == 0
        assert inside.asked["/marks"] == 1
