"""How linkmend fares, told in one value, on one page."""

import logging
from datetime import UTC, datetime

import pytest

from proxy.desk.health import HealthSources, Worker, model_beside
from proxy.fetching.line import Line
from proxy.settings import ProxySettings, Settings
from proxy.store.ballast import FULL_BYTES
from proxy.watching.metrics import Snapshot
from proxy.watching.recent import RecentProblems
from tests.desks import a_desk, an_admin


@pytest.fixture
def known(tmp_path):
    """What is known, to be changed by a test before it asks."""
    return {
        "snapshot": lambda: Snapshot(requests={"hit": 3, "miss": 1}, cache_bytes=2048, queues={"harvest": 4}),
        "line": Line(),
        "problems": RecentProblems(),
        "model": model_beside(tmp_path / "collection"),
        "workers": lambda: [Worker(name="proxy", pid=7, resident_bytes=1024)],
        "started_at": datetime(2026, 5, 3, 12, tzinfo=UTC),
        "data": tmp_path,
    }


async def told(tmp_path, known, **further):
    async with a_desk(tmp_path, health=HealthSources(**known), **further) as desk, an_admin(desk) as browser:
        return await (await browser.get("/admin/api/health")).json()


async def test_the_cache_the_queues_and_the_processes_are_told(tmp_path, known):
    health = await told(tmp_path, known)
    assert (health["cache"]["hit_ratio"], health["cache"]["saved_bytes"]) == (0.75, 2048)
    assert health["queues"] == {"harvest": 4}
    assert health["workers"][0]["pid"] == 7


async def test_the_room_on_the_disk_is_told(tmp_path, known):
    disk = (await told(tmp_path, known))["disk"]
    assert disk["free_bytes"] > 0
    assert disk["full"] is (disk["free_bytes"] < FULL_BYTES)


async def test_a_line_on_which_nobody_answers_is_down(tmp_path, known):
    assert (await told(tmp_path / "a", known))["line"] == "up"
    known["line"].silent(0.0)
    assert (await told(tmp_path / "b", known))["line"] == "down"
    switched_off = Settings(proxy=ProxySettings(offline=True))
    assert (await told(tmp_path / "c", known, settings=switched_off))["line"] == "offline"


async def test_an_archive_that_failed_is_left_alone_for_a_while(tmp_path, known):
    async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        for _ in range(3):
            desk.mementos._memory.turns.failed("arquivo.pt")
        health = await (await browser.get("/admin/api/health")).json()
        states = {each["name"]: (each["state"], each["failures"]) for each in health["archives"]}
        assert states["arquivo.pt"] == ("resting", 3)
        assert states["internetarchive"] == ("asked", 0)


async def test_the_model_in_use_comes_with_its_figures(tmp_path, known):
    model = (await told(tmp_path, known))["model"]
    assert model["ranking"] == "learned"
    assert all(0 <= figure <= 1 for figure in model["figures"].values())
    assert model["figures"]


async def test_the_fault_of_the_rules_is_told(tmp_path, known):
    class Rules:
        fault = "rules.d/10.toml:3: unknown action"

    assert (await told(tmp_path, known, rules=Rules()))["rules_fault"] == Rules.fault


async def test_the_page_shows_it_all_and_escapes_what_the_log_says(tmp_path, known):
    record = logging.makeLogRecord(
        {"name": "proxy", "levelno": 40, "levelname": "ERROR", "msg": "<script>x</script>"}
    )
    known["problems"].emit(record)
    async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        text = await browser.text("/admin/health")
        assert "75 %" in text
        assert "2.0 KiB" in text
        assert "&lt;script&gt;x" in text
        assert "<script>x" not in text
