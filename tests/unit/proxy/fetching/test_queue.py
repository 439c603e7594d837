import sqlite3
import subprocess
import sys
import time

import pytest

from proxy.fetching.entries import FetchState, FetchTime, NotQueuedError
from proxy.fetching.queue import FetchQueue, queueable_url
from tests.make import spoil

ALL = tuple(FetchTime)
URL = "http://school.test/lesson"


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(tmp_path, clock):
    made = FetchQueue(tmp_path / "queue.sqlite", max_entries=5, clock=clock)
    yield made
    made.close()


def test_address_is_queued_once_however_it_is_spelt(queue):
    queue.add("HTTP://School.test:80/a/../lesson#top", when="night")
    queue.add(URL, when="night")
    assert [entry.url for entry in queue.list()] == [URL]


@pytest.mark.parametrize(
    "url", ["school.test/lesson", " School.test:443/lesson ", "https://school.test/lesson"]
)
def test_address_without_a_scheme_is_taken_for_https(queue, url):
    assert queue.add(url).url == "https://school.test/lesson"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://school.test/a",
        "javascript:alert(1)",
        "localhost",
        "pupil@school.test",
        "",
        "http://u:p@school.test/",
        f"{URL}?token=abcdef",
    ],
)
def test_non_web_and_personal_addresses_are_not_queued(queue, url):
    with pytest.raises(NotQueuedError):
        queue.add(url)
    with pytest.raises(NotQueuedError):
        queueable_url(url)
    assert queue.list() == ()


def test_more_urgent_request_wins(queue):
    queue.add(URL, when="night")
    queue.add(URL, when="now")
    queue.add(URL, when="line")
    assert queue.list()[0].when is FetchTime.NOW


def test_most_urgent_entry_is_claimed_first_and_once(queue):
    for number, when in enumerate(("night", "line", "now")):
        queue.add(f"{URL}/{number}", when=when)
    assert [queue.claim(ALL).when for _ in range(3)] == [FetchTime.NOW, FetchTime.LINE, FetchTime.NIGHT]
    assert queue.claim(ALL) is None


def test_only_entries_allowed_now_are_claimed(queue):
    queue.add(URL, when="night")
    assert queue.claim((FetchTime.NOW, FetchTime.LINE)) is None
    assert queue.claim(()) is None
    assert queue.claim(ALL).url == URL


def test_busy_host_does_not_delay_others(queue):
    queue.add("http://busy.test:8000/a", when="now")
    queue.add("http://free.test/a", when="night")
    assert queue.claim(ALL, busy_hosts=("busy.test:8000",)).url == "http://free.test/a"
    assert queue.claim(ALL, busy_hosts=("busy.test:8000",)) is None


def test_a_postponed_page_is_due_at_its_time(queue, clock):
    number = queue.add(URL).id
    queue.claim(ALL)
    queue.postpone(number, until=clock.now + 60, error="busy")
    assert queue.claim(ALL) is None
    clock.now += 60
    entry = queue.claim(ALL)
    assert (entry.tries, entry.error) == (2, "busy")


def test_a_try_that_is_not_counted_is_taken_back(queue, clock):
    number = queue.add(URL).id
    queue.claim(ALL)
    queue.postpone(number, until=clock.now, error="no line", counted=False)
    assert queue.get(number).tries == 0


@pytest.mark.parametrize("state", [FetchState.DONE, FetchState.FAILED, FetchState.REFUSED])
def test_finished_entry_can_be_queued_again(queue, state):
    number = queue.add(URL, when="night").id
    queue.claim(ALL)
    queue.finish(number, state, error="x", received=7)
    again = queue.add(URL, when="line")
    assert (again.id, again.state, again.tries, again.error, again.when) == (
        number,
        FetchState.WAITING,
        0,
        "",
        FetchTime.LINE,
    )


def test_adding_an_entry_in_progress_does_not_start_it_twice(queue):
    queue.add(URL, when="now")
    queue.claim(ALL)
    assert queue.add(URL, when="now").state is FetchState.FETCHING
    assert queue.claim(ALL) is None


