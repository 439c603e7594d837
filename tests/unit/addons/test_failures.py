"""addons.failures: the short answer for an origin that failed. The stream itself is tried in tests/integration."""

import pytest
from mitmproxy.flow import Error

from addons.failures import Failures
from addons.flowstate import state_of
from addons.mitm import streams
from proxy.errors import StartError
from proxy.failures import PARENT_DOWN
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


FORM = [
    ("Accept", "text/html"),
    ("Accept-Language", "fr"),
    ("Content-Type", "application/x-www-form-urlencoded"),
]


def unsent(message, headers=FORM):
    flow = failed(message, method="POST", headers=headers)
    Failures().response(flow)
    return flow.response


def test_a_form_that_could_not_be_sent_says_so_in_the_language_of_the_user():
    response = unsent("[Errno 111] Connect call failed")
    assert response.status_code == 502
    assert "Ton formulaire n’a pas été envoyé" in response.get_text()
    assert response.headers["proxy-status"].startswith("linkmend;error=connection_refused")
    assert response.headers["linkmend-miss"] == "unreachable"
    assert "sandbox" in response.headers["content-security-policy"]


def test_a_form_that_may_have_arrived_is_not_called_unsent():
    text = unsent("server closed connection").get_text()
    assert "n’est peut-être pas arrivé" in text
    assert "n’a pas été envoyé" not in text


def test_a_script_that_posts_gets_no_page():
    assert (
        unsent("[Errno 111]", headers=[("Accept", "application/json")])
        .headers["content-type"]
        .startswith("text/plain")
    )


def test_what_a_site_answers_to_a_form_is_left_alone():
    flow = a_flow(method="POST", headers=FORM, response=(500, [("Content-Type", "text/html")], b"no"))
    Failures().response(flow)
    assert flow.response.content == b"no"


PARENT_REFUSES = "[Errno 111] Connect call failed ('127.0.0.1', 3128)"


def failed_behind_a_parent(message, *, tunnel=False, **about):
    flow = a_flow(**about)
    state_of(flow).is_answerable = True
    if tunnel:
        flow.server_conn.via = ("http", ("127.0.0.1", 3128))
    else:
        state_of(flow).goes_by_parent = True
    flow.error = Error(message)
    Failures().error(flow)
    return flow


@pytest.mark.parametrize("tunnel", [True, False])
def test_a_parent_that_cannot_be_reached_is_not_the_sites_fault(tunnel):
    flow = failed_behind_a_parent(PARENT_REFUSES, tunnel=tunnel)
    assert state_of(flow).failure.fault == PARENT_DOWN
    assert b"the parent proxy cannot be reached" in flow.response.raw_content


def test_a_tunnel_that_the_parent_refuses_is_the_sites_fault():
    message = "Upstream proxy 127.0.0.1:3128 refused HTTP CONNECT request: 503 Service Unavailable"
    assert state_of(failed_behind_a_parent(message, tunnel=True)).failure.fault == ""


def test_a_form_that_the_parent_did_not_take_names_the_parent():
    flow = failed_behind_a_parent(PARENT_REFUSES, method="POST", headers=FORM)
    Failures().response(flow)
    text = flow.response.raw_content.decode()
    assert "par lequel ton école accède" in text
    assert "n’a pas été envoyé" in text
