"""Lists of a collection folder that must be correct: a wrong line is an error with file and number, not skipped."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from repair.errors import EvaluationFailed


def records(
    folder: Path, stem: str, *, needs: Sequence[str] = (), optional: bool = False
) -> Iterator[dict[str, Any]]:
    """The JSON objects of `stem.jsonl.gz` or `stem.jsonl`, each with a string under every key of `needs`.

    EvaluationFailed when there is no such file, unless it is `optional`, and at the first line that is not as it
    should be.
    """
    path = next((p for p in (folder / f"{stem}.jsonl.gz", folder / f"{stem}.jsonl") if p.is_file()), None)
    if path is None:
        if optional:
            return
        raise EvaluationFailed(f"{folder}: expected {stem}.jsonl.gz")
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _record(line, needs, f"{path}: line {number}")
    except (OSError, EOFError, zlib.error) as error:
        raise EvaluationFailed(f"{path}: line {number + 1}: unreadable; stopped here: {error}") from error


def _record(line: bytes, needs: Sequence[str], where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EvaluationFailed(f"{where}: expected a JSON object, got {str(line[:60])[2:-1]}") from error
    if not isinstance(record, dict):
        raise EvaluationFailed(f"{where}: expected a JSON object, got {type(record).__name__}")
    for key in needs:
        if not isinstance(record.get(key), str):
            raise EvaluationFailed(f"{where}: expected a string {key!r}, got {str(record.get(key))[:60]}")
    return record
