import multiprocessing
from pathlib import Path

import pytest

from repair.memento.admission import ArchiveAdmission
from repair.memento.database import ArchiveDatabase
from repair.memento.ratelimits import BURST, REST_S, TRIES, ArchiveState
from tests.archiving import NOW
from tests.fakes import FakeClock


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
def turns(tmp_path, clock):
    notebook = ArchiveDatabase(tmp_path / "archives.sqlite")
    yield ArchiveAdmission(notebook, clock)
    notebook.close()


def _take(turns, kind="list"):
    return turns.take("school", kind, 20, trial_s=10.0)


def test_requests_are_admitted_until_the_burst_is_used_up(turns, clock):
    assert [_take(turns) for _ in range(BURST)] == [0.0] * BURST
    assert _take(turns) == pytest.approx(3.0)
    clock.now += 3.0
    assert _take(turns) == 0.0


def test_each_kind_and_archive_has_its_own_rate_limit(turns):
    for _ in range(BURST):
        _take(turns)
    assert _take(turns, "page") == 0.0
    assert turns.take("other", "list", 20, trial_s=10.0) == 0.0


def test_a_paused_archive_is_not_asked_until_a_trial_succeeds(turns, clock):
    for _ in range(TRIES):
        turns.note_failure("school")
    assert _take(turns) is None
    clock.now += REST_S
    assert _take(turns) == 0.0
    assert _take(turns) is None  # the trial is under way
    turns.note_success("school")
    assert turns.health("school") == ArchiveState()
    assert _take(turns) == 0.0


def test_an_answered_trial_admits_the_next_request(turns, clock):
    for _ in range(TRIES):
        turns.note_failure("school")
    clock.now += REST_S
    _take(turns)
    turns.end_trial("school", 10.0)
    assert _take(turns) == 0.0
    turns.note_failure("school")
    assert _take(turns) is None


def test_a_request_under_way_does_not_end_a_pause(turns):
    turns.note_refusal("school", 600.0)
    turns.end_trial("school", 10.0)
    assert _take(turns) is None


def _takes(path: str, times: int, results) -> None:
    turns = ArchiveAdmission(ArchiveDatabase(Path(path)), lambda: NOW)
    results.put(sum(turns.take("school", "list", 20, trial_s=10.0) == 0.0 for _ in range(times)))


@pytest.mark.slow
def test_the_rate_limit_is_shared_by_all_processes(tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    path = str(tmp_path / "archives.sqlite")
    workers = [context.Process(target=_takes, args=(path, 20, results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    given = sum(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join(60)
    assert given == BURST
