"""addons.uploads: which request bodies are held in memory."""

import pytest

from addons.uploads import Uploads
from tests.make import a_flow


def streams(*headers, method="POST", offline=False):
    flow = a_flow(method=method, headers=headers)
    Uploads(lambda: offline).requestheaders(flow)
    return bool(flow.request.stream)


@pytest.mark.parametrize("header", [("Content-Length", "5000000"), ("Transfer-Encoding", "chunked")])
def test_a_large_upload_and_one_of_unknown_size_are_passed_on_as_they_come(header):
    assert streams(header)


@pytest.mark.parametrize("length", ["0", "1000", "nonsense", "-1", "٣"])
def test_a_small_or_senseless_length_is_not(length):
    assert not streams(("Content-Length", length.encode().decode("latin-1")))


def test_off_the_line_nothing_leaves_before_it_is_refused():
    assert not streams(("Content-Length", "5000000"), offline=True)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("header", [("Content-Length", "5000000"), ("Transfer-Encoding", "chunked")])
def test_what_may_be_ours_to_answer_is_never_on_its_way_before_we_have(header, method):
    assert not streams(header, method=method)


def test_nobody_sends_a_large_body_with_a_get():
    flow = a_flow(headers=[("Content-Length", "5000000")])
    Uploads(lambda: False).requestheaders(flow)
    assert flow.response.status_code == 413
