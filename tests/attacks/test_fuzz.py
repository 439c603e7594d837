"""A short run of the differential fuzzer (tests/attacks/fuzz), and all its earlier findings."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.attacks.fuzz.judge import Complaint, Judge
from tests.attacks.fuzz.origin import CarelessOrigin
from tests.attacks.fuzz.requests import HostileRequest, hostile_requests, single_requests

CORPUS = Path(__file__).parent / "fuzz" / "corpus.jsonl"
KNOWN = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def judge(running):
    with CarelessOrigin() as origin:
        yield Judge(running, origin)


@settings(max_examples=60, derandomize=True, database=None)
@given(request=hostile_requests())
def test_no_request_changes_what_others_get(judge, request):
    judge.judge_poisoning(request)


@settings(max_examples=60, derandomize=True, database=None)
@given(request=single_requests())
def test_the_fast_path_answers_as_the_slow_path_does(judge, request):
    judge.judge_agreement(request)


@pytest.mark.parametrize("known", KNOWN, ids=[known["why"] for known in KNOWN])
def test_earlier_fuzzer_findings_stay_fixed(judge, known):
    request = HostileRequest(
        text=known["text"], paths=tuple(known["paths"]), cut_at=known["cut_at"], tunnel=known["tunnel"]
    )
    getattr(judge, known["check"])(request)


def test_fuzzer_detects_a_foreign_page(judge):
    """A control: the careless site obeys a field of the request."""
    honest = HostileRequest(text="GET http://{site}/plain/{fresh} HTTP/1.1\r\nHost: {site}\r\n\r\n", paths=())
    judge.judge_poisoning(honest)
    with pytest.raises(Complaint):
        judge._judge_victim("/plain/../odd name", b"")
