"""addons.flowstate: one typed state per flow, which no copy of the flow shares."""

from addons.flowstate import AnsweredBy, BufferedBody, is_from_origin, state_of
from tests.make import a_flow


def test_a_flow_has_one_state_for_all_addons():
    flow = a_flow()
    assert state_of(flow) is state_of(flow)


def test_a_response_is_the_origins_until_one_of_us_answers():
    flow = a_flow()
    assert is_from_origin(flow)
    state_of(flow).answered_by = AnsweredBy.REPAIR
    assert not is_from_origin(flow)


def test_a_copied_flow_keeps_what_is_known_and_goes_its_own_way():
    flow = a_flow()
    state_of(flow).original_url = "http://school.test/"
    copied = flow.copy()
    state_of(copied).answered_by = AnsweredBy.CACHE
    assert state_of(copied).original_url == "http://school.test/"
    assert is_from_origin(flow)


def test_a_body_too_large_to_be_a_document_is_passed_on_and_not_kept():
    kept = BufferedBody()
    assert kept(b"ab") == b"ab"
    assert kept.body() == b"ab"
    kept(bytes(BufferedBody.MAX_BYTES))
    assert kept.body() is None
