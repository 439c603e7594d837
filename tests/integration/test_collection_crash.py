"""The collection with several processes: killed while it works, and two at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repair.collection.collection import Collection
from repair.settings import CollectionSettings
from tests.holdings import SITE, a_collection, a_document, found
from tests.make import A_MOMENT

ROOT = Path(__file__).parents[2]

# Adds pages one by one and says which are committed; the index follows every few pages.
CHILD = """
import sys
from pathlib import Path
from tests.holdings import a_collection, a_document, a_link
from tests.make import A_MOMENT

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
collection = a_collection(folder)
print("ready", flush=True)
for number in range(count):
    links = [a_link(f"/{name}/{(number * 7 + step) % 50}", f"word{step} link") for step in range(5)]
    document = a_document(f"/{name}/{number}", title=f"{name} rome {number}", text="tiber " * 50, links=links)
    collection.add(document, fetched_at=A_MOMENT)
    print(number, flush=True)
    if number % 7 == 0:
        collection.commit()
collection.commit()
collection.close()
"""


@pytest.fixture
def spawn():
    """Starts children that add pages; whatever is left of them at the end is killed."""
    children = []

    def start(folder, name, count=100_000):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder), name, str(count)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()


def _killed(child, after_pages):
    """Kill a child once it has added so many pages; returns the last page it reported as committed."""
    last = -1
    while last < after_pages:
        last = int(child.stdout.readline())
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    rest = child.stdout.read().split("\n")[:-1]  # the last line may be cut short
    return int(rest[-1]) if rest else last


@pytest.mark.parametrize("after_pages", [3, 40, 75])
def test_nothing_committed_is_lost_by_kill_9_and_the_index_agrees(tmp_path, spawn, after_pages):
    last = _killed(spawn(tmp_path, "a"), after_pages)
    with Collection.open(tmp_path, CollectionSettings()) as collection:
        for number in range(last + 1):
            assert collection.holds(f"{SITE}/a/{number}")
            assert len(collection.outlinks(f"{SITE}/a/{number}")) == 5
        collection.commit()
        stats = collection.stats()
        assert stats.pages == stats.indexed >= last + 1
        assert stats.pages <= last + 2  # one may have been committed and not yet reported
        assert stats.pending == 0
        assert len(found(collection, "tiber", limit=10_000)) == stats.pages
        with collection._database.read() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_collection_opens_after_repeated_kills(tmp_path, spawn):
    last = -1
    for round_number in range(4):
        last = _killed(spawn(tmp_path, f"r{round_number}"), 5 + 4 * round_number)
    with a_collection(tmp_path) as collection:
        assert collection.holds(f"{SITE}/r3/{last}")
        assert collection.stats().pages == collection.stats().indexed


def test_two_processes_add_concurrently_and_all_pages_are_found(tmp_path, spawn):
    children = [spawn(tmp_path, name, 60) for name in "ab"]
    for child in children:
        child.communicate(timeout=120)
        assert child.returncode == 0
    with a_collection(tmp_path) as collection:
        assert collection.stats().pages == collection.stats().indexed == 120
        assert len(found(collection, "rome", limit=1_000)) == 120


def test_second_process_takes_over_from_a_killed_writer(tmp_path, spawn):
    writer = spawn(tmp_path, "a")
    with a_collection(tmp_path) as reader:
        reader.add(a_document("/mine", title="Carthage"), fetched_at=A_MOMENT)
        _killed(writer, 10)
        reader.commit()
        assert found(reader, "carthag") == ["/mine"]
        assert reader.stats().pages == reader.stats().indexed


def test_pages_added_beside_a_writer_are_found_within_seconds(tmp_path, spawn):
    writer = spawn(tmp_path, "a")
    with a_collection(tmp_path) as reader:
        reader.add(a_document("/mine", title="Carthage"), fetched_at=A_MOMENT)
        until = time.monotonic() + 30
        while not found(reader, "carthag") and time.monotonic() < until:
            assert writer.stdout.readline()
        assert found(reader, "carthag") == ["/mine"]
