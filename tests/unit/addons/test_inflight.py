"""addons.inflight: what a stop must wait for."""

from addons.flowstate import state_of
from addons.inflight import InFlight
from tests.make import a_flow


def test_a_flow_is_under_way_from_its_request_to_its_answer():
    in_flight, flow = InFlight(), a_flow()
    in_flight.requestheaders(flow)
    assert len(in_flight) == 1
    in_flight.response(flow)
    assert len(in_flight) == 0


def test_a_flow_that_fails_without_an_answer_is_not_waited_for():
    in_flight, flow = InFlight(), a_flow()
    in_flight.requestheaders(flow)
    in_flight.error(flow)
    assert len(in_flight) == 0


def test_a_failed_flow_with_an_answer_is_under_way_until_that_is_sent():
    in_flight, flow = InFlight(), a_flow()
    in_flight.requestheaders(flow)
    state_of(flow).is_answerable = True
    in_flight.error(flow)
    assert len(in_flight) == 1


def test_a_client_that_hangs_up_in_mid_answer_is_not_waited_for():
    in_flight, flow = InFlight(), a_flow(response=(200, [], b""))
    in_flight.requestheaders(flow)
    in_flight.error(flow)
    assert len(in_flight) == 0


def test_a_question_of_our_own_is_not_counted():
    in_flight, flow = InFlight(), a_flow()
    flow.is_replay = "request"
    in_flight.requestheaders(flow)
    assert len(in_flight) == 0


def test_a_client_that_leaves_takes_all_its_flows_along():
    """During the origin's TLS handshake mitmproxy calls neither `response` nor `error`."""
    in_flight, flow, other = InFlight(), a_flow(), a_flow()
    in_flight.requestheaders(flow)
    in_flight.requestheaders(other)
    in_flight.client_disconnected(flow.client_conn)
    assert len(in_flight) == 1
    in_flight.response(flow)
    assert len(in_flight) == 1
