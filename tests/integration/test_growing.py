"""`linkmend grow` as a real program: what it fetches for misses, what it leaves alone, and `kill -9`.

All sites have public names; the parent proxy of the test answers for them.
"""

import json
import os
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from proxy.misses.record import MissRecord
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from repair.collection.collection import Collection
from repair.model import Document, Link, MissKind
from repair.settings import CollectionSettings
from tests.integration.origin import Origin, hang, reply
from tests.integration.processes import ROOT, START_S, eventually, serving, surroundings
from tests.integration.test_crawling import School, a_page
from tests.unit.repair.crawling.pages import FARM, OTHER, a_text

NOW = datetime.now(UTC)
SOURCE = "http://school.test/unit"
BACK, ARCHIVED, GONE = (f"http://farm.test/{name}" for name in ("back", "archived", "gone"))
RELATED, ALONE, PRIVATE = "http://farm.test/soil", "http://farm.test/alone", "http://10.1.2.3/marks"
LED_ASTRAY = "http://farm.test/led-astray"
MEMENTO = "http://archive.test/20200102030405/" + ARCHIVED
SETTINGS = """
[proxy]
parent = "{parent}"
[archives]
list = ["arch timemap=http://archive.test/timemap/{{url}} memento=http://archive.test/{{timestamp}}/{{url}} raw=http://archive.test/{{timestamp}}id_/{{url}}"]
[fetch]
pause_s = 0.05
retry_s = 0.01
timeout_s = 20.0
bytes_per_s = 0
parts = 0
[crawl]
search = "{engine}"
[grow]
pages = 40
"""


def note_misses(school, *addresses, readers=2):
    store = MissStore(school.data / "misses", MissesSettings())
    for url in addresses:
        for reader in range(readers):
            store.record(
                MissRecord(
                    id=f"{url}-{reader}"[-60:],
                    at=NOW,
                    url=url,
                    kind=MissKind.NOT_FOUND,
                    source_url=SOURCE,
                    client=f"client-{reader}",
                    query="soil crop farm",
                )
            )
    store.close()


def hold_source(school):
    """A held page that links to all missed ones, and to one that says the same as the lost one."""
    links = tuple(
        Link(target_url=url, anchor=anchor, before=before)
        for url, anchor, before in (
            (GONE, "crop rotation", "about the soil"),
            (RELATED, "soil crop farm", "more about the soil"),
            ("http://other.test/", "football results", "latest"),
        )
    )
    with closing(Collection.open(school.data / "collection", CollectionSettings())) as collection:
        page = Document(url=SOURCE, title="Farming unit", text=a_text(FARM, "unit", 200), links=links)
        collection.add(page, fetched_at=NOW)
        for number in range(30):
            text = a_text(OTHER, f"other {number}", 120)
            other = Document(url=f"http://held.test/{number}", title=f"Held {number}", text=text)
            collection.add(other, fetched_at=NOW)
        collection.commit()


@pytest.fixture
def web():
    """The parent: every site of the test."""
    with Origin() as parent:
        for url in (BACK, RELATED, ALONE, PRIVATE):
            parent.pages[url] = a_page(FARM, url, [])
        parent.pages[LED_ASTRAY] = reply(status="302 Found", Location=PRIVATE)
        timemap = (
            f'<{ARCHIVED}>; rel="original",\n'
            f'<{MEMENTO}>; rel="memento"; datetime="Thu, 02 Jan 2020 03:04:05 GMT"'
        )
        parent.pages[f"http://archive.test/timemap/{ARCHIVED}"] = reply(
            timemap, kind="application/link-format"
        )
        raw = MEMENTO.replace("20200102030405/", "20200102030405id_/")
        moment = "Thu, 02 Jan 2020 03:04:05 GMT"
        parent.pages[raw] = a_page(FARM, "archived", [], Memento_Datetime=moment)
        yield parent


@pytest.fixture
def school(tmp_path, web):
    made = School(tmp_path)
    made.config.write_text(SETTINGS.format(parent=web.url, engine=""))
    hold_source(made)
    return made


def held(school):
    with closing(Collection.open(school.data / "collection", CollectionSettings())) as collection:
        return {
            url: collection.get(url)
            for url in (BACK, ARCHIVED, GONE, RELATED, ALONE, PRIVATE)
            if collection.holds(url)
        }


