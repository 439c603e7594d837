"""proxy.backup.snapshot: copies are consistent, whatever others write meanwhile."""

import sqlite3
from contextlib import closing

import pytest

from proxy.backup import snapshot
from proxy.backup.contents import BackupPart, PartKind
from proxy.backup.snapshot import copies, copy_database
from proxy.errors import BackupError
from proxy.messages import FileBody
from proxy.store.diskstore import DiskStore
from tests.caching import a_stored

KEY = "http://a.test/"


def copied(tmp_path, path, kind):
    stage = tmp_path / "stage"
    stage.mkdir(exist_ok=True)
    part = BackupPart(name="data/it", path=path, kind=kind)
    return {name: copy.read_bytes() for name, copy in copies(part, stage)}


def test_database_copy_includes_the_write_ahead_log(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (x)")
        database.execute("INSERT INTO t VALUES (1)")
        database.commit()
        database.execute("INSERT INTO t VALUES (2)")  # not committed
        copy_database(tmp_path / "a.sqlite", tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert copy.execute("SELECT x FROM t").fetchall() == [(1,)]
    assert not (tmp_path / "copy-wal").exists()


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b'{"a":1}\n{"b":2}\n', b'{"a":1}\n{"b":2}\n'),
        (b'{"a":1}\n{"b"', b'{"a":1}\n'),
        (b'{"a"', b""),
        (b"", b""),
        (b"x\n" + b"y" * 200_000, b"x\n"),
    ],
)
def test_only_complete_log_lines_are_copied(tmp_path, content, kept):
    (tmp_path / "a.jsonl").write_bytes(content)
    assert copied(tmp_path, tmp_path / "a.jsonl", PartKind.LINES) == {"data/it": kept}


@pytest.mark.parametrize("kind", [PartKind.FILE, PartKind.LINES, PartKind.DATABASE, PartKind.CACHE_DIRECTORY])
def test_missing_file_is_skipped(tmp_path, kind):
    assert copied(tmp_path, tmp_path / "gone", kind) == {}
    assert not (tmp_path / "gone").exists()


def test_damaged_database_is_reported(tmp_path):
    (tmp_path / "a.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(BackupError, match=r"a\.sqlite: cannot copy"):
        copied(tmp_path, tmp_path / "a.sqlite", PartKind.DATABASE)


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "spool").mkdir()
    opened = DiskStore(tmp_path / "shelf", root=tmp_path, spool=tmp_path / "spool", max_bytes=10**9)
    yield opened
    opened.close()


def put(shelf, url, content):
    body = shelf._spool / "body"
    body.write_bytes(content)
    assert shelf.put(url, a_stored(body=FileBody(path=body, size=len(content))))


def read_back(tmp_path, files, url):
    """The response at a URL in a disk store made of copies."""
    base = tmp_path / "again"
    for name, content in files.items():
        path = base / "1" / name.removeprefix("data/it/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    again = DiskStore(base, root=tmp_path, spool=tmp_path / "spool", max_bytes=10**9)
    found = [response.body.path.read_bytes() for response in again.get(url)]
    again.close()
    return found


def test_disk_store_is_copied_with_its_bodies_only(tmp_path, shelf):
    put(shelf, KEY, b"a" * 2_000_000)
    (shelf.directory / "ab").mkdir(exist_ok=True)
    (shelf.directory / "ab" / "orphan.body").write_bytes(b"x")
    files = copied(tmp_path, shelf.directory, PartKind.CACHE_DIRECTORY)
    assert len(files) == 2
    assert read_back(tmp_path, files, KEY) == [b"a" * 2_000_000]


def test_repeatedly_replaced_body_is_included(tmp_path, shelf, monkeypatch):
    put(shelf, KEY, b"old" * 500_000)
    real, rounds = snapshot.copy_database, []

    def interrupted(source, target):
        real(source, target)
        rounds.append(1)
        put(shelf, KEY, b"new" * 500_000 + b"!" * len(rounds))

    monkeypatch.setattr(snapshot, "copy_database", interrupted)
    files = copied(tmp_path, shelf.directory, PartKind.CACHE_DIRECTORY)
    assert read_back(tmp_path, files, KEY) == [b"old" * 500_000]


def test_a_row_whose_body_is_gone_each_time_is_dropped(tmp_path, shelf, monkeypatch):
    put(shelf, KEY, b"old" * 500_000)
    put(shelf, f"{KEY}stays", b"stays" * 500_000)
    real, rounds = snapshot.copy_database, []

    def interrupted(source, target):
        real(source, target)
        rounds.append(1)
        put(shelf, KEY, b"new" * 500_000 + b"!" * len(rounds))

    def no_links(source, target):
        raise OSError("no links here")

    monkeypatch.setattr(snapshot, "copy_database", interrupted)
    monkeypatch.setattr(snapshot.os, "link", no_links)
    files = copied(tmp_path, shelf.directory, PartKind.CACHE_DIRECTORY)
    assert len(rounds) == 3
    assert len(files) == 2
    (tmp_path / "rows").write_bytes(files["data/it/cache.db"])
    with closing(sqlite3.connect(tmp_path / "rows")) as rows:
        assert rows.execute("SELECT count(*) FROM Cache").fetchone() == (1,)
    assert read_back(tmp_path, files, f"{KEY}stays") == [b"stays" * 500_000]
