"""The client and the server together, over a real socket in a folder of the test."""

import asyncio
import socket
from contextlib import asynccontextmanager

import aiohttp
import pytest

from proxy.repairservice import RepairRequest, bare_page
from proxy.rpc import client as client_module
from proxy.rpc import server as server_module
from proxy.rpc.client import BackendUnavailable, RpcClient
from proxy.rpc.protocol import (
    ArchiveService,
    BrowseService,
    ClientEvents,
    CollectionService,
    HarvestService,
    MissLogService,
    ReadershipService,
    RepairService,
)
from proxy.rpc.server import RpcServer
from proxy.rpc.wire import Broadcast, Call, encode
from repair.model import Click
from tests.make import a_broken_link, a_page
from tests.offers import a_context

LINK = a_broken_link()


def a_miss(url="http://a.test/"):
    return RepairRequest(
        link=a_broken_link(url=url), click=Click(), client="c", ask=None, context=a_context()
    )


class FakeBackend:
    """Implements all services: notes what it is told; repairs wait until `go_on`."""

    def __init__(self):
        self.told = []
        self.go_on = asyncio.Event()
        self.given_up = 0
        self.go_on.set()

    def services(self):
        kinds = (
            RepairService,
            BrowseService,
            CollectionService,
            ArchiveService,
            MissLogService,
            HarvestService,
            ReadershipService,
        )
        return dict.fromkeys(kinds, self)

    async def repair_page(self, miss, *, within_s):
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return bare_page(miss)

    async def start_page(self):
        raise ValueError("no such words")

    async def page(self, url):
        await asyncio.Event().wait()

    async def count(self):
        return 7

    def record_choice(self, miss_id, number, *, client, network):
        self.told.append((miss_id, number, client, network))

    def offer(self, page):
        self.told.append(page)

    def note_redirect(self, old, new):
        if old == "bad":
            raise ValueError("no such page")
        self.told.append((old, new))

    def page_opened(self, client, url):
        if url == "bad":
            raise ValueError("no such page")
        self.told.append((client, url))

    def note(self, miss_id, client, link, *, ask):
        self.told.append((miss_id, client, link, ask))


class Heard:
    """What a worker hears of the others."""

    def __init__(self):
        self.events = []

    def client_opened(self, client, url):
        self.events.append((client, url))

    def client_redirected(self, client, asked, location):
        self.events.append((client, asked, location))


class Machine:
    """A backend on one socket, which stays open while backends come and go, and clients of it."""

    def __init__(self, folder):
        self.path = folder / "rpc"
        self.backend = FakeBackend()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.server = None
        self.clients = []

    async def start(self):
        self.server = RpcServer(self.backend.services(), self.listener.dup(), ports=lambda: (8081,))
        await self.server.start()

    async def kill(self):
        """End the backend without a word, as a killed process does."""
        self.server._server.close()
        for task in tuple(self.server._workers):
            task.cancel()
        await asyncio.gather(*self.server._workers, return_exceptions=True)

    async def client(self, *, wait_s=5.0):
        client = RpcClient(self.path, on_welcome=lambda welcome: setattr(client, "welcome", welcome))
        client.heard = Heard()
        client.receive(ClientEvents, client.heard)
        self.clients.append(client)
        await client.start(wait_s=wait_s)
        return client


@asynccontextmanager
async def machine(folder):
    made = Machine(folder)
    await made.start()
    try:
        yield made
    finally:
        made.backend.go_on.set()
        for client in made.clients:
            await client.close()
        await made.server.close()
        made.listener.close()


async def until(is_true):
    async with asyncio.timeout(5):
        while not is_true():
            await asyncio.sleep(0.005)


async def repair_page(client, miss=None, within_s=5.0):
    return await client.stub(RepairService).repair_page(miss or a_miss(), within_s=within_s)


