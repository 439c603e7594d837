"""proxy.app.backendclient: the backend as a worker sees it."""

import asyncio
import logging
from contextlib import asynccontextmanager

from proxy.app.backendclient import BackendClient
from proxy.app.rundir import RuntimeDirectory
from proxy.repairservice import RepairRequest, bare_page
from proxy.rpc.protocol import CollectionService, MonitoringService, RepairService
from proxy.rpc.server import RpcServer
from repair.model import Click
from tests.make import a_broken_link
from tests.offers import a_context


class Watched:
    """What the backend is told by workers."""

    def __init__(self):
        self.internet = []
        self.metrics = []

    def report_internet(self, at, answered):
        self.internet.append((at, answered))

    def report_metrics(self, worker, pid, snapshot, problems):
        self.metrics.append((worker, snapshot, problems))


@asynccontextmanager
async def a_worker(tmp_path, watched=None, **services):
    """A worker's view of a backend with these services."""
    run = RuntimeDirectory(tmp_path)
    known = {
        "repair_service": RepairService,
        "async_collection": CollectionService,
    }
    implemented = {known[name]: service for name, service in services.items()}
    server = RpcServer(
        {**implemented, MonitoringService: watched or Watched()}, run.listen(), ports=lambda: (8081,)
    )
    await server.start()
    backend = BackendClient(run.rpc, run.admin, name="worker 7")
    await backend.start()
    try:
        yield backend
    finally:
        await backend.close()
        await server.close()
        run.remove()


async def test_the_internet_is_reported_when_that_changes_and_now_and_then(tmp_path):
    watched = Watched()
    async with a_worker(tmp_path, watched) as backend:
        for now in (0.0, 1.0, 2.0, 11.0):
            backend.internet.note_answer(now)
        backend.internet.note_silence(11.5)
    assert watched.internet == [(0.0, True), (11.0, True), (11.5, False)]


async def test_what_was_counted_and_logged_is_reported_at_the_end(tmp_path):
    watched = Watched()
    async with a_worker(tmp_path, watched) as backend:
        backend.metrics.hit += 3
        logging.getLogger("a.part").warning("the disk is slow")
    worker, snapshot, problems = watched.metrics[-1]
    assert (worker, snapshot.requests["hit"]) == ("worker 7", 3)
    assert [problem.text for problem in problems] == ["the disk is slow"]


async def test_where_the_backend_listens_is_known_once_it_is_there(tmp_path):
    async with a_worker(tmp_path) as backend:
        heard = []
        backend.on_ports(heard.append)
        assert heard == [{8081}]


class Crowded:
    """A backend whose repairs are stuck until `go_on`."""

    def __init__(self):
        self.go_on = asyncio.Event()

    async def repair_page(self, miss, *, within_s):
        await self.go_on.wait()
        return bare_page(miss)

    async def count(self):
        return 7


async def test_lookups_are_answered_while_fifty_repairs_are_stuck(tmp_path):
    crowded = Crowded()
    miss = RepairRequest(link=a_broken_link(), click=Click(), client="c", ask=None, context=a_context())
    async with a_worker(tmp_path, repair_service=crowded, async_collection=crowded) as backend:
        stuck = [
            asyncio.create_task(backend.repair_service.repair_page(miss, within_s=60.0)) for _ in range(50)
        ]
        await asyncio.sleep(0)
        assert await backend.async_collection.count() == 7
        assert not any(task.done() for task in stuck)
        crowded.go_on.set()
        assert [each.page for each in await asyncio.gather(*stuck)] == [bare_page(miss).page] * 50
