"""The page and the API of growth."""

from contextlib import closing
from datetime import datetime, timedelta

import pytest

from proxy.admin.growth.service import GrowthReader, week_begins
from proxy.misses.lists import MissTally
from proxy.misses.store import MissStore
from proxy.settings import MissesSettings
from proxy.sizes import size
from repair.crawling.topicdatabase import TopicDatabase
from repair.crawling.topicstore import TopicStore
from repair.growing.growthstore import Brought, BroughtBy, GrowthStore, WantState
from repair.growing.wants import Want
from tests.desks import a_desk, an_admin
from tests.fakes import FakeClock
from tests.missed import a_miss, choose, note
from tests.unit.repair.growing.made import VOLCANOES, a_wanted_miss

NOW = datetime.now().astimezone()
GONE = "http://a.test/lava"


@pytest.fixture
def database(tmp_path):
    opened = TopicDatabase(tmp_path / "topics")
    yield opened
    opened.close()


def grow(database, at):
    """A night that brought the missed page."""
    store = GrowthStore(database, FakeClock(at.timestamp()))
    store.note_wants([Want(topic=VOLCANOES, words=("lava",), misses=(a_wanted_miss(GONE),))])
    night = store.begin_night()
    store.claim(GONE)
    found = Brought(url=GONE, how=BroughtBy.BACK, topic="Volcanoes", wanted=GONE, pages=1, received=5_000)
    store.note_brought(night, found)
    store.finish(GONE, WantState.BACK)
    store.end_night(night, "done")


def miss_before_and_after(misses, grown_at):
    before = [a_miss(n, GONE, at=grown_at - timedelta(hours=30 + n)) for n in (1, 2)]
    after = [a_miss(n, GONE, at=grown_at + timedelta(hours=n)) for n in (3, 4)]
    other = a_miss(5, "http://b.test/", at=grown_at - timedelta(hours=30))
    note(misses, *before, *after, other)
    choose(misses, after[0], 1)
    misses.flush()


def test_misses_are_counted_by_topic_and_before_and_after_growing(tmp_path, database):
    grown_at = NOW - timedelta(days=1)
    with closing(MissStore(tmp_path / "misses", MissesSettings())) as misses:
        miss_before_and_after(misses, grown_at)
        grow(database, grown_at)
        found = GrowthReader(misses, database).read(NOW)
    totals = {each.topic: each.total for each in found.topics}
    assert totals["Volcanoes"] == MissTally(times=4, offered=3, opened=1)
    assert totals[""].times == 1
    assert (found.helped, found.before, found.after) == (
        1,
        MissTally(times=2, offered=2),
        MissTally(times=2, offered=1, opened=1),
    )
    assert found.of(None).total.times == 5
    assert found.nights[0].pages == {BroughtBy.BACK: 1}


def test_weeks_begin_on_mondays_the_oldest_first():
    begins = week_begins(datetime(2026, 11, 18, 14, 0).astimezone(), weeks=3)
    assert [f"{begin:%a %d %H}" for begin in begins] == ["Mon 02 00", "Mon 09 00", "Mon 16 00"]


async def test_page_and_api_show_what_the_night_brought(tmp_path, database):
    grow(database, NOW - timedelta(days=1))
    TopicStore(database).put(VOLCANOES)
    async with a_desk(tmp_path, topics=database) as desk, an_admin(desk) as browser:
        page = await browser.text("/admin/growth")
        topic = await browser.text("/admin/growth?topic=Volcanoes")
        unknown = await browser.text("/admin/growth?topic=<b>")
        told = await (await browser.call("GET", "/admin/api/growth")).json()
    assert "What the last night brought" in page
    assert size(5_000) in page
    assert "grow.enabled" in page
    assert "By week" in topic
    assert "<b>x" not in unknown
    assert told["nights"][0]["pages"] == {"back": 1}
    assert told["nights"][0]["received_bytes"] == 5_000
    assert len(told["weeks"]) == 12


async def test_without_nights_the_page_says_how_to_begin(tmp_path, database):
    async with a_desk(tmp_path, topics=database) as desk, an_admin(desk) as browser:
        assert "linkmend grow --dry-run" in await browser.text("/admin/growth")