async def test_a_request_is_answered(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        assert (await repair_page(client)).found.link == a_miss().link
        assert await client.stub(CollectionService).count() == 7


async def test_many_requests_at_once_get_their_own_answers(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        urls = [f"http://a.test/{n}" for n in range(100)]
        answers = await asyncio.gather(*(repair_page(client, a_miss(url)) for url in urls))
        assert [answer.found.link.url for answer in answers] == urls


async def test_a_request_that_fails_returns_what_its_declaration_names(tmp_path, caplog):
    async with machine(tmp_path) as made:
        client = await made.client()
        assert await client.stub(BrowseService).start_page() is None
        assert "BrowseService.start_page: ValueError no such words" in caplog.text
        assert await client.stub(CollectionService).count() == 7


async def test_notifications_are_taken_in_their_order(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        page = a_page(body=b"x" * 1_000_000)
        assert client.stub(HarvestService).offer(page)
        client.stub(HarvestService).note_redirect("bad", "costs only itself")
        client.stub(HarvestService).note_redirect("a", "b")
        client.stub(MissLogService).record_choice("m", 2, client="c", network="n")
        client.stub(ArchiveService).note("m", "c", LINK)
        await until(lambda: len(made.backend.told) == 4)
        assert made.backend.told == [page, ("a", "b"), ("m", 2, "c", "n"), ("m", "c", LINK, True)]


async def test_what_may_wait_is_gathered_and_each_costs_only_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "_GATHER_MOST", 4)
    sent = []
    async with machine(tmp_path) as made:
        client = await made.client()
        put = client._outbox.put
        monkeypatch.setattr(
            client._outbox, "put", lambda data, limit: sent.append(data) or put(data, limit=limit)
        )
        for url in ("a", "bad", "b", "c"):
            client.stub(ReadershipService).page_opened("x", url)
        await until(lambda: len(made.backend.told) == 3)
        assert made.backend.told == [("x", "a"), ("x", "b"), ("x", "c")]
        assert len(sent) == 1


async def test_the_backend_works_on_a_request_no_longer_than_its_caller_waits(tmp_path, monkeypatch):
    async with machine(tmp_path) as made:
        client = await made.client()
        made.backend.go_on.clear()
        with pytest.raises(TimeoutError):
            await repair_page(client, within_s=-0.95)  # a second is added
        await until(lambda: made.backend.given_up == 1)


async def test_the_backend_stops_working_when_the_caller_gives_up(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        made.backend.go_on.clear()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await repair_page(client, within_s=60.0)
        await until(lambda: made.backend.given_up == 1)
        assert await client.stub(CollectionService).count() == 7


async def test_past_so_many_requests_one_fails_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "MOST_REQUESTS", 3)
    async with machine(tmp_path) as made:
        client = await made.client()
        made.backend.go_on.clear()
        waiting = [asyncio.create_task(repair_page(client)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BackendUnavailable, match="too many requests"):
            await repair_page(client)
        made.backend.go_on.set()
        assert len(await asyncio.gather(*waiting)) == 3


async def test_without_a_backend_a_request_fails_at_once(tmp_path):
    client = RpcClient(tmp_path / "nowhere")
    await client.start(wait_s=0.0)
    with pytest.raises(BackendUnavailable, match="not connected"):
        await repair_page(client)
    assert await client.stub(CollectionService).copy("http://a.test/") is None
    await client.close()


async def test_a_request_in_flight_fails_when_the_backend_ends(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        made.backend.go_on.clear()
        waiting = asyncio.create_task(repair_page(client))
        await asyncio.sleep(0.01)
        await made.kill()
        with pytest.raises(BackendUnavailable, match="broke"):
            await waiting
        await made.start()


async def test_notifications_wait_for_the_next_backend(tmp_path):
    async with machine(tmp_path) as made:
        client = await made.client()
        await made.kill()
        await until(lambda: not client.is_connected)
        assert client.stub(HarvestService).note_redirect("a", "b")
        await made.start()
        await until(lambda: made.backend.told == [("a", "b")])
        assert await client.stub(CollectionService).count() == 7


async def test_notifications_for_a_backend_that_does_not_come_are_bounded_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(client_module, "KEPT_BYTES", 1100)
    client = RpcClient(tmp_path / "nowhere")
    kept = [client.stub(HarvestService).note_redirect("a" * 300, "b") for _ in range(10)]
    assert kept == [True] * 3 + [False] * 7
    assert client.dropped == 7


async def test_a_backend_that_was_silent_is_not_waited_for_again_at_once(tmp_path, monkeypatch):
    async with machine(tmp_path) as made:
        client = await made.client()
        monkeypatch.setattr(made.server, "_begin", lambda request, worker: None)  # it reads, and says nothing
        await asyncio.sleep(0.01)
        with pytest.raises(BackendUnavailable, match="within"):
            await repair_page(client, within_s=-0.95)
        with pytest.raises(BackendUnavailable, match="silent"):
            await repair_page(client)


async def test_what_one_worker_broadcasts_all_others_hear_even_those_that_come_later(tmp_path):
    async with machine(tmp_path) as made:
        first, second = await made.client(), await made.client()
        first.stub(ClientEvents).client_opened("c", "http://a.test/")
        await until(lambda: second.heard.events == [("c", "http://a.test/")])
        assert first.heard.events == []
        third = await made.client()
        await until(lambda: third.heard.events == [("c", "http://a.test/")])


async def test_pages_opened_within_a_moment_are_sent_together_and_before_what_cannot_wait(tmp_path):
    async with machine(tmp_path) as made:
        first = await made.client()
        sent = []
        first._send = sent.append
        events = first.stub(ClientEvents)
        for number in range(3):
            events.client_opened("c", str(number))
        assert sent == []
        events.client_redirected("c", "a", "b")
        opened = (Call("ClientEvents.client_opened", ("c", str(number))) for number in range(3))
        together = Broadcast((*opened, Call("ClientEvents.client_redirected", ("c", "a", "b"))))
        assert [encode(each) for each in sent] == [encode(together)]


async def test_small_pages_offered_within_a_moment_are_sent_together(tmp_path):
    async with machine(tmp_path) as made:
        client, sent = await made.client(), []
        put = client._outbox.put
        client._outbox.put = lambda data, limit: sent.append(data) or put(data, limit=limit)
        pages = [a_page(body=str(number).encode() * 10_000) for number in range(5)]
        for page in pages:
            assert client.stub(HarvestService).offer(page)
        await until(lambda: made.backend.told == pages)
        assert len(sent) == 1


async def test_what_later_workers_are_told_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "_REPLAYED", 2)
    async with machine(tmp_path) as made:
        first, second = await made.client(), await made.client()
        for number in range(5):
            first.stub(ClientEvents).client_redirected("c", str(number), "/")
        await until(lambda: len(second.heard.events) == 5)
        late = await made.client()
        await until(lambda: [asked for _, asked, _ in late.heard.events] == ["3", "4"])


async def test_a_worker_is_told_where_the_backend_listens(tmp_path):
    async with machine(tmp_path) as made:
        assert (await made.client()).welcome.ports == (8081,)


async def test_a_worker_that_leaves_does_not_count_as_one_that_accepts_clients(tmp_path):
    async with machine(tmp_path) as made:
        assert not made.server.has_workers()
        client = await made.client()
        assert made.server.has_workers()
        client.leave()
        await until(lambda: not made.server.has_workers())


async def test_a_worker_with_another_protocol_version_is_refused(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(client_module, "VERSION", "0")
    async with machine(tmp_path) as made:
        client = await made.client(wait_s=0.05)
        await until(lambda: "it uses another protocol version" in caplog.text)
        assert not client.is_connected


async def test_what_is_not_a_message_ends_the_connection_and_no_other(tmp_path):
    async with machine(tmp_path) as made:
        connector = aiohttp.UnixConnector(str(made.path))
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.ws_connect(f"http://backend/rpc/{client_module.VERSION}") as stranger,
        ):
            await stranger.receive_bytes()
            await stranger.send_bytes(b"\xc1")
            assert (await stranger.receive(5)).type is aiohttp.WSMsgType.CLOSE
        client = await made.client()
        assert await client.stub(CollectionService).count() == 7


async def test_an_event_loop_is_not_held_up_by_a_slow_backend(tmp_path, monkeypatch):
    """What a backend does not read waits in the worker, up to a limit; past it, requests fail at once."""
    monkeypatch.setattr(client_module, "UNSENT_BYTES", 3_000_000)
    async with machine(tmp_path) as made:
        client = await made.client()
        page = a_page(body=b"x" * 1_000_000)
        kept = [client.stub(HarvestService).offer(page) for _ in range(4)]
        assert kept == [True, True, False, False]
        await until(lambda: len(made.backend.told) == 2)
        assert await client.stub(CollectionService).count() == 7
