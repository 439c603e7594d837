import sqlite3
import threading

import pytest

from repair.database import VERSION, Database
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


def test_a_block_that_raises_leaves_nothing(tmp_path):
    database = Database(tmp_path / "db")
    with pytest.raises(CollectionError), database.write() as connection:
        connection.executemany("INSERT INTO urls (url) VALUES (?)", [("a",), (None,)])
    assert _urls(database) == []


def test_a_write_inside_a_write_belongs_to_it(tmp_path):
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
    with pytest.raises(CollectionError, match=f"expected collection version {VERSION}, found {VERSION + 7}"):
        Database(tmp_path / "db")


def test_a_closed_database_says_so(tmp_path):
    database = Database(tmp_path / "db")
    database.close()
    with pytest.raises(CollectionError, match="closed"):
        _urls(database)


def test_an_error_of_sqlite_becomes_one_of_ours(tmp_path):
    database = Database(tmp_path / "db")
    with pytest.raises(CollectionError, match="no such table"), database.read() as connection:
        connection.execute("SELECT * FROM nonsense")
