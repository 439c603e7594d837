import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from repair.errors import ArchiveMemoryError
from repair.memento.database import ArchiveDatabase
from tests.make import spoil

ROOT = Path(__file__).parents[4]

# Writes for ever, and says so after each write that is done.
WRITER = """
import sys
from pathlib import Path
from repair.memento.database import ArchiveDatabase
notebook = ArchiveDatabase(Path(sys.argv[1]))
number = 0
while True:
    with notebook.write() as connection:
        connection.execute("INSERT INTO pages VALUES (?, 0, ?)", (str(number), b"x" * 50_000))
    print(number, flush=True)
    number += 1
"""


def _hosts(notebook):
    return notebook.read("SELECT host FROM hosts")


def test_what_was_written_is_there_after_reopening(tmp_path):
    notebook = ArchiveDatabase(tmp_path / "new" / "db")
    with notebook.write() as connection:
        connection.execute("INSERT INTO hosts VALUES ('h', 'a', 1, 1, 0)")
    notebook.close()
    assert _hosts(ArchiveDatabase(tmp_path / "new" / "db")) == [("h",)]


def test_a_block_that_raises_is_rolled_back(tmp_path):
    notebook = ArchiveDatabase(tmp_path / "db")
    with pytest.raises(ArchiveMemoryError), notebook.write() as connection:
        connection.executemany("INSERT INTO hosts VALUES ('h', 'a', 1, 1, ?)", [(0,), (1,)])
    assert _hosts(notebook) == []


def test_a_damaged_file_is_kept_and_a_new_one_begun(tmp_path):
    (tmp_path / "db").write_bytes(b"no database at all" * 100)
    assert _hosts(ArchiveDatabase(tmp_path / "db")) == []
    assert (tmp_path / "db.damaged1").read_bytes().startswith(b"no database")


def test_a_file_of_another_version_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ArchiveMemoryError, match="expected version 1, found 99"):
        ArchiveDatabase(tmp_path / "db")


def test_kill_9_loses_nothing_that_was_committed(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path / "db"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    for _ in range(20):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    done = 20 + len(process.stdout.read().split())
    process.wait()
    notebook = ArchiveDatabase(tmp_path / "db")
    assert notebook.read("PRAGMA integrity_check") == [("ok",)]
    assert notebook.read("SELECT count(*) FROM pages")[0][0] >= done


def test_late_damage_is_handled_once(tmp_path):
    ArchiveDatabase(tmp_path / "db").close()
    spoil(tmp_path / "db")
    notebook = ArchiveDatabase(tmp_path / "db")
    for _ in range(2):
        with contextlib.suppress(ArchiveMemoryError), notebook.write() as connection:
            connection.execute("INSERT INTO hosts VALUES ('h', 'a', 1, 1, 0)")
    assert _hosts(notebook) == [("h",)]
    assert (tmp_path / "db.damaged1").exists()
