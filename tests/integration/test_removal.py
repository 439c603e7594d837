"""A removed page is gone: from every store, and from every file of the data folder."""

import asyncio
import threading
import zlib
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proxy.fetching.queue import FetchQueue
from proxy.messages import StoredResponse
from proxy.misses.feed import MissFeed
from proxy.misses.store import MissRecord, MissStore, new_miss_id
from proxy.removal.remover import PageRemover, RemovalFailed
from proxy.settings import DistrictSettings, Settings
from proxy.store.responses import ResponseStore
from repair.collection.collection import Collection
from repair.collection.pins import Pins
from repair.crawling.crawlstore import CrawlStore
from repair.crawling.frontier import FrontierLink
from repair.crawling.topicdatabase import FOLDER, TopicDatabase
from repair.crawling.topicstore import TopicStore
from repair.evidence.hints import Hints
from repair.harvest import Harvester
from repair.model import Document, HeldCopy, Link, MissKind
from repair.text import words
from tests.integration.client import Client
from tests.integration.origin import reply
from tests.integration.processes import eventually, free_port, linkmend
from tests.make import a_page

URL = "http://school.test/kept/zygocactus.html"
SECRET = "Quetzalmoth families gathered under the wintergreen bandstand at dusk"
WORD = b"quetzalmoth"
(TERM,) = words.terms("Quetzalmoth", "en")
A_MOMENT = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)
FILLER = "Rivers carry gravel and sand from the mountains to the sea, where they build wide deltas. "


def document(url, text, title="Rivers", links=()):
    return Document(url=url, title=title, text=text, language="en", links=links, headings=(title,))


def hold(collection, url, text, *, title="Rivers", at=A_MOMENT, links=()):
    copy = HeldCopy(url=url, content_type="text/html", body=text.encode(), fetched_at=at)
    collection.add(document(url, text, title, links), fetched_at=at, copy=copy)


def files_with(folder, *needles):
    """Every file that contains one of these, verbatim, in upper case or compressed by zlib."""
    found = set()
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes().lower() if path.is_file() else b""
        found.update(
            f"{path.relative_to(folder)}: {needle!r}" for needle in needles if needle.lower() in data
        )
    return found


def packed(text):
    """A piece out of the middle of a copy as the page store compresses it."""
    return zlib.compress(text.encode(), 3)[20:44]


class Stores:
    """All stores of pages, over one folder."""

    def __init__(self, folder, *, district=None):
        settings = Settings()
        self.folder = folder
        self.responses = ResponseStore.open(folder / "cache", settings.cache)
        self.collection = Collection.open(folder / "collection", settings.collection)
        self.hints = Hints(self.collection, settings.repair)
        self.pins = Pins(self.collection.database)
        self.misses = MissStore(folder / "misses", settings.misses)
        self.fetches = FetchQueue(folder / "fetch" / "queue.sqlite")
        self.harvester = Harvester(self.collection, settings.collection, self.hints)
        self.missing_now = MissFeed()
        self.remover = PageRemover(
            folder,
            responses=self.responses,
            collection=self.collection,
            hints=self.hints,
            pins=self.pins,
            misses=self.misses,
            fetches=self.fetches,
            harvester=self.harvester,
            missing_now=self.missing_now,
            district=district,
        )

    async def close(self):
        await self.remover.wait_until_done()
        await self.responses.close()
        self.harvester.close()
        self.misses.close()
        self.fetches.close()
        self.collection.close()


def a_response(body, *, pinned=False, vary=()):
    headers = (("Content-Type", "text/html"), ("X-Note", SECRET[:30]))
    at = A_MOMENT.timestamp()
    return StoredResponse(
        status=200,
        reason="",
        headers=headers,
        body=body,
        vary=vary,
        requested_at=at,
        received_at=at,
        pinned=pinned,
    )


def a_miss(url, **more):
    values = {
        "id": new_miss_id(),
        "at": datetime.now(UTC),
        "url": url,
        "kind": MissKind.NOT_FOUND,
        "source_url": None,
        "rule": "",
        "client": "c",
        "offered": (),
        "chosen": None,
        "status": 404,
        "latency_ms": 1.0,
        "query": SECRET,
        "language": "en",
    }
    return MissRecord(**{**values, **more})


