import asyncio
import contextlib
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from proxy.fetching.connectivity import Connectivity
from proxy.fetching.entries import (
    FetchRefused,
    FetchState,
    FetchTime,
    NoConnectivity,
    PermanentFetchError,
    TemporaryFetchError,
)
from proxy.fetching.fetcher import FetchedPage
from proxy.fetching.politeness import HostSlots
from proxy.fetching.queue import FetchQueue
from proxy.fetching.runner import FetchRunner
from proxy.settings import FetchSettings
from tests.make import a_page

URL = "http://school.test/lesson"
ALWAYS = FetchSettings(night="00:00-00:00", tries=2, retry_s=100.0, parts=0)
HOUR = datetime.now().astimezone().hour
NOT_NOW = f"{(HOUR + 6) % 24:02}:00-{(HOUR + 7) % 24:02}:00"


class Web:
    """A fetcher with configured results, or one that never returns."""

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
        return FetchedPage(page=a_page(url, body=b"text"))


class Shelf:
    """A saver that keeps only the addresses."""

    def __init__(self):
        self.load = []

    async def keep(self, fetched):
        self.load.append(fetched.page.url)
        return ""


class Running:
    def __init__(self, folder, said=None, *, settings=ALWAYS, connectivity=None):
        self.queue = FetchQueue(folder / "queue.sqlite")
        self.web, self.shelf, self.connectivity = Web(said), Shelf(), connectivity or Connectivity()
        self.runner = FetchRunner(
            self.queue,
            self.web,
            self.shelf,
            self.connectivity,
            HostSlots(),
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
    """The entry after its first try."""

    async def tried():
        running = Running(folder, said, **options)
        number = running.queue.add(URL, when="now").id
        async with running.at_work():
            await running.until(
                lambda: running.web.asked and running.queue.get(number).state != FetchState.FETCHING
            )
        return running.queue.get(number)

    return asyncio.run(tried())


def wait_s(entry):
    return (entry.next_try_at - datetime.now(UTC)).total_seconds()


def test_fetched_page_is_saved_and_done(tmp_path):
    entry = after_a_try(tmp_path, None)
    assert (entry.state, entry.received_bytes, entry.tries) == (FetchState.DONE, 4, 1)


@pytest.mark.parametrize(
    ("trouble", "state"),
    [(FetchRefused("r"), FetchState.REFUSED), (PermanentFetchError("l"), FetchState.FAILED)],
)
def test_permanent_failure_is_not_retried(tmp_path, trouble, state):
    entry = after_a_try(tmp_path, trouble)
    assert (entry.state, entry.error, entry.tries) == (state, str(trouble), 1)


def test_temporary_failure_waits_for_retry_after_or_back_off(tmp_path):
    assert 90 < wait_s(after_a_try(tmp_path / "a", TemporaryFetchError("p", after_s=5))) <= 100
    assert 900 < wait_s(after_a_try(tmp_path / "b", TemporaryFetchError("p", after_s=1_000))) <= 1_000


def test_the_wait_grows_fourfold_up_to_six_hours(tmp_path):
    queue = FetchQueue(tmp_path / "queue.sqlite")
    number = queue.add(URL, when="now").id
    for _ in range(3):
        queue.claim(tuple(FetchTime))
        queue.postpone(number, until=0, error="")
    queue.close()
    patient = replace(ALWAYS, tries=9)
    assert 6_300 < wait_s(after_a_try(tmp_path, TemporaryFetchError("p"), settings=patient)) <= 6_400
    far = replace(ALWAYS, tries=9, retry_s=1e9)
    assert wait_s(after_a_try(tmp_path / "b", TemporaryFetchError("p"), settings=far)) <= 6 * 3600


def test_the_last_try_ends_it_with_its_reason(tmp_path):
    entry = after_a_try(tmp_path, TemporaryFetchError("busy"), settings=replace(ALWAYS, tries=1))
    assert (entry.state, entry.error) == (FetchState.FAILED, "gave up after 1 tries: busy")


def test_without_connectivity_a_try_does_not_count(tmp_path):
    entry = after_a_try(tmp_path, NoConnectivity("nobody"), settings=replace(ALWAYS, tries=1))
    assert (entry.state, entry.tries) == (FetchState.WAITING, 0)
    assert 0 < wait_s(entry) <= 15


def test_one_silent_site_does_not_mean_no_connectivity(tmp_path):
    connectivity = Connectivity()
    connectivity.note_answer(time.monotonic())
    entry = after_a_try(tmp_path, NoConnectivity("nobody"), connectivity=connectivity)
    assert (entry.state, entry.tries) == (FetchState.WAITING, 1)
    assert wait_s(entry) > 90


def test_without_connectivity_nothing_else_is_started(tmp_path):
    async def tried():
        running = Running(tmp_path, NoConnectivity("nobody"))
        for number in range(5):
            running.queue.add(f"http://{number}.test/", when="now")
        async with running.at_work():
            await running.until(lambda: running.web.asked)
            await asyncio.sleep(0.3)
        return running.web.asked

    assert len(asyncio.run(tried())) <= ALWAYS.at_once


def test_night_entries_wait_for_the_night(tmp_path):
    async def tried():
        running = Running(tmp_path, settings=replace(ALWAYS, night=NOT_NOW))
        running.queue.add(f"{URL}/night", when="night")
        running.queue.add("http://other.test/line", when="line")
        async with running.at_work():
            await running.until(lambda: running.shelf.load)
            await asyncio.sleep(0.2)
        return running.web.asked

    assert asyncio.run(tried()) == ["http://other.test/line"]


def test_entry_removed_during_its_fetch_is_not_saved(tmp_path):
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
        return running.shelf.load, running.queue.list()

    assert asyncio.run(tried()) == ([], ())


def test_shutdown_requeues_entries_in_progress(tmp_path):
    async def tried():
        running = Running(tmp_path, "nothing")
        number = running.queue.add(URL, when="now").id
        async with running.at_work():
            await running.until(lambda: running.web.asked)
        return running.queue.get(number)

    entry = asyncio.run(tried())
    assert (entry.state, entry.tries) == (FetchState.WAITING, 0)


def test_one_process_runs_the_queue_and_the_next_takes_over(tmp_path):
    async def tried():
        first, second = Running(tmp_path, "nothing"), Running(tmp_path)
        first.queue.add(URL, when="now")
        async with first.at_work():
            await first.until(lambda: first.web.asked)
            async with second.at_work():
                await asyncio.sleep(0.2)
                idle = list(second.web.asked)
                await first.runner.close()
                await second.until(lambda: second.shelf.load)
        return idle, second.shelf.load

    assert asyncio.run(tried()) == ([], [URL])


def test_internal_error_costs_one_page_one_try(tmp_path):
    entry = after_a_try(tmp_path, KeyError("oops"))
    assert (entry.state, "KeyError" in entry.error) == (FetchState.WAITING, True)