def test_entries_of_a_dead_process_are_retried_a_limited_number_of_times(queue):
    number = queue.add(URL).id
    queue.claim(ALL)
    assert queue.recover(max_tries=2) == 1
    assert queue.claim(ALL).tries == 2
    assert queue.recover(max_tries=2) == 0
    assert queue.get(number).state is FetchState.FAILED


def test_full_queue_drops_finished_entries_and_then_refuses(queue):
    for number in range(5):
        queue.add(f"{URL}/{number}")
    queue.add(f"{URL}/3", when="now")  # is in it already
    with pytest.raises(NotQueuedError, match="full"):
        queue.add(f"{URL}/more")
    queue.finish(1, FetchState.DONE)
    queue.add(f"{URL}/more")
    assert queue.get(1) is None
    assert sum(queue.counts().values()) == 5


def test_progress_is_told_in_percent_of_what_is_expected(queue):
    number = queue.add(URL).id
    queue.progress(number, 5, 10)
    assert queue.get(number).percent is None
    queue.claim(ALL)
    queue.progress(number, 5, 0)
    assert queue.get(number).percent is None
    queue.progress(number, 5, 10)
    assert queue.get(number).percent == 50
    queue.progress(number, 50, 10)
    assert queue.get(number).percent == 100


def test_a_forgotten_address_is_in_no_file(queue, tmp_path):
    queue.add(URL)
    assert queue.forget(URL)
    assert not queue.forget(URL)
    assert not any(URL.encode() in path.read_bytes() for path in tmp_path.iterdir())


def nonsense(path):
    path.write_bytes(b"nonsense" * 1_000)


@pytest.mark.parametrize("damage", [nonsense, spoil])
def test_a_damaged_queue_is_set_aside(tmp_path, damage):
    path = tmp_path / "queue.sqlite"
    queue = FetchQueue(path)
    for number in range(200):
        queue.add(f"{URL}/{number}")
    queue.close()
    damage(path)
    queue = FetchQueue(path)
    assert queue.list() == ()
    queue.add(URL)
    queue.close()
    assert (tmp_path / "queue.sqlite.damaged1").exists()


ADDER = """
import sys
from pathlib import Path
from proxy.fetching.queue import FetchQueue
queue = FetchQueue(Path(sys.argv[1]))
for number in range(200):
    queue.add(f"http://{sys.argv[2]}.test/{number}")
"""


@pytest.mark.slow
def test_two_processes_add_at_the_same_time_and_each_page_is_begun_once(tmp_path):
    path = tmp_path / "queue.sqlite"
    adders = [subprocess.Popen([sys.executable, "-c", ADDER, str(path), name]) for name in ("a", "b")]
    queue = FetchQueue(path)
    begun = []
    end = time.monotonic() + 60
    while len(begun) < 400 and time.monotonic() < end:
        entry = queue.claim(ALL)
        begun += [entry.url] if entry else []
    assert [adder.wait(30) for adder in adders] == [0, 0]
    queue.close()
    assert len(begun) == len(set(begun)) == 400


def test_ten_thousand_entries_cost_no_time(tmp_path):
    path = tmp_path / "queue.sqlite"
    queue = FetchQueue(path, max_entries=20_000)
    queue.add(URL)
    queue.close()
    with sqlite3.connect(path) as database:
        database.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
            " INSERT INTO fetches (url, host, urgency, why, state, tries, next_try, error, received, expected,"
            " added_at, changed_at) SELECT 'http://a.test/' || i, 'a.test', 2, '', 'waiting', 0, 0, '', 0, 0, 0, 0"
            " FROM n"
        )
    queue = FetchQueue(path, max_entries=20_000)
    began = time.perf_counter()
    for _ in range(20):
        queue.claim(ALL, busy_hosts=("a.test",))
        queue.list(50)
        queue.counts()
        queue.add(f"{URL}/2")
    took_s = time.perf_counter() - began
    queue.close()
    assert took_s < 2.0, took_s
