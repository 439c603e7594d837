import multiprocessing
from pathlib import Path

import pytest

from repair.memento.database import Notebook
from repair.memento.limits import BURST, REST_S, TRIES, Health
from repair.memento.turns import Turns
from tests.archiving import NOW
from tests.fakes import FakeClock


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
def turns(tmp_path, clock):
    notebook = Notebook(tmp_path / "archives.sqlite")
    yield Turns(notebook, clock)
    notebook.close()


def _take(turns, kind="list"):
    return turns.take("school", kind, 20, trial_s=10.0)


def test_leave_is_given_until_the_burst_is_used_up(turns, clock):
    assert [_take(turns) for _ in range(BURST)] == [0.0] * BURST
    assert _take(turns) == pytest.approx(3.0)
    clock.now += 3.0
    assert _take(turns) == 0.0


def test_each_kind_and_each_archive_has_its_own_pace(turns):
    for _ in range(BURST):
        _take(turns)
    assert _take(turns, "page") == 0.0
    assert turns.take("other", "list", 20, trial_s=10.0) == 0.0


def test_a_resting_archive_is_not_asked_and_a_success_ends_it(turns, clock):
    for _ in range(TRIES):
        turns.failed("school")
    assert _take(turns) is None
    clock.now += REST_S
    assert _take(turns) == 0.0
    assert _take(turns) is None  # the trial is under way
    turns.succeeded("school")
    assert turns.health("school") == Health()
    assert _take(turns) == 0.0


def test_a_trial_that_got_through_lets_its_next_request_pass(turns, clock):
    for _ in range(TRIES):
        turns.failed("school")
    clock.now += REST_S
    _take(turns)
    turns.trial_over("school", 10.0)
    assert _take(turns) == 0.0
    turns.failed("school")
    assert _take(turns) is None


def test_a_refusal_is_not_lifted_by_a_request_that_was_under_way(turns):
    turns.refused("school", 600.0)
    turns.trial_over("school", 10.0)
    assert _take(turns) is None


def _takes(path: str, times: int, results) -> None:
    turns = Turns(Notebook(Path(path)), lambda: NOW)
    results.put(sum(turns.take("school", "list", 20, trial_s=10.0) == 0.0 for _ in range(times)))


def test_all_processes_together_get_no_more_leave_than_one(tmp_path):
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
