"""addons.underway: what a stop must wait for."""

from addons.flows import ANSWERABLE
from addons.underway import UnderWay
from tests.make import a_flow


def test_a_flow_is_under_way_from_its_request_to_its_answer():
    under_way, flow = UnderWay(), a_flow()
    under_way.requestheaders(flow)
    assert len(under_way) == 1
    under_way.response(flow)
    assert len(under_way) == 0


def test_a_flow_that_fails_without_an_answer_is_not_waited_for():
    under_way, flow = UnderWay(), a_flow()
    under_way.requestheaders(flow)
    under_way.error(flow)
    assert len(under_way) == 0


def test_a_failed_flow_with_an_answer_is_under_way_until_that_is_sent():
    under_way, flow = UnderWay(), a_flow()
    under_way.requestheaders(flow)
    flow.metadata[ANSWERABLE] = True
    under_way.error(flow)
    assert len(under_way) == 1


def test_a_client_that_hangs_up_in_mid_answer_is_not_waited_for():
    under_way, flow = UnderWay(), a_flow(response=(200, [], b""))
    under_way.requestheaders(flow)
    under_way.error(flow)
    assert len(under_way) == 0


def test_a_question_of_our_own_is_not_counted():
    under_way, flow = UnderWay(), a_flow()
    flow.is_replay = "request"
    under_way.requestheaders(flow)
    assert len(under_way) == 0


def test_a_client_that_leaves_takes_all_its_flows_along():
    """During the origin's TLS handshake mitmproxy calls neither `response` nor `error`."""
    under_way, flow, other = UnderWay(), a_flow(), a_flow()
    under_way.requestheaders(flow)
    under_way.requestheaders(other)
    under_way.client_disconnected(flow.client_conn)
    assert len(under_way) == 1
    under_way.response(flow)
    assert len(under_way) == 1
