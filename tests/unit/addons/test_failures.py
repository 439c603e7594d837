"""addons.failures: the short answer for an origin that failed. The stream itself is tried in tests/integration."""

import pytest
from mitmproxy.flow import Error

from addons.failures import Failures
from addons.flowstate import state_of
from addons.mitm import streams
from proxy.errors import StartError
from repair.model import MissKind
from tests.make import a_flow


def failed(message="[Errno 111] Connect call failed", **about):
    flow = a_flow(**about)
    state_of(flow).is_answerable = True
    flow.error = Error(message)
    Failures().error(flow)
    return flow


def test_a_failed_image_gets_one_line_of_text_with_the_reason():
    flow = failed(headers=[("Accept", "image/*")])
    assert flow.response.status_code == 502
    assert flow.response.headers["content-type"].startswith("text/plain")
    assert b"refused" in flow.response.raw_content
    assert flow.response.headers["proxy-status"].startswith("linkmend;error=connection_refused")
    assert flow.response.headers["cache-control"] == "no-store"


def test_a_connection_that_we_gave_up_is_a_timeout():
    flow = a_flow()
    state_of(flow).timed_out = state_of(flow).is_answerable = True
    flow.error = Error("server closed connection")
    Failures().error(flow)
    assert state_of(flow).failure.kind is MissKind.TIMEOUT
    assert flow.response.status_code == 504


def test_a_client_that_has_gone_is_not_answered():
    flow = a_flow()
    flow.error = Error("client disconnected")
    Failures().error(flow)
    assert flow.response is None


def test_a_stale_answer_of_the_cache_is_left_alone():
    flow = a_flow(response=(200, [], b"stale"))
    flow.error = Error("[Errno 111] Connect call failed")
    Failures().error(flow)
    assert flow.response.raw_content == b"stale"


def test_the_connection_is_closed_after_a_failure_since_mitmproxy_remembers_it():
    flow = failed()
    Failures().response(flow)
    assert flow.response.headers["connection"] == "close"


def test_an_unknown_mitmproxy_is_refused_at_the_start(monkeypatch):
    monkeypatch.setattr(streams, "_NEEDED", ("send_response_of_old",))
    with pytest.raises(StartError, match="not supported"):
        streams.install()
