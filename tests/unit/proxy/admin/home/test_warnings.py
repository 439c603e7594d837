from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from proxy.admin.home.warnings import age_warnings, running_warnings, setup_warnings
from proxy.doctor.model import FindingLevel
from proxy.monitoring.health import (
    ArchiveHealth,
    CacheHealth,
    DiskHealth,
    HealthReport,
    ModelHealth,
    TrustHealth,
)
from proxy.settings import Settings
from proxy.version import installed_at

HEALTHY = HealthReport(
    line="up",
    last_reply_s=1,
    started_at=datetime(2026, 5, 3, 12, tzinfo=UTC),
    parent="",
    archives=[ArchiveHealth(name="ia", state="asked", failures=0, rests_until=None)],
    cache=CacheHealth(
        hit_ratio=None, saved_bytes=0, fetched_bytes=0, held_bytes=0, held_responses=0, max_bytes=1
    ),
    disk=DiskHealth(free_bytes=10**12, full=False),
    queues={},
    lost_records=0,
    open_connections=0,
    trust=TrustHealth(devices=10, trusting=6, refused_hosts={}),
    held_pages=50,
    model=ModelHealth(ranking="plain", name="", figures={}),
    rules_fault="",
    workers=[],
    problems=[],
)


def test_a_dead_parent_is_a_failure():
    report = msgspec.structs.replace(HEALTHY, parent_fault="the parent proxy http://a.test:1 does not answer")
    (finding,) = running_warnings(report)
    assert (finding.check, finding.level) == ("parent", FindingLevel.FAIL)
    assert "correct proxy.parent" in finding.advice


def test_a_healthy_proxy_has_no_warnings():
    assert running_warnings(HEALTHY) == []


@pytest.mark.parametrize(
    ("changed", "check", "level"),
    [
        ({"rules_fault": "20-school.toml: line 3"}, "rules", FindingLevel.FAIL),
        ({"line": "down"}, "internet", FindingLevel.FAIL),
        ({"line": "down", "parent_fault": "it does not answer"}, "parent", FindingLevel.FAIL),
        ({"trust": TrustHealth(devices=10, trusting=5, refused_hosts={})}, "certificate", FindingLevel.WARN),
        (
            {"archives": [ArchiveHealth(name="ia", state="resting", failures=3, rests_until=None)]},
            "archives",
            FindingLevel.WARN,
        ),
        ({"held_pages": 0}, "collection", FindingLevel.WARN),
        ({"lost_records": 4}, "log", FindingLevel.WARN),
    ],
)
def test_each_fault_of_the_running_proxy_has_a_warning_with_advice(changed, check, level):
    (found,) = running_warnings(msgspec.structs.replace(HEALTHY, **changed))
    assert (found.check, found.level) == (check, level)
    assert found.advice


@pytest.mark.parametrize(
    "changed",
    [
        {"trust": TrustHealth(devices=4, trusting=0, refused_hosts={})},
        {"line": "offline"},
        {"archives": [ArchiveHealth(name="ia", state="off", failures=0, rests_until=None)]},
        {"archives": []},
    ],
    ids=["few devices", "offline on purpose", "archives switched off", "no archives"],
)
def test_what_the_admin_chose_is_no_fault(changed):
    assert running_warnings(msgspec.structs.replace(HEALTHY, **changed)) == []


async def test_failures_come_before_warnings(tmp_path):
    authority = tmp_path / "ca" / "mitmproxy-ca.pem"
    authority.parent.mkdir()
    authority.write_text("damaged")
    report = msgspec.structs.replace(HEALTHY, held_pages=0)
    found = await setup_warnings(Settings(), tmp_path, report)
    levels = [each.level for each in found]
    assert levels == sorted(levels, key=[FindingLevel.FAIL, FindingLevel.WARN].index)
    assert {"certificate", "collection"} <= {each.check for each in found}


def test_version_that_is_a_year_old_is_named():
    now = datetime(2026, 5, 3, tzinfo=UTC)
    assert age_warnings(now - timedelta(days=300), now) == age_warnings(None, now) == []
    (warning,) = age_warnings(now - timedelta(days=400), now)
    assert (warning.check, warning.level) == ("updates", FindingLevel.WARN)
    assert "400 days" in warning.found


def test_the_day_of_an_installation_is_known():
    installed = installed_at()
    assert installed is None or installed <= datetime.now(UTC)
