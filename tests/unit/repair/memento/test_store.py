import random
from datetime import UTC, datetime

import pytest

from repair.memento.database import ArchiveDatabase
from repair.memento.model import ArchiveAnswer, ArchiveOutcome
from repair.memento.store import ArchiveStore, ReplayedPage
from tests.archiving import LOST, NOW, a_memento
from tests.fakes import FakeClock
from tests.make import a_page


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
def notebook(tmp_path):
    notebook = ArchiveDatabase(tmp_path / "archives.sqlite")
    yield notebook
    notebook.close()


@pytest.fixture
def remembered(notebook, clock):
    return ArchiveStore(notebook, max_bytes=200_000, clock=clock)


def _answer(archive="school", *mementos):
    outcome = ArchiveOutcome.ANSWERED if mementos else ArchiveOutcome.NOTHING
    return ArchiveAnswer(
        archive=archive, outcome=outcome, said_at=datetime.fromtimestamp(NOW, UTC), mementos=mementos
    )


def _keep(remembered, host, archive, *mementos, times=1):
    for number in range(times):
        remembered.keep_answer(f"http://{host}/{number}", host, _answer(archive, *mementos), for_s=100)


def test_a_stored_answer_is_read_back_unchanged(remembered):
    answer = _answer("school", a_memento(status=200, media_type="text/html", digest="A"), a_memento("2010"))
    remembered.keep_answer(LOST, "lost.test", answer, for_s=100)
    assert remembered.answers(LOST) == (answer,)
    assert remembered.answers("http://lost.test/other") == ()


def test_an_expired_answer_is_still_given_as_stale(remembered, clock):
    remembered.keep_answer(LOST, "lost.test", _answer(), for_s=100)
    clock.now += 101
    assert remembered.answers(LOST) == ()
    assert remembered.answers(LOST, stale=True) == (_answer(),)


def test_a_stored_page_is_read_back_with_its_redirects(remembered):
    seen = ReplayedPage(page=a_page(body=b"\x00\xff" * 100), moves=(("http://a.test/", "http://b.test/"),))
    remembered.keep_page("http://archive.test/1", seen)
    assert remembered.page("http://archive.test/1") == seen
    assert remembered.page("http://archive.test/2") is None


def test_damaged_rows_are_ignored(remembered, notebook):
    remembered.keep_page("http://archive.test/1", ReplayedPage(page=a_page()))
    remembered.keep_answer(LOST, "lost.test", _answer("school", a_memento()), for_s=100)
    with notebook.write() as connection:
        connection.execute("UPDATE pages SET body = x'00'")
        connection.execute("UPDATE answers SET body = x'789c00'")
    assert remembered.page("http://archive.test/1") is None
    assert remembered.answers(LOST) == ()


def test_the_oldest_rows_are_deleted_over_the_size_limit(remembered, notebook, clock):
    noise = random.Random(1)
    for number in range(120):
        clock.now += 1
        page = a_page(body=noise.randbytes(5_000))
        remembered.keep_page(f"http://archive.test/{number}", ReplayedPage(page=page))
    kept = [
        int(url.rsplit("/")[-1]) for (url,) in notebook.read("SELECT memento FROM pages ORDER BY read_at")
    ]
    assert kept[-1] == 119
    assert kept == list(range(kept[0], 120))
    assert len(kept) * 5_000 < 200_000 // 2 + 200_000 // 8


def test_archives_that_had_the_host_rank_before_others(remembered):
    memento = a_memento()
    _keep(remembered, "lost.test", "good", memento, times=5)
    _keep(remembered, "lost.test", "bad", times=5)
    _keep(remembered, "other.test", "elsewhere", memento, times=5)
    profile = remembered.profile("lost.test")
    assert profile["good"] > profile["elsewhere"] > profile["bad"]
    assert "unknown" not in profile
    assert remembered.profile("never.test")["bad"] < 0.5


def test_rows_older_than_keep_s_are_deleted(notebook, clock):
    remembered = ArchiveStore(notebook, max_bytes=200_000, clock=clock, keep_s=1_000)
    remembered.keep_answer(LOST, "lost.test", _answer("school", a_memento()), for_s=10**9)
    remembered.keep_page("http://archive.test/1", ReplayedPage(page=a_page()))
    remembered.forget_old()
    assert remembered.answers(LOST, stale=True)
    clock.now += 1_001
    remembered.forget_old()
    assert remembered.answers(LOST, stale=True) == ()
    assert remembered.page("http://archive.test/1") is None
    assert remembered.profile("lost.test") == {}
