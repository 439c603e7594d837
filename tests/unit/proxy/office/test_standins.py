"""proxy.office: a worker's line and the office at its other end."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from proxy.mending import Miss, bare
from proxy.office.rundir import RunDirectory
from proxy.office.server import OfficeServer
from proxy.office.standins import DistantOffice
from proxy.settings import Settings
from repair.model import Click, RankedAlternatives
from repair.settings import RepairSettings
from tests.make import a_broken_link
from tests.offers import a_context

SETTINGS = replace(Settings(), repair=RepairSettings(deadline_s=0.1))


class SlowRepairer:
    """Takes its time, and notes how long it was given."""

    def __init__(self):
        self.given_s = []

    async def repair(self, link, *, within_s=None, click=None):
        self.given_s.append(within_s)
        await asyncio.sleep(0.3)
        return RankedAlternatives(link=link, query="found")


@asynccontextmanager
async def a_worker(tmp_path, **parts):
    """A worker's view of an office with these parts."""
    run = RunDirectory(tmp_path)
    server = OfficeServer(
        SimpleNamespace(watching=SimpleNamespace(counted=lambda *told: None), **parts), run.listener
    )
    await server.start()
    office = DistantOffice(SETTINGS, run.path)
    await office.start()
    try:
        yield office
    finally:
        await office.close()
        await server.close()
        run.remove()


@pytest.mark.parametrize(("within_s", "query"), [(None, ""), (5.0, "found")])
async def test_a_repair_takes_as_long_as_whoever_asks_will_wait(tmp_path, within_s, query):
    repairer = SlowRepairer()
    async with a_worker(tmp_path, repairer=repairer) as office:
        found = await office.repairer.repair(a_broken_link(), within_s=within_s)
    assert found.query == query
    assert repairer.given_s == [within_s or 0.1]


class Crowded:
    """A mender that has a page for nobody."""

    def __init__(self):
        self.go_on = asyncio.Event()

    async def mend(self, miss, *, within_s):
        await self.go_on.wait()
        return bare(miss)

    async def count(self):
        return 7


async def test_readers_are_answered_while_fifty_repairs_are_stuck(tmp_path):
    crowded = Crowded()
    miss = Miss(link=a_broken_link(), click=Click(), client="c", ask=None, context=a_context())
    async with a_worker(tmp_path, mender=crowded, reader=crowded) as office:
        stuck = [asyncio.create_task(office.mender.mend(miss, within_s=60.0)) for _ in range(50)]
        await asyncio.sleep(0)
        assert await office.reader.count() == 7
        assert not any(task.done() for task in stuck)
        crowded.go_on.set()
        assert [mended.page for mended in await asyncio.gather(*stuck)] == [bare(miss).page] * 50
