import json
import stat

from proxy.misses.jsonlog import MissJsonLog


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_appended(tmp_path):
    lines = MissJsonLog(tmp_path / "misses.jsonl", max_bytes=10_000)
    lines.append([{"id": 1}, {"id": 2}])
    lines.append([{"id": "é\nx"}])
    assert [line["id"] for line in lines_of(tmp_path / "misses.jsonl")] == [1, 2, "é\nx"]


def test_a_full_file_is_rotated_and_one_older_kept(tmp_path):
    lines = MissJsonLog(tmp_path / "misses.jsonl", max_bytes=40)
    for number in range(9):
        lines.append([{"id": number, "x": "y" * 10}])
    assert [line["id"] for line in lines_of(tmp_path / "misses.jsonl")] == [8]
    assert [line["id"] for line in lines_of(tmp_path / "misses.jsonl.1")] == [7]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "misses.jsonl",
        "misses.jsonl.1",
        "misses.jsonl.lock",
    ]


def test_unwanted_and_torn_lines_are_taken_out_of_both_files(tmp_path):
    path, older = tmp_path / "misses.jsonl", tmp_path / "misses.jsonl.1"
    older.write_text('{"id": 1}\n{"id": 2}\n')
    path.write_text('{"id": 1}\n{"id": 3}\n[1]\n{"id": ')
    MissJsonLog(path, max_bytes=100).keep(lambda event: event["id"] != 1)
    assert [line["id"] for line in lines_of(older) + lines_of(path)] == [2, 3]


def test_only_the_owner_may_read(tmp_path):
    MissJsonLog(tmp_path / "misses.jsonl", max_bytes=100).append([{}])
    assert stat.S_IMODE((tmp_path / "misses.jsonl").stat().st_mode) == 0o600
