import asyncio

from repair.evidence.gather import gather, gather_local
from repair.model import Evidence
from tests.make import a_broken_link


class Says:
    def __init__(self, name, *, after_s=0.0, error=None, silent=False):
        self.name = name
        self._after_s = after_s
        self._error = error
        self._silent = silent

    async def evidence(self, link):
        await asyncio.sleep(self._after_s)
        if self._error:
            raise self._error
        return None if self._silent else Evidence(source=self.name, terms=())


async def _names(*sources, deadline_s=5.0):
    return [piece.source for piece in await gather(a_broken_link(), sources, deadline_s=deadline_s)]


async def test_evidence_comes_in_the_order_of_the_sources():
    assert await _names(Says("slow", after_s=0.02), Says("silent", silent=True), Says("quick")) == [
        "slow",
        "quick",
    ]


async def test_a_source_that_fails_costs_one_line(caplog):
    assert await _names(Says("bad", error=RuntimeError("no disk")), Says("good")) == ["good"]
    assert [record.getMessage() for record in caplog.records] == [
        "evidence source bad: failed for http://school.test/gone: RuntimeError: no disk"
    ]


async def test_a_source_that_is_late_costs_one_line_and_no_more_time(caplog):
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await _names(Says("late", after_s=60), Says("good"), deadline_s=0.05) == ["good"]
    assert loop.time() - began < 5
    assert [record.getMessage() for record in caplog.records] == [
        "evidence source late: timed out after 0.1 s for http://school.test/gone"
    ]


async def test_without_sources_there_is_no_evidence():
    assert await _names() == []


class Finds:
    """A local source; `then` is done while it looks."""

    def __init__(self, name, then=lambda: None):
        self.name = name
        self._then = then

    def find(self, link):
        self._then()
        return Evidence(source=self.name, terms=())


def test_local_sources_run_in_order_and_a_failing_one_costs_one_line(caplog):
    def fail():
        raise RuntimeError("no disk")

    sources = (Finds("first"), Finds("bad", fail), Finds("last"))
    found = gather_local(a_broken_link(), sources, deadline_s=5.0)
    assert [piece.source for piece in found] == ["first", "last"]
    assert [record.getMessage() for record in caplog.records] == [
        "evidence source bad: failed for http://school.test/gone: RuntimeError: no disk"
    ]


def test_local_sources_past_the_deadline_are_skipped(caplog):
    found = gather_local(a_broken_link(), (Finds("never"),), deadline_s=-1.0)
    assert found == ()
    assert "source never: not started" in caplog.text


async def test_each_loss_of_evidence_is_told():
    losses = []
    sources = (Says("bad", error=RuntimeError()), Says("late", after_s=60), Says("silent", silent=True))
    await gather(a_broken_link(), sources, deadline_s=0.05, on_loss=lambda: losses.append(1))
    assert len(losses) == 2

    def fail():
        raise RuntimeError

    gather_local(
        a_broken_link(), (Finds("a", fail), Finds("b")), deadline_s=5.0, on_loss=lambda: losses.append(1)
    )
    assert len(losses) == 3
    gather_local(a_broken_link(), (Finds("a"), Finds("b")), deadline_s=-1.0, on_loss=lambda: losses.append(1))
    assert len(losses) == 5
