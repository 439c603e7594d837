"""The line and the server together, over a real socket in a folder of the test."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from proxy.archives.findings import Findings
from proxy.office import line as line_module
from proxy.office import messages, server
from proxy.office.line import NoAnswer, OfficeLine
from proxy.office.server import OfficeServer
from repair.memento.model import TimeMap
from tests.make import a_broken_link, a_page

LINK = a_broken_link()


class FakeOffice:
    """Notes what it is told; what archives remember waits until `go_on`."""

    def __init__(self):
        self.told = []
        self.go_on = asyncio.Event()
        self.given_up = 0
        self.go_on.set()
        self.searcher = self.reader = self.misses = self.harvester = self.hints = self.archives = self

    async def search(self, text, limit):
        raise ValueError("no such words")

    async def remembered(self, link, *, ask):
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return Findings(link=link, found=TimeMap(url=link.url))

    async def count(self):
        return 7

    def record(self, record):
        self.told.append(record)

    def chosen(self, miss_id, number, *, client, network):
        self.told.append((miss_id, number, client, network))

    def offer(self, page):
        self.told.append(page)

    def later(self, work):
        work()

    def note_redirect(self, old, new):
        self.told.append((old, new))

    def note(self, miss_id, client, link, *, ask):
        self.told.append((miss_id, client, link))


class Building:
    """An office on one socket, which stays open while offices come and go, and lines to it."""

    def __init__(self, folder):
        self.path = folder / "office"
        self.office = FakeOffice()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.server = None
        self.lines = []

    async def open(self):
        self.server = OfficeServer(self.office, self.listener.dup())
        await self.server.start()

    async def burn_down(self):
        """The office ends without a word, as a killed process does."""
        self.server._server.close()
        for task in tuple(self.server._workers):
            task.cancel()
        await asyncio.gather(*self.server._workers, return_exceptions=True)

    async def line(self, *, wait_s=5.0):
        heard = []
        line = OfficeLine(self.path, on_news=heard.append)
        line.heard = heard
        self.lines.append(line)
        await line.start(wait_s=wait_s)
        return line


@asynccontextmanager
async def building(folder):
    made = Building(folder)
    await made.open()
    try:
        yield made
    finally:
        made.office.go_on.set()
        for line in made.lines:
            await line.close()
        await made.server.close()
        made.listener.close()


async def until(is_true):
    async with asyncio.timeout(5):
        while not is_true():
            await asyncio.sleep(0.005)


async def remembered(line, within_s=5.0):
    return await line.ask(messages.Remembered(link=LINK, ask=True), messages.FINDINGS, within_s=within_s)


async def test_a_question_is_answered(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        assert (await remembered(line)).link == LINK
        assert await line.ask(messages.Count(), messages.NUMBER, within_s=5) == 7


async def test_many_questions_at_once_get_their_own_answers(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        links = [a_broken_link(url=f"http://a.test/{n}") for n in range(100)]
        asked = (
            line.ask(messages.Remembered(link=link, ask=True), messages.FINDINGS, within_s=5)
            for link in links
        )
        assert [found.link for found in await asyncio.gather(*asked)] == links


async def test_a_question_that_fails_costs_nothing_but_its_answer(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        with pytest.raises(NoAnswer, match="no such words"):
            await line.ask(messages.Search(text="a", limit=1), messages.ALTERNATIVES, within_s=5)
        assert (await remembered(line)).link == LINK


async def test_notes_are_taken_in_their_order(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        page = a_page(body=b"x" * 100_000)
        line.tell(messages.Offer(page=page))
        line.tell(messages.Moved(old="a", new="b"))
        line.tell(messages.Chosen(miss_id="m", number=2, client="c", network="n"))
        line.tell(messages.Missed(miss_id="m", client="c", link=LINK, ask=True))
        await until(lambda: len(made.office.told) == 4)
        assert made.office.told == [page, ("a", "b"), ("m", 2, "c", "n"), ("m", "c", LINK)]


async def test_no_longer_is_worked_on_a_question_than_its_asker_waits(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        made.office.go_on.clear()
        with pytest.raises(TimeoutError):
            await remembered(line, within_s=0.05)
        await until(lambda: made.office.given_up == 1)


async def test_past_so_many_questions_one_fails_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "MOST_QUESTIONS", 3)
    async with building(tmp_path) as made:
        line = await made.line()
        made.office.go_on.clear()
        waiting = [asyncio.create_task(remembered(line)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(NoAnswer, match="too many questions"):
            await remembered(line)
        made.office.go_on.set()
        assert len(await asyncio.gather(*waiting)) == 3


async def test_without_an_office_a_question_fails_at_once(tmp_path):
    line = OfficeLine(tmp_path / "nowhere", on_news=lambda news: None)
    await line.start(wait_s=0.0)
    with pytest.raises(NoAnswer):
        await remembered(line)
    await line.close()


async def test_who_waits_for_an_office_that_ends_is_told_so(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        made.office.go_on.clear()
        waiting = asyncio.create_task(remembered(line))
        await asyncio.sleep(0.01)
        await made.burn_down()
        with pytest.raises(NoAnswer):
            await waiting
        await made.open()


async def test_notes_wait_for_the_next_office(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        await made.burn_down()
        await until(lambda: line._writer is None)
        assert line.tell(messages.Moved(old="a", new="b"))
        await made.open()
        await until(lambda: made.office.told == [("a", "b")])
        await until(lambda: line._writer is not None)
        assert (await remembered(line)).link == LINK


async def test_notes_for_an_office_that_does_not_come_are_bounded_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(line_module, "KEPT_BYTES", 1000)
    line = OfficeLine(tmp_path / "nowhere", on_news=lambda news: None)
    kept = [line.tell(messages.Moved(old="a" * 300, new="b")) for _ in range(10)]
    assert kept == [True] * 3 + [False] * 7
    assert line.lost == 7


async def test_an_office_that_said_nothing_is_not_waited_for_again_at_once(tmp_path):
    async with building(tmp_path) as made:
        line = await made.line()
        made.server._answer = _never  # it reads, and says nothing
        with pytest.raises(NoAnswer, match="within"):
            await remembered(line, within_s=0.05)
        with pytest.raises(NoAnswer, match="not there"):
            await remembered(line, within_s=5)


async def _never(asked, writer):
    await asyncio.sleep(0)


async def test_what_one_shares_all_others_hear_even_those_who_come_later(tmp_path):
    async with building(tmp_path) as made:
        first, second = await made.line(), await made.line()
        news = messages.ClientOpened(client="c", url="http://a.test/")
        first.share(news)
        await until(lambda: second.heard == [news])
        assert first.heard == []
        third = await made.line()
        await until(lambda: third.heard == [news])


async def test_pages_opened_within_a_moment_are_told_together_and_before_what_cannot_wait(tmp_path):
    async with building(tmp_path) as made:
        first, second = await made.line(), await made.line()
        sent = []
        first._send = sent.append
        opened = [messages.ClientOpened(client="c", url=str(number)) for number in range(3)]
        for news in opened:
            first.share(news)
        assert sent == []
        redirected = messages.ClientRedirected(client="c", asked="a", location="b")
        first.share(redirected)
        assert sent == [messages.Shared(news=(*opened, redirected))]
        assert second.heard == []


async def test_what_later_ones_are_told_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_RETOLD", 2)
    async with building(tmp_path) as made:
        first, second = await made.line(), await made.line()
        for number in range(5):
            first.share(messages.ClientRedirected(client="c", asked=str(number), location="/"))
        await until(lambda: len(second.heard) == 5)
        late = await made.line()
        await until(lambda: [news.asked for news in late.heard] == ["3", "4"])


async def test_a_stranger_on_the_line_is_hung_up_on(tmp_path):
    async with building(tmp_path) as made:
        reader, writer = await asyncio.open_unix_connection(made.path)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await asyncio.wait_for(reader.read(), 5)
        line = await made.line()
        assert (await remembered(line)).link == LINK
        writer.close()
