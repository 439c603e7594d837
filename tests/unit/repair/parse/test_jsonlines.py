"""Reading the lists of a collection folder."""

import gzip
import json

import pytest

from repair.errors import EvaluationFailed
from repair.parse.jsonlines import records

GOOD = {"id": "a", "url": "http://a.test/"}


def written(folder, *lines, name="train.jsonl"):
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


@pytest.mark.parametrize("name", ["train.jsonl", "train.jsonl.gz"])
def test_the_objects_of_a_file_come_in_order_and_empty_lines_count_for_nothing(tmp_path, name):
    folder = written(tmp_path, GOOD, b"", GOOD | {"id": "b"}, name=name)
    assert [record["id"] for record in records(folder, "train", needs=("id", "url"))] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "expected a JSON object"),
        (b"\xff", "expected a JSON object"),
        (b"[1]", "got list"),
        ({"id": "a"}, "expected a string 'url', got None"),
        ({"id": "a", "url": 7}, "expected a string 'url', got 7"),
    ],
)
def test_a_wrong_line_is_reported_by_file_and_number(tmp_path, line, told):
    folder = written(tmp_path, GOOD, line)
    with pytest.raises(EvaluationFailed, match=rf"train\.jsonl: line 2: .*{told}"):
        list(records(folder, "train", needs=("id", "url")))


def test_a_truncated_file_is_reported(tmp_path):
    written(tmp_path, *[GOOD | {"id": str(at)} for at in range(5000)], name="train.jsonl.gz")
    whole = (tmp_path / "train.jsonl.gz").read_bytes()
    (tmp_path / "train.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EvaluationFailed, match=r"train\.jsonl\.gz: line \d+: unreadable; stopped here"):
        list(records(tmp_path, "train"))


def test_a_missing_file_is_reported_unless_it_is_optional(tmp_path):
    assert list(records(tmp_path, "train", optional=True)) == []
    with pytest.raises(EvaluationFailed, match=r"expected train\.jsonl\.gz"):
        list(records(tmp_path, "train"))
