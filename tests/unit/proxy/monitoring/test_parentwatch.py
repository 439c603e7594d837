"""A parent proxy under watch."""

import asyncio
import logging

import pytest

from proxy.http.parentprobe import ParentProbe, ParentState
from proxy.monitoring.parentwatch import ParentWatch

UP = ParentProbe(state=ParentState.UP)
DOWN = ParentProbe(state=ParentState.DOWN, detail="connection refused")
WRONG = ParentProbe(state=ParentState.WRONG, detail="it answers like a web server (404)")
DENIED = ParentProbe(state=ParentState.DENIED, detail="it refuses this machine (403)")
PARENT = "http://10.0.0.2:3128"


class School:
    """A setting and a parent that a test may change."""

    def __init__(self):
        self.parent, self.answer = PARENT, UP
        self.watch = ParentWatch(lambda: self.parent, self._probe)

    async def _probe(self, parent):
        assert parent == self.parent
        return self.answer

    async def look(self, answer):
        self.answer = answer
        await self.watch.look()
        return self.watch.fault


@pytest.fixture
def school(caplog):
    caplog.set_level(logging.INFO, logger="proxy")
    return School()


async def test_a_parent_that_dies_and_comes_back_is_logged_once_each(school, caplog):
    assert await school.look(UP) == ""
    assert caplog.messages == []
    for _ in range(3):
        fault = await school.look(DOWN)
        assert fault == f"the parent proxy {PARENT} does not answer (connection refused)"
    assert await school.look(UP) == ""
    assert caplog.messages == [
        f"{fault}: users get only what is saved",
        f"the parent proxy {PARENT} answers",
    ]


async def test_a_parent_that_is_down_from_the_start_is_an_error(school, caplog):
    await school.look(DOWN)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_a_web_server_is_no_proxy(school):
    assert "is no proxy (it answers like a web server" in await school.look(WRONG)


async def test_a_parent_that_may_refuse_us_is_only_a_warning(school, caplog):
    assert await school.look(DENIED) == ""
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_without_a_parent_there_is_no_fault(school):
    await school.look(DOWN)
    school.parent = ""
    assert await school.look(DOWN) == ""


async def test_it_looks_at_once_and_ends_when_it_is_told():
    school = School()
    school.answer = DOWN
    await school.watch.start()
    while not school.watch.fault:
        await asyncio.sleep(0)
    await school.watch.close()
