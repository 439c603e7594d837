import contextlib
import sqlite3
import stat

import pytest

from repair.sqlite import SqliteFile, transaction
from tests.make import spoil

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT)"


def words(connection):
    return [word for (word,) in connection.execute("SELECT word FROM words")]


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_file_is_made_for_its_owner_only_and_in_wal_mode(tmp_path):
    file = SqliteFile(path=tmp_path / "new" / "db", schema=SCHEMA)
    connection = file.open()
    with transaction(connection):
        connection.execute("INSERT INTO words VALUES ('a')")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()} == {0o600}
    assert pragma(connection, "journal_mode") == "wal"
    for each in (connection, file.connect()):
        assert (pragma(each, "synchronous"), pragma(each, "secure_delete")) == (1, 1)
        assert words(each) == ["a"]
    assert words(file.open()) == ["a"]


def test_each_earlier_version_is_brought_up_to_date_and_others_are_refused(tmp_path):
    first = SqliteFile(path=tmp_path / "db", version=1, upgrades={0: f"{SCHEMA};"})
    first.open().close()
    second = SqliteFile(
        path=tmp_path / "db",
        version=2,
        upgrades={0: "", 1: "CREATE TABLE more (x);\nINSERT INTO words VALUES ('b');\n"},
    )
    connection = second.open()
    assert (pragma(connection, "user_version"), words(connection)) == (2, ["b"])
    connection.close()
    with pytest.raises(sqlite3.OperationalError, match="expected version 1, found 2"):
        first.open()
    with pytest.raises(sqlite3.OperationalError, match="expected version 1, found 2"):
        first.open_or_replace()
    assert not (tmp_path / "db.damaged1").exists()


def test_an_upgrade_that_fails_changes_nothing(tmp_path):
    SqliteFile(path=tmp_path / "db", version=1, upgrades={0: SCHEMA}).open().close()
    broken = SqliteFile(path=tmp_path / "db", version=2, upgrades={1: "CREATE TABLE more (x);\nNONSENSE"})
    with pytest.raises(sqlite3.OperationalError):
        broken.open()
    with sqlite3.connect(tmp_path / "db") as connection:
        assert pragma(connection, "user_version") == 1
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("words",)]


def test_a_damaged_file_is_kept_and_an_empty_one_begun(tmp_path, caplog):
    (tmp_path / "db").write_bytes(b"no database at all" * 100)
    file = SqliteFile(path=tmp_path / "db", schema=SCHEMA)
    assert words(file.open_or_replace()) == []
    assert (tmp_path / "db.damaged1").read_bytes().startswith(b"no database")
    assert "db.damaged1" in caplog.text


def test_damage_that_would_show_later_is_found_by_who_looks_for_it(tmp_path):
    file = SqliteFile(path=tmp_path / "db", schema=SCHEMA)
    file.open().close()
    spoil(tmp_path / "db")
    file.open_or_replace().close()
    assert not (tmp_path / "db.damaged1").exists()
    assert words(file.open_or_replace(check=True)) == []
    assert (tmp_path / "db.damaged1").exists()


def test_a_transaction_that_raises_leaves_nothing_and_one_within_joins_it(tmp_path):
    connection = SqliteFile(path=tmp_path / "db", schema=SCHEMA).open()
    with contextlib.suppress(ValueError), transaction(connection):
        with transaction(connection):
            connection.execute("INSERT INTO words VALUES ('a')")
        raise ValueError("enough")
    assert words(connection) == []
