import asyncio
import json
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from proxy.app.nights import NightlyGrowth
from proxy.settings import Settings
from tests.fakes import FakeClock

NIGHT = datetime(2026, 5, 3, 23, 0).astimezone()
NOTING = """
import json, os, sys
said = {"arguments": sys.argv[1:], "environment": dict(os.environ)}
print(json.dumps(said), file=open(sys.argv[-2] + "/said", "a"))
if os.path.exists(sys.argv[-2] + "/slow"):
    import time
    time.sleep(600)
"""


class School:
    def __init__(self, folder):
        self.settings = Settings()
        self.folder = folder
        self.clock = FakeClock(NIGHT)
        self.last_night = None
        self.nights = NightlyGrowth(
            folder,
            lambda: self.settings,
            last_night=lambda: self.last_night,
            clock=self.clock,
            command=(sys.executable, "-c", NOTING),
        )
        self.set(enabled=True)

    def set(self, *, offline=False, **grow):
        self.settings = replace(
            self.settings,
            proxy=replace(self.settings.proxy, offline=offline),
            grow=replace(self.settings.grow, **grow),
        )

    async def look(self):
        """Look at the clock; whether a night has begun since the last look. Waits for its end."""
        await self.nights.look()
        process = self.nights._process
        if process is not None and not (self.folder / "slow").exists():
            await process.wait()
            await self.nights.look()
        return len(self.said())

    def said(self):
        file = self.folder / "said"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
async def school(tmp_path):
    made = School(tmp_path)
    yield made
    await made.nights._stop()


@pytest.mark.slow
async def test_night_runs_once_with_the_settings_of_the_moment_and_nothing_else_of_ours(school, monkeypatch):
    monkeypatch.setenv("A_SECRET", "of ours")
    school.set(pages=7)
    assert await school.look() == await school.look() == 1
    (said,) = school.said()
    assert said["arguments"] == [
        "--with-parent",
        "--config",
        "/dev/null",
        "--data",
        str(school.folder),
        "--json",
    ]
    assert said["environment"]["LINKMEND_GROW_PAGES"] == "7"
    assert "A_SECRET" not in said["environment"]
    school.clock.now += timedelta(days=1)
    assert await school.look() == 2


async def test_nothing_runs_by_day_offline_or_switched_off(school):
    school.clock.now = NIGHT.replace(hour=12)
    assert await school.look() == 0
    school.clock.now = NIGHT
    school.set(offline=True)
    assert await school.look() == 0
    school.set(enabled=False)
    assert await school.look() == 0


async def test_night_that_another_process_has_begun_is_not_begun_again(school):
    school.last_night = NIGHT - timedelta(hours=1)
    assert await school.look() == 0


@pytest.mark.slow
async def test_night_that_is_over_is_stopped(school):
    (school.folder / "slow").touch()
    await school.look()
    process = school.nights._process
    while not school.said():
        await asyncio.sleep(0.05)
    school.clock.now += timedelta(hours=8)
    await school.look()
    assert process.returncode is not None
