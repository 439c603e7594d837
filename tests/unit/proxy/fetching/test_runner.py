import asyncio
import contextlib
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proxy.fetching.entries import Lasting, NoLine, Passing, Refusal, State, When
from proxy.fetching.fetcher import Fetched
from proxy.fetching.line import Line
from proxy.fetching.pace import Turns
from proxy.fetching.queue import FetchQueue
from proxy.fetching.runner import FetchRunner
from proxy.settings import FetchSettings
from tests.make import a_page

URL = "http://school.test/lesson"
ALWAYS = FetchSettings(night="00:00-00:00", tries=2, retry_s=100.0, parts=0)
HOUR = datetime.now().astimezone().hour
NOT_NOW = f"{(HOUR + 6) % 24:02}:00-{(HOUR + 7) % 24:02}:00"


class Web:
    """A fetcher that says what it is told, or waits for ever."""

    def __init__(self, said=None):
        self.said = said
        self.asked = []

    async def fetch(self, url, *, limits, on_bytes):
        self.asked.append(url)
        if self.said == "nothing":
            await asyncio.sleep(60)
        if isinstance(self.said, Exception):
            raise self.said
        on_bytes(4, 4)
        return Fetched(page=a_page(url, body=b"text"))


class Shelf:
    """A keeper that keeps nothing but the addresses."""

    def __init__(self):
        self.kept = []

    async def keep(self, fetched):
        self.kept.append(fetched.page.url)
        return ""


class Running:
    def __init__(self, folder, said=None, *, settings=ALWAYS, line=None):
        self.queue = FetchQueue(folder / "queue.sqlite")
        self.web, self.shelf, self.line = Web(said), Shelf(), line or Line()
        self.runner = FetchRunner(
            self.queue,
            self.web,
            self.shelf,
            self.line,
            Turns(),
            lock=folder / "runner.lock",
            settings=lambda: settings,
            offline=lambda: False,
        )

    async def until(self, is_true, timeout_s=5.0):
        async with asyncio.timeout(timeout_s):
            while not is_true():
                await asyncio.sleep(0.01)

    @contextlib.asynccontextmanager
    async def at_work(self):
        await self.runner.start()
        try:
            yield self
        finally:
            await self.runner.close()


def after_a_try(folder, said, **options):
    """The entry once it was tried and settled."""

    async def tried():
        running = Running(folder, said, **options)
        number = running.queue.add(URL, when="now").id
        async with running.at_work():
            await running.until(
                lambda: running.web.asked and running.queue.get(number).state != State.FETCHING
            )
        return running.queue.get(number)

    return asyncio.run(tried())


def wait_s(entry):
    return (entry.next_try_at - datetime.now(UTC)).total_seconds()


def test_what_is_fetched_is_kept_and_done(tmp_path):
    entry = after_a_try(tmp_path, None)
    assert (entry.state, entry.received_bytes, entry.tries) == (State.DONE, 4, 1)


@pytest.mark.parametrize(("trouble", "state"), [(Refusal("r"), State.REFUSED), (Lasting("l"), State.FAILED)])
def test_what_would_not_get_better_is_not_tried_again(tmp_path, trouble, state):
    entry = after_a_try(tmp_path, trouble)
    assert (entry.state, entry.error, entry.tries) == (state, str(trouble), 1)


def test_passing_trouble_waits_as_long_as_the_site_asks_and_at_least_the_back_off(tmp_path):
    assert 90 < wait_s(after_a_try(tmp_path / "a", Passing("p", after_s=5))) <= 100
    assert 900 < wait_s(after_a_try(tmp_path / "b", Passing("p", after_s=1_000))) <= 1_000


def test_the_wait_grows_fourfold_up_to_six_hours(tmp_path):
    queue = FetchQueue(tmp_path / "queue.sqlite")
    number = queue.add(URL, when="now").id
    for _ in range(3):
        queue.claim(tuple(When))
        queue.postpone(number, until=0, error="")
    queue.close()
    patient = replace(ALWAYS, tries=9)
    assert 6_300 < wait_s(after_a_try(tmp_path, Passing("p"), settings=patient)) <= 6_400
    far = replace(ALWAYS, tries=9, retry_s=1e9)
    assert wait_s(after_a_try(tmp_path / "b", Passing("p"), settings=far)) <= 6 * 3600