async def fill(stores):
    """The page among many, changed and stored repeatedly, so that free space contains older forms of it."""
    collection, responses = stores.collection, stores.responses
    for number in range(60):
        hold(collection, f"http://school.test/r/{number}", FILLER * (1 + number % 40) + str(number))
    texts = [f"{SECRET}. Version {version}. {FILLER * 40 * (version % 3)}" for version in range(6)]
    for version, text in enumerate(texts):
        links = tuple(
            Link(target_url=f"http://other.test/{number}", anchor=f"{SECRET} {number}", before=SECRET)
            for number in range(5 * version)
        )
        at = A_MOMENT + timedelta(days=version)
        hold(collection, URL, text, title=f"Quetzalmoth {version}", at=at, links=links)
        collection.commit()
        for other in range(10):
            hold(collection, f"http://school.test/s/{version}/{other}", FILLER * (other * 3 + 1))
        for body in (text.encode(), text.encode() * 40):
            await responses.put(URL, a_response(body))
            await responses.put(URL, a_response(body, vary=(("accept-language", str(version)),)))
            await responses.put(URL, a_response(body, pinned=True))
            await responses.put(f"http://a.test/{version}", replace(a_response(b"x" * 3_000), headers=()))
    await responses.lookup(URL)
    stores.hints.catch_up()
    stores.hints.note_choice("http://school.test/lost", URL, A_MOMENT, network="one")
    stores.hints.note_redirect(URL, "http://school.test/new")
    stores.hints.tags.attach(URL, "wintergreen")
    stores.pins.pin("http://school.test/lost", URL, "admin", A_MOMENT)
    stores.misses.record(a_miss(URL))
    stores.misses.flush()
    stores.fetches.add(URL, when="night")
    with closing(TopicDatabase(stores.folder / FOLDER)) as topics:
        TopicStore(topics).note_verdict(URL, "Moths", belongs=True)
        link = FrontierLink(url=URL, host="school.test", anchor=SECRET, context=SECRET)
        CrawlStore(topics, "Moths").put([link])
    return texts


def test_a_miss_that_is_removed_from_the_log_leaves_the_live_view(tmp_path):
    async def shown():
        stores = Stores(tmp_path)
        for url in ("http://school.test/caf%c3%a9", "http://school.test/other"):
            stores.missing_now.note(a_miss(url))
        await stores.remover.remove("http://school.test/caf%C3%A9", from_log=True)
        left = [missed.url for missed in stores.missing_now.since(0)]
        await stores.close()
        return left

    assert asyncio.run(shown()) == ["http://school.test/other"]


def test_a_page_is_removed_from_the_cache_however_browsers_spelt_it(tmp_path):
    spelt = (
        "http://school.test/caf%c3%a9?",
        "http://school.test/a/../caf%C3%A9",
        "http://school.test/caf%C3%A9",
    )
    others = ("http://school.test/caf%C3%A9/", "http://school.test/caf", "http://other.test/caf%C3%A9")

    async def removed():
        stores = Stores(tmp_path)
        for key in (*spelt, *others):
            await stores.responses.put(key, a_response(b"x"))
        result = await stores.remover.remove(spelt[2])
        left = [bool(await stores.responses.lookup(key)) for key in (*spelt, *others)]
        await stores.close()
        return result.responses, left

    assert asyncio.run(removed()) == (3, [False] * 3 + [True] * 3)


def test_nothing_of_a_removed_page_is_left_in_any_file(tmp_path):
    async def removed():
        stores = Stores(tmp_path)
        texts = await fill(stores)
        before = files_with(tmp_path, SECRET.encode(), WORD, *map(packed, texts))
        assert stores.collection.document_frequency(TERM) > 0
        result = await stores.remover.remove(URL, from_log=True)
        assert stores.collection.search([(TERM, 1.0)], limit=5) == ()
        await stores.remover.wait_until_done()
        while_open = files_with(tmp_path, SECRET.encode(), WORD, URL.encode(), *map(packed, texts))
        found = stores.collection.document_frequency(TERM)
        again = (await stores.responses.lookup(URL), stores.collection.get(URL), found, stores.pins.list())
        rivers = stores.collection.search([("river", 1.0)], limit=100)
        await stores.close()
        return before, result, while_open, again, len(rivers)

    before, result, while_open, again, rivers = asyncio.run(removed())
    places = {line.partition("/")[0] for line in before}
    assert {"cache", "collection", "misses"} <= places, before  # or the test would prove nothing
    assert (result.held, result.misses, result.left) == (True, 1, ())
    assert result.responses >= 3
    assert while_open == set()
    assert again == ((), None, 0, ())  # tantivy counts what is deleted until it has left the files
    assert rivers == 100
    assert files_with(tmp_path, SECRET.encode(), WORD, URL.encode()) == set()


