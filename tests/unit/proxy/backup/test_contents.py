"""proxy.backup.contents: which parts of a data folder belong in a backup."""

import sqlite3

from proxy.backup.contents import PartKind, folder_parts, is_ours, parts


def a_folder(data, *names):
    for name in names:
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return data


def named(found):
    return [part.name for part in found]


def test_unknown_files_are_included(tmp_path):
    a_folder(tmp_path, "ca/key.pem", "collection/ranking.json", "later/store.bin", "rules.d/.history/1.toml")
    assert named(parts(tmp_path)) == [
        "data/ca/key.pem",
        "data/collection/ranking.json",
        "data/later/store.bin",
        "data/rules.d/.history/1.toml",
    ]


def test_temporary_files_are_excluded(tmp_path):
    passing = (
        *(
            "client-salt",
            "training/pages",
            "import/wetlands.wacz",
            "cache/spool/1/half",
            "cache/lock",
            "collection/index/1-a/meta.json",
        ),
        *("misses/misses.jsonl.lock", "a.sqlite-wal", "a.sqlite-shm", "a.sqlite.damaged1", "rpc.sock"),
        *(
            ".backup/rows",
            ".backup.lock",
            ".restoring/new/data/x",
            "before-restore-20261116T000000Z/ca/key.pem",
        ),
    )
    assert named(parts(a_folder(tmp_path, *passing))) == []


def test_links_are_not_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link").symlink_to("/etc/passwd")
    assert named(parts(tmp_path / "data")) == []


def test_each_file_is_copied_in_its_own_way(tmp_path):
    a_folder(tmp_path, "misses/misses.jsonl", "misses/misses.jsonl.1", "ca/key.pem")
    with sqlite3.connect(tmp_path / "any.name") as database:
        database.execute("CREATE TABLE t (x)")
    kinds = {part.name: part.kind for part in parts(tmp_path)}
    assert kinds == {
        "data/any.name": PartKind.DATABASE,
        "data/ca/key.pem": PartKind.FILE,
        "data/misses/misses.jsonl": PartKind.LINES,
        "data/misses/misses.jsonl.1": PartKind.LINES,
    }


def test_only_the_current_generation_of_a_disk_store_is_included(tmp_path):
    a_folder(tmp_path, *(f"cache/responses/{number}/cache.db" for number in (1, 9, 10)))
    a_folder(tmp_path, "cache/pinned/1/ab/c.body")
    assert named(parts(tmp_path)) == ["data/cache/responses/10", "data/cache/pinned/1"]
    assert named(parts(tmp_path, cache=False)) == ["data/cache/pinned/1"]


def test_ca_can_be_excluded(tmp_path):
    assert named(parts(a_folder(tmp_path, "ca/key.pem", "b"), ca=False)) == ["data/b"]


def test_another_folder_has_a_name_of_its_own(tmp_path):
    assert named(folder_parts(a_folder(tmp_path, "10.toml"), "settings/rules.d")) == [
        "settings/rules.d/10.toml"
    ]
    assert named(folder_parts(tmp_path / "none", "x")) == []


def test_working_files_of_backups_are_recognised():
    assert is_ours(".restoring")
    assert is_ours("before-restore-20261116T101500Z")
    assert not is_ours("cache")