def test_the_last_try_ends_it_with_its_reason(tmp_path):
    entry = after_a_try(tmp_path, Passing("busy"), settings=replace(ALWAYS, tries=1))
    assert (entry.state, entry.error) == (State.FAILED, "given up after 1 tries: busy")


def test_without_a_line_a_try_does_not_count_and_the_line_is_tried_again_soon(tmp_path):
    entry = after_a_try(tmp_path, NoLine("nobody"), settings=replace(ALWAYS, tries=1))
    assert (entry.state, entry.tries) == (State.WAITING, 0)
    assert 0 < wait_s(entry) <= 15


def test_one_silent_site_is_its_own_fault_while_others_answer(tmp_path):
    line = Line()
    line.heard(time.monotonic())
    entry = after_a_try(tmp_path, NoLine("nobody"), line=line)
    assert (entry.state, entry.tries) == (State.WAITING, 1)
    assert wait_s(entry) > 90


def test_while_the_line_is_down_nothing_else_is_begun(tmp_path):
    async def tried():
        running = Running(tmp_path, NoLine("nobody"))
        for number in range(5):
            running.queue.add(f"http://{number}.test/", when="now")
        async with running.at_work():
            await running.until(lambda: running.web.asked)
            await asyncio.sleep(0.3)
        return running.web.asked

    assert len(asyncio.run(tried())) <= ALWAYS.at_once


def test_what_is_wanted_at_night_waits_for_it(tmp_path):
    async def tried():
        running = Running(tmp_path, settings=replace(ALWAYS, night=NOT_NOW))
        running.queue.add(f"{URL}/night", when="night")
        running.queue.add("http://other.test/line", when="line")
        async with running.at_work():
            await running.until(lambda: running.shelf.kept)
            await asyncio.sleep(0.2)
        return running.web.asked

    assert asyncio.run(tried()) == ["http://other.test/line"]


def test_what_is_taken_out_while_it_is_fetched_is_not_kept(tmp_path):
    async def tried():
        running = Running(tmp_path)
        number = running.queue.add(URL, when="now").id
        fetch = running.web.fetch

        async def removed_meanwhile(url, **more):
            running.queue.remove(number)
            return await fetch(url, **more)

        running.web.fetch = removed_meanwhile
        async with running.at_work():
            await running.until(lambda: running.web.asked)
            await asyncio.sleep(0.1)
        return running.shelf.kept, running.queue.list()

    assert asyncio.run(tried()) == ([], ())


def test_an_orderly_end_puts_back_what_was_under_way(tmp_path):
    async def tried():
        running = Running(tmp_path, "nothing")
        number = running.queue.add(URL, when="now").id
        async with running.at_work():
            await running.until(lambda: running.web.asked)
        return running.queue.get(number)

    entry = asyncio.run(tried())
    assert (entry.state, entry.tries) == (State.WAITING, 0)


def test_one_process_works_the_queue_off_and_the_next_takes_over(tmp_path):
    async def tried():
        first, second = Running(tmp_path, "nothing"), Running(tmp_path)
        first.queue.add(URL, when="now")
        async with first.at_work():
            await first.until(lambda: first.web.asked)
            async with second.at_work():
                await asyncio.sleep(0.2)
                idle = list(second.web.asked)
                await first.runner.close()
                await second.until(lambda: second.shelf.kept)
        return idle, second.shelf.kept

    assert asyncio.run(tried()) == ([], [URL])


def test_a_mistake_of_ours_costs_one_page_a_try(tmp_path):
    entry = after_a_try(tmp_path, KeyError("oops"))
    assert (entry.state, "KeyError" in entry.error) == (State.WAITING, True)
