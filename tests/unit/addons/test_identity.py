"""addons.identity: every request gets its name when it comes in, and goes out under it."""

import pytest
from mitmproxy.proxy import mode_specs

from addons.flowstate import AnsweredBy, state_of
from addons.identity import Identify
from tests.make import a_flow


def given(url="http://school.test/page", *, hosts=(), tunnel=False, authority="", version="HTTP/1.1"):
    flow = a_flow(url, headers=[("Accept", "*/*"), *(("Host", host) for host in hosts)])
    flow.request.http_version = version
    flow.request.data.authority = authority.encode()
    if tunnel:
        flow.server_conn.address = (flow.request.host, flow.request.port)
    Identify().requestheaders(flow)
    return flow


@pytest.mark.parametrize("hosts", [(), ("",), ("school.test",), ("SCHOOL.test:80",)])
def test_exactly_one_host_goes_out_equal_to_the_target(hosts):
    flow = given(hosts=hosts)
    assert flow.request.headers.get_all("host") == ["school.test"]
    assert flow.request.headers["accept"] == "*/*"
    assert flow.response is None


def test_a_host_that_names_another_site_goes_out_as_it_came():
    assert given(hosts=("other.test",)).request.headers.get_all("host") == ["other.test"]


@pytest.mark.parametrize("hosts", [("school.test", "school.test"), ("school.test", "other.test"), ("a b",)])
def test_hosts_that_name_no_one_site_are_refused(hosts):
    flow = given(hosts=hosts)
    assert (flow.response.status_code, state_of(flow).answered_by) == (400, AnsweredBy.REFUSED)


@pytest.mark.parametrize("path", ["@other.test/", ".other.test/", "other", "*", "?q", ""])
def test_a_path_that_would_go_on_with_the_hosts_name_is_refused(path):
    flow = a_flow("https://school.test/", headers=[("Host", "school.test")])
    flow.request.path = path
    Identify().requestheaders(flow)
    assert flow.response.status_code == 400


def test_an_origin_is_asked_without_an_absolute_form():
    flow = given("https://school.test/page", hosts=("school.test",), tunnel=True, authority="school.test")
    assert flow.request.data.authority == b""


def test_an_upstream_proxy_is_asked_with_one():
    flow = a_flow("http://School.test/page", headers=[("Host", "School.test")])
    flow.client_conn.proxy_mode = mode_specs.ProxyMode.parse("upstream:http://192.0.2.1:3128")
    flow.request.data.authority = b"School.test"
    Identify().requestheaders(flow)
    assert flow.request.data.authority == b"school.test"


@pytest.mark.parametrize(
    ("authority", "hosts"), [("school.test", ()), ("", ("school.test",)), ("school.test", ("school.test",))]
)
def test_http2_says_it_in_the_authority(authority, hosts):
    flow = given("https://school.test/", hosts=hosts, tunnel=True, authority=authority, version="HTTP/2.0")
    assert flow.request.data.authority == b"school.test"
    assert "host" not in flow.request.headers