def test_removal_keeps_misses_by_default(tmp_path):
    async def removed():
        stores = Stores(tmp_path)
        hold(stores.collection, URL, SECRET)
        stores.misses.record(a_miss(URL))
        stores.misses.flush()
        result = await stores.remover.remove(URL)
        counted = stores.misses.count()
        await stores.close()
        return result, counted

    result, counted = asyncio.run(removed())
    assert (result.misses, counted) == (0, 1)


def test_page_waiting_to_be_harvested_does_not_come_back(tmp_path):
    async def removed():
        stores = Stores(tmp_path)
        busy = threading.Event()
        stores.harvester.later(busy.wait)
        stores.harvester.offer(a_page(URL, body=f"<title>x</title><p>{SECRET}".encode()))
        removing = asyncio.create_task(stores.remover.remove(URL))
        await asyncio.sleep(0.3)
        busy.set()
        await removing
        await asyncio.to_thread(stores.harvester.close)  # once all that waits is read
        held = stores.collection.holds(URL)
        await stores.close()
        return held

    assert asyncio.run(removed()) is False


def test_invalid_address_is_refused(tmp_path):
    async def removed():
        stores = Stores(tmp_path)
        try:
            await stores.remover.remove("javascript:alert(1)")
        finally:
            await stores.close()

    with pytest.raises(RemovalFailed):
        asyncio.run(removed())


def test_damaged_file_set_aside_is_reported(tmp_path):
    async def removed():
        stores = Stores(tmp_path)
        (tmp_path / "collection" / "collection.sqlite3.damaged1").write_bytes(SECRET.encode())
        result = await stores.remover.remove(URL)
        await stores.close()
        return result

    assert "collection.sqlite3.damaged1" in asyncio.run(removed()).left[0]


@pytest.mark.parametrize("shared_crawl", [True, False])
def test_what_a_district_that_does_not_answer_may_still_have_is_said(tmp_path, shared_crawl):
    away = DistrictSettings(
        database=f"postgresql://127.0.0.1:{free_port()}/linkmend", shared_crawl=shared_crawl
    )

    async def removed():
        stores = Stores(tmp_path, district=away)
        try:
            return await stores.remover.remove(URL)
        finally:
            await stores.close()

    left = asyncio.run(removed()).left
    assert ["the district does not answer" in remark for remark in left] == ([True] if shared_crawl else [])


@pytest.mark.parametrize("workers", [0, 2])
def test_command_removes_from_a_running_proxy_and_its_memory(origin, start_linkmend, workers):
    origin.pages["/page"] = reply(
        f"<title>Quetzalmoth</title><p>{SECRET}.</p><p>{FILLER}</p>", Cache_Control="max-age=600"
    )
    url = f"{origin.url}/page"
    running = start_linkmend(settings=f"[proxy]\nworkers = {workers}\n")
    client = Client(running.url)
    assert all(SECRET in client.open_page(url).text for _ in range(20))  # each worker has it in memory now
    eventually(lambda: "wintergreen" in client.search("bandstand").text, "it is not found")
    assert origin.asked["/page"] == 1
    removed = linkmend("remove", url, "--yes", "--misses", "--data", running.data)
    assert removed.returncode == 0, removed.stderr
    assert "removed" in removed.stdout
    eventually(lambda: not files_with(running.data, SECRET.encode(), WORD), "it is left in a file")
    assert "wintergreen" not in client.search("bandstand").text
    origin.down()
    assert not any(SECRET in client.open_page(url).text for _ in range(20))


def test_command_removes_while_the_proxy_is_stopped(origin, start_linkmend):
    origin.pages["/page"] = reply(f"<title>Quetzalmoth</title><p>{SECRET}.</p><p>{FILLER}</p>")
    url = f"{origin.url}/page"
    running = start_linkmend()
    assert SECRET in Client(running.url).open_page(url).text
    eventually(lambda: "wintergreen" in Client(running.url).search("bandstand").text, "it is not found")
    running.stop()
    assert files_with(running.data, SECRET.encode())
    removed = linkmend("remove", url, "--yes", "--data", running.data)
    assert removed.returncode == 0, removed.stderr
    assert files_with(running.data, SECRET.encode(), WORD) == set()
