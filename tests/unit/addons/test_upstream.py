"""addons.upstream: what is sent to Squid, and what Squid is believed."""

import pytest

from addons.flows import url_of
from addons.flowstate import state_of
from addons.upstream import Upstream
from proxy.settings import ProxySettings
from repair.model import MissKind
from tests.make import a_flow

SQUID = ProxySettings(parent="http://127.0.0.1:3128")


def test_a_request_goes_to_the_parent_in_absolute_form():
    flow = a_flow("https://school.test/page?a=b", headers=[("Host", "school.test")])
    Upstream(SQUID).request(flow)
    assert (flow.request.host, flow.request.port, flow.request.scheme) == ("127.0.0.1", 3128, "http")
    assert flow.request.path == "https://school.test/page?a=b"
    assert url_of(flow) == "https://school.test/page?a=b"


@pytest.mark.parametrize("name", ["If-None-Match", "If-Modified-Since"])
def test_the_parent_passes_conditions_on_without_looking_into_its_cache(name):
    plain = a_flow("http://school.test/page")
    asked = a_flow("http://school.test/page", headers=[(name, "one"), ("Cache-Control", "no-store")])
    tunnelled = a_flow("https://school.test/page", headers=[(name, "one")])
    for flow in (plain, asked):
        Upstream(SQUID).request(flow)
    Upstream(ProxySettings(parent="http://127.0.0.1:3128", parent_https="connect")).request(tunnelled)
    assert asked.request.headers["cache-control"] == "no-store, no-cache"
    assert "cache-control" not in plain.request.headers
    assert "cache-control" not in tunnelled.request.headers


def test_https_is_tunnelled_where_the_parent_cannot_fetch_it():
    flow = a_flow("https://school.test/page")
    Upstream(ProxySettings(parent="http://127.0.0.1:3128", parent_https="connect")).request(flow)
    assert flow.request.host == "school.test"
    assert flow.server_conn.via == ("http", ("127.0.0.1", 3128))


def test_without_a_parent_or_with_an_answer_nothing_is_sent():
    direct = a_flow("http://school.test/page")
    Upstream(ProxySettings()).request(direct)
    assert direct.request.host == "school.test"
    answered = a_flow("http://school.test/page", response=(200, [], b"hit"))
    Upstream(SQUID).request(answered)
    assert answered.request.host == "school.test"


def test_the_parents_mark_becomes_a_failure():
    flow = a_flow("http://school.test/page", response=(503, [("X-Squid-Error", "ERR_CONNECT_FAIL 111")], b""))
    asked, flow.response = flow.response, None
    Upstream(SQUID).request(flow)
    flow.response = asked
    Upstream(SQUID).responseheaders(flow)
    assert state_of(flow).failure.kind is MissKind.UNREACHABLE


def test_what_squid_could_not_read_is_a_failure_though_squid_calls_it_a_page():
    fields = [("X-Transformed-From", "HTTP/0.9"), ("Cache-Control", "public, max-age=600")]
    flow = a_flow("http://school.test/page", response=(200, fields, b"HT"))
    asked, flow.response = flow.response, None
    Upstream(SQUID).request(flow)
    flow.response = asked
    Upstream(SQUID).responseheaders(flow)
    assert state_of(flow).failure.error == "http_protocol_error"
    assert flow.response.status_code == 502
    assert flow.response.headers["cache-control"] == "no-store"


def test_a_mark_that_did_not_come_through_the_parent_is_ignored():
    flow = a_flow("http://school.test/page", response=(503, [("X-Squid-Error", "ERR_CONNECT_FAIL 111")], b""))
    Upstream(SQUID).responseheaders(flow)
    assert state_of(flow).failure is None
