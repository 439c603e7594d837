import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from repair.collection.database import VERSION, Database
from repair.errors import CollectionError


def _urls(database):
    with database.read() as connection:
        return [url for (url,) in connection.execute("SELECT url FROM urls ORDER BY id")]


def _insert(database, url):
    with database.write() as connection:
        connection.execute("INSERT INTO urls (url) VALUES (?)", (url,))


def _insert_twice(database, url):
    _insert(database, url)
    _insert(database, url)  # refused: URLs are unique


def test_what_was_written_is_there_after_reopening(tmp_path):
    database = Database(tmp_path / "db")
    _insert(database, "a")
    database.close()
    assert _urls(Database(tmp_path / "db")) == ["a"]


def test_a_transaction_that_raises_is_rolled_back(tmp_path):
    database = Database(tmp_path / "db")
    with pytest.raises(CollectionError), database.write() as connection:
        connection.executemany("INSERT INTO urls (url) VALUES (?)", [("a",), (None,)])
    assert _urls(database) == []


def test_a_nested_write_joins_the_outer_transaction(tmp_path):
    database = Database(tmp_path / "db")
    with pytest.raises(CollectionError), database.write():
        _insert_twice(database, "inner")
    assert _urls(database) == []


def test_each_thread_has_its_own_connection(tmp_path):
    database = Database(tmp_path / "db")
    threads = [threading.Thread(target=_insert, args=(database, f"u{number}")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_urls(database)) == [f"u{number}" for number in range(8)]


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path):
    (tmp_path / "db").write_bytes(b"not a database at all, but long enough to be asked" * 20)
    with pytest.raises(CollectionError, match="db: file is not a database"):
        Database(tmp_path / "db")


def test_a_database_of_another_version_is_refused_with_both_versions(tmp_path):
    Database(tmp_path / "db").close()
    connection = sqlite3.connect(tmp_path / "db")
    connection.execute(f"PRAGMA user_version = {VERSION + 7}")
    connection.close()
    with pytest.raises(CollectionError, match=f"expected version {VERSION}, found {VERSION + 7}"):
        Database(tmp_path / "db")


def test_a_closed_database_says_so(tmp_path):
    database = Database(tmp_path / "db")
    database.close()
    with pytest.raises(CollectionError, match="closed"):
        _urls(database)


def test_an_sqlite_error_becomes_a_collection_error(tmp_path):
    database = Database(tmp_path / "db")
    with pytest.raises(CollectionError, match="no such table"), database.read() as connection:
        connection.execute("SELECT * FROM nonsense")


def a_first_collection(path):
    """A collection as linkmend made it before it kept versions, with a page and its copy."""
    database = Database(path)
    _insert(database, "http://school.test/")
    database.close()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE versions")
    connection.execute("INSERT INTO copies VALUES (1, 'text/html', 0.0, x'00')")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def test_a_collection_of_an_earlier_version_is_migrated_with_all_its_pages(tmp_path):
    a_first_collection(tmp_path / "db")
    for _ in range(2):
        database = Database(tmp_path / "db")
        with database.read() as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
            assert connection.execute("SELECT count(*) FROM versions").fetchone() == (0,)
            assert connection.execute("SELECT count(*) FROM copies").fetchone() == (1,)
        assert _urls(database) == ["http://school.test/"]
        database.close()


def test_two_processes_that_open_an_earlier_version_migrate_it_once(tmp_path):
    a_first_collection(tmp_path / "db")
    with ThreadPoolExecutor(4) as threads:
        for database in threads.map(Database, [tmp_path / "db"] * 4):
            assert _urls(database) == ["http://school.test/"]
            database.close()


# Kills itself after the tables of the new version are made, before they are committed.
KILLED = """
import os, signal, sys
from pathlib import Path
from repair.collection import database

class Steps(str):
    def split(self, *rest):
        yield from str.split(self, *rest)
        os.kill(os.getpid(), signal.SIGKILL)
    def strip(self): return self
    def removesuffix(self, ending): return Steps(str.removesuffix(str.strip(self), ending))

database._UPGRADES[1] = Steps(database._UPGRADES[1])
database.Database(Path(sys.argv[1]))
"""


def test_a_process_killed_during_a_migration_leaves_the_collection_intact(tmp_path):
    a_first_collection(tmp_path / "db")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "db")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    connection = sqlite3.connect(tmp_path / "db")
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'versions'").fetchone() is None
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert _urls(Database(tmp_path / "db")) == ["http://school.test/"]


def _anywhere(folder, needle):
    return [path.name for path in folder.iterdir() if needle in path.read_bytes()]


def test_scrub_removes_deleted_content_from_all_files(tmp_path):
    database = Database(tmp_path / "db")
    for number in range(300):
        _insert(database, f"{number}-secret-" + "x" * (number * 37 % 9_000))
        _insert(database, f"{number}-other")
    with database.write() as connection:
        connection.execute("DELETE FROM urls WHERE url LIKE '%secret%'")
    assert _anywhere(tmp_path, b"secret")
    assert database.scrub()
    assert _anywhere(tmp_path, b"secret") == []
    assert len(_urls(database)) == 300
    assert database.scrub()


def test_scrub_continues_where_a_killed_process_stopped(tmp_path):
    database = Database(tmp_path / "db")
    with database.write() as connection:
        connection.execute("CREATE TABLE zeros (zeros BLOB)")
    assert database.scrub()
    with database.read() as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'zeros'").fetchone() is None


def test_a_long_read_prevents_emptying_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr("repair.collection.database._LOG_WAIT_S", 0.0)
    database, reader = Database(tmp_path / "db"), Database(tmp_path / "db")
    _insert(database, "secret")
    with reader.read() as connection:
        rows = connection.execute("SELECT url FROM urls")
        rows.fetchone()
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM urls").fetchone()
        monkeypatch.setattr("repair.collection.database._LOG_TRIES", 2)
        with database.read() as own:
            own.execute("PRAGMA busy_timeout = 10")
        assert not database.scrub()
        connection.execute("ROLLBACK")
    assert database.scrub()


def test_the_version_changes_with_commits_of_any_connection_and_with_nothing_else(tmp_path):
    database, elsewhere = Database(tmp_path / "db"), Database(tmp_path / "db")
    versions = [database.version()]

    def then(work):
        work()
        versions.append(database.version())

    then(lambda: _urls(database))
    assert versions[0] == versions[1]
    then(lambda: _insert(database, "a"))
    then(lambda: _insert(elsewhere, "b"))
    with ThreadPoolExecutor(1) as threads:
        then(threads.submit(_insert, database, "c").result)
    assert len(set(versions)) == 4
    database.close()
    with pytest.raises(CollectionError):
        database.version()
