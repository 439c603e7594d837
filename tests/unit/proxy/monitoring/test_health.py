"""The state of linkmend, in one value and on one page."""

import logging
import re
import time
from datetime import UTC, datetime

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.monitoring.health import HealthSources, WorkerHealth, model_beside
from proxy.monitoring.metrics import MetricsSnapshot
from proxy.monitoring.recentproblems import RecentProblems
from proxy.settings import ProxySettings, Settings
from proxy.store.reserve import FULL_BYTES
from tests.desks import a_desk, an_admin


@pytest.fixture
def known(tmp_path):
    """The health sources, to be changed by a test."""
    return {
        "snapshot": lambda: MetricsSnapshot(
            requests={"hit": 3, "miss": 1}, cache_bytes=2048, queues={"harvest": 4}
        ),
        "connectivity": Connectivity(),
        "problems": RecentProblems(),
        "model": model_beside(tmp_path / "collection"),
        "workers": lambda: [WorkerHealth(name="proxy", pid=7, resident_bytes=1024)],
        "started_at": datetime(2026, 5, 3, 12, tzinfo=UTC),
        "data": tmp_path,
    }


async def told(tmp_path, known, **further):
    async with a_desk(tmp_path, health=HealthSources(**known), **further) as desk, an_admin(desk) as browser:
        return await (await browser.get("/admin/api/health")).json()


async def test_report_contains_cache_queues_and_processes(tmp_path, known):
    health = await told(tmp_path, known)
    assert (health["cache"]["hit_ratio"], health["cache"]["saved_bytes"]) == (0.75, 2048)
    assert health["queues"] == {"harvest": 4}
    assert health["workers"][0]["pid"] == 7


async def test_report_contains_free_disk_space(tmp_path, known):
    disk = (await told(tmp_path, known))["disk"]
    assert disk["free_bytes"] > 0
    assert disk["full"] is (disk["free_bytes"] < FULL_BYTES)


async def test_connectivity_is_down_when_no_site_answers(tmp_path, known):
    assert (await told(tmp_path / "a", known))["line"] == "up"
    known["connectivity"].note_silence(0.0)
    assert (await told(tmp_path / "b", known))["line"] == "down"
    switched_off = Settings(proxy=ProxySettings(offline=True))
    assert (await told(tmp_path / "c", known, settings=switched_off))["line"] == "offline"


async def test_the_page_says_when_a_site_last_replied(tmp_path, known):
    assert (await told(tmp_path / "a", known))["last_reply_s"] is None
    known["connectivity"].note_answer(time.monotonic() - 5)
    async with a_desk(tmp_path / "b", health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        assert re.search(r"connected</span>.*last reply [5-9] s ago", await browser.text("/admin/health"))


async def test_a_dead_parent_is_shown_first(tmp_path, known):
    known["parent_fault"] = lambda: (
        "the parent proxy http://10.0.0.2:3128 does not answer (connection refused)"
    )
    assert "10.0.0.2:3128" in (await told(tmp_path / "a", known))["parent_fault"]
    async with a_desk(tmp_path / "b", health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        text = await browser.text("/admin/health")
    assert re.search(
        r'role="alert">No page comes in from outside: the parent proxy http://10.0.0.2:3128', text
    )


async def test_failed_archive_is_paused(tmp_path, known):
    async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        for _ in range(3):
            desk.mementos._memory.admission.note_failure("arquivo.pt")
        health = await (await browser.get("/admin/api/health")).json()
        states = {each["name"]: (each["state"], each["failures"]) for each in health["archives"]}
        assert states["arquivo.pt"] == ("resting", 3)
        assert states["internetarchive"] == ("asked", 0)


async def test_report_contains_the_model_and_its_scores(tmp_path, known):
    model = (await told(tmp_path, known))["model"]
    assert model["ranking"] == "learned"
    assert all(0 <= figure <= 1 for figure in model["figures"].values())
    assert model["figures"]


async def test_report_contains_the_rules_error(tmp_path, known):
    class Rules:
        fault = "rules.d/10.toml:3: unknown action"

    assert (await told(tmp_path, known, rules=Rules()))["rules_fault"] == Rules.fault


async def test_health_page_escapes_log_messages(tmp_path, known):
    record = logging.makeLogRecord(
        {"name": "proxy", "levelno": 40, "levelname": "ERROR", "msg": "<script>x</script>"}
    )
    known["problems"].emit(record)
    async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        text = await browser.text("/admin/health")
        assert "75 %" in text
        assert "2.0 KB" in text
        assert "&lt;script&gt;x" in text
        assert "<script>x" not in text


async def test_the_page_says_how_many_devices_trust_the_certificate(tmp_path, known):
    known["snapshot"] = lambda: MetricsSnapshot(
        trusting={"one": 9}, refusing={"one": 2, "two": 5}, refused_hosts={"autofill.test": 6, "<b>": 1}
    )
    async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
        trust = (await (await browser.get("/admin/api/health")).json())["trust"]
        assert trust == {"devices": 2, "trusting": 1, "refused_hosts": {"autofill.test": 6, "<b>": 1}}
        text = await browser.text("/admin/health")
        assert "1 of 2" in text
        assert "autofill.test" in text
        assert "<b></bdi>" not in text


async def test_times_are_local_and_the_zone_is_named(tmp_path, known, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        async with a_desk(tmp_path, health=HealthSources(**known)) as desk, an_admin(desk) as browser:
            text = await browser.text("/admin/health")
            assert "running since 2026-05-03 17:30" in text
            assert "IST, UTC+05:30" in text
    finally:
        monkeypatch.undo()
        time.tzset()