@pytest.mark.slow
def test_night_brings_pages_that_are_back_archived_copies_and_related_pages(school, web):
    note_misses(school, BACK, ARCHIVED, GONE, PRIVATE, LED_ASTRAY)
    note_misses(school, ALONE, readers=1)
    planned = school.run("grow", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert f"fetch {BACK} if it is back" in planned.stdout
    assert "missed 2 times by 2 readers" in planned.stdout
    assert not web.asked, "a dry run asks nobody"

    done = school.run("grow", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert {how: report["pages"].get(how) for how in ("back", "archived", "related")} == {
        "back": 1,
        "archived": 1,
        "related": 1,
    }
    assert report["bytes"] > 1_000
    found = held(school)
    assert set(found) == {BACK, ARCHIVED, RELATED}
    assert found[ARCHIVED].fetched_at == datetime(2020, 1, 2, tzinfo=UTC), "the day of the archive"
    assert not web.asked[ALONE], "one reader alone changes nothing"
    assert web.asked[LED_ASTRAY]
    assert not web.asked[PRIVATE], "neither by its address nor by a redirect"

    web.asked.clear()
    again = school.run("grow", "--json")
    assert again.returncode == 0, again.stderr
    assert not {BACK, ARCHIVED, GONE} & set(web.asked), "each is due later, or held"


@pytest.mark.slow
def test_killed_night_goes_on_and_fetches_nothing_again(school, web):
    slow = "http://slow.test/farm"
    note_misses(school, BACK, slow)
    web.pages[slow] = hang
    running = subprocess.Popen(
        school.command("grow"),
        cwd=ROOT,
        env={**os.environ, **surroundings(school.config.read_text())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 150
        while not (web.asked[slow] and web.asked[BACK]) and time.monotonic() < until:
            time.sleep(0.1)
        assert web.asked[slow]
    finally:
        running.kill()
        running.wait()
    web.pages[slow] = a_page(FARM, "slow", [])
    done = school.run("grow", "--json")
    assert done.returncode == 0, done.stderr
    assert web.asked[BACK] == 1
    assert web.asked[slow] == 2
    assert [state for (state,) in school.rows("SELECT state FROM wanted")] == ["back", "back"]
    assert school.rows("SELECT stopped FROM nights ORDER BY id")[0] == ("interrupted",)


@pytest.mark.slow
def test_night_ends_in_order_when_the_process_that_started_it_is_gone(school, web):
    slow = "http://slow.test/farm"
    note_misses(school, slow)
    web.pages[slow] = hang
    running = subprocess.Popen(
        [*school.command("grow"), "--with-parent"],
        cwd=ROOT,
        env={**os.environ, **surroundings(school.config.read_text())},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        eventually(lambda: web.asked[slow] or running.poll(), "the night asks for no page", timeout_s=START_S)
        assert web.asked[slow]
        _, said = running.communicate(timeout=START_S)  # closes its standard input
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 1
    assert b"the process that started this one has ended" in said


@pytest.mark.slow
def test_topic_without_seeds_begins_with_what_the_search_engine_finds(school, web):
    with Origin() as engine:
        engine.pages["/?q=Farm%20soil"] = reply(
            json.dumps({"results": [{"url": BACK}, {"url": PRIVATE}, {"url": "javascript:x"}]}),
            kind="application/json",
        )
        school.config.write_text(SETTINGS.format(parent=web.url, engine=f"{engine.url}/?q={{searchTerms}}"))
        assert school.run("topics", "add", "Farm", "--word", "soil").returncode == 0
        done = school.run("crawl", "Farm", "--pages", "3", "--json")
        assert done.returncode == 0, done.stderr
        assert engine.asked["/?q=Farm%20soil"] == 1
    assert web.asked[BACK] == 1
    assert not web.asked[PRIVATE]


@pytest.mark.slow
def test_running_proxy_grows_by_itself_at_night(school, web):
    note_misses(school, BACK)
    text = SETTINGS.format(parent=web.url, engine="")
    text = text.replace("[fetch]\n", '[fetch]\nnight = "00:00-00:00"\n')  # always
    with serving(school.data, settings=text.replace("[grow]\n", "[grow]\nenabled = true\n")):
        eventually(lambda: web.asked[BACK], "the missed page was not asked for", timeout_s=3 * START_S)
        eventually(lambda: BACK in held(school), "the missed page was not saved", timeout_s=3 * START_S)
    assert web.asked[BACK] == 1
