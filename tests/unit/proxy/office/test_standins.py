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
from repair.model import Click
from repair.settings import RepairSettings
from tests.make import a_broken_link
from tests.offers import a_context, an_alternative

SETTINGS = replace(Settings(), repair=RepairSettings(deadline_s=0.1))


class SlowSearch:
    """Takes its time, if it is not told to go on."""

    def __init__(self, *, go_on):
        self.go_on = asyncio.Event()
        if go_on:
            self.go_on.set()

    async def search(self, text, limit):
        await self.go_on.wait()
        return (an_alternative(),)


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


@pytest.mark.parametrize(("go_on", "deadline_s", "found"), [(True, 30.0, 1), (False, 0.1, 0)])
async def test_a_search_that_takes_too_long_finds_nothing(tmp_path, go_on, deadline_s, found):
    async with a_worker(tmp_path, searcher=SlowSearch(go_on=go_on)) as office:
        office.searcher.deadline_s = deadline_s
        assert len(await office.searcher.search("volcanoes")) == found


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
