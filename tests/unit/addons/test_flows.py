"""addons.flows: what a flow is called, and what may be believed of it."""

import pytest
from mitmproxy.proxy import mode_specs

from addons.flows import (
    claimed_urls,
    header_list,
    is_navigation_of,
    make_response,
    mitm_headers,
    named_truly,
    page_of,
    point_at,
    url_of,
    write_page,
)
from addons.flowstate import AnsweredBy, state_of
from proxy.pages.render import RenderedPage
from tests.make import a_flow


@pytest.mark.parametrize(
    ("asked", "url"),
    [
        ("http://School.test/a?b=c", "http://school.test/a?b=c"),
        ("http://school.test:80/", "http://school.test/"),
        ("https://school.test:443/", "https://school.test/"),
        ("https://school.test:8443/", "https://school.test:8443/"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_a_flow_has_the_url_it_really_goes_to(asked, url):
    assert url_of(a_flow(asked)) == url


def test_a_forged_host_header_neither_names_the_flow_nor_is_believed():
    flow = a_flow("http://evil.test/page", headers=[("Host", "school.test")])
    assert url_of(flow) == "http://evil.test/page"
    assert not named_truly(flow)


@pytest.mark.parametrize("host", ["school.test", "SCHOOL.test", "school.test:80"])
def test_a_host_header_that_agrees_is_believed(host):
    assert named_truly(a_flow("http://school.test/", headers=[("Host", host)]))


def in_transparent_mode(sni):
    flow = a_flow("http://192.0.2.1/page", headers=[("Host", "school.test")])
    flow.client_conn.proxy_mode = mode_specs.ProxyMode.parse("transparent")
    flow.client_conn.sni = sni
    return flow


def test_in_transparent_mode_only_a_name_that_the_certificate_proves_is_believed():
    assert url_of(in_transparent_mode(sni=None)) == "http://school.test/page"
    assert not named_truly(in_transparent_mode(sni=None))
    assert not named_truly(in_transparent_mode(sni="other.test"))
    assert named_truly(in_transparent_mode(sni="school.test"))


def test_a_request_pointed_elsewhere_keeps_its_url_its_host_header_and_its_good_or_bad_name():
    flow = a_flow("https://school.test/page", headers=[("Host", "school.test")])
    point_at(flow, "127.0.0.1", 3128, "https://school.test/page")
    assert (flow.request.host, flow.request.port, flow.request.scheme) == ("127.0.0.1", 3128, "http")
    assert flow.request.headers["Host"] == "school.test"
    assert url_of(flow) == "https://school.test/page"
    assert named_truly(flow)

    forged = a_flow("http://evil.test/page", headers=[("Host", "school.test")])
    point_at(forged, "127.0.0.1", 3128, "http://evil.test/page")
    assert not named_truly(forged)


def test_header_lines_go_both_ways_unchanged():
    lines = (("Set-Cookie", "a=1"), ("Set-Cookie", "b=2, c"), ("X-Odd", "\xe9\xff"))
    assert header_list(mitm_headers(lines)) == lines


def test_a_304_of_ours_has_no_content_length():
    assert "content-length" not in make_response(status=304, headers=(("ETag", '"a"'),)).headers


def test_a_page_of_a_flow_is_the_bytes_as_they_were_sent():
    flow = a_flow(response=(200, [("Content-Encoding", "gzip")], b""))
    flow.response.raw_content = b"not really gzip"
    assert page_of(flow).body == b"not really gzip"


def test_a_page_of_ours_replaces_the_answer_but_for_the_headers_kept():
    flow = a_flow(response=(404, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Server", "x")], b"gone"))
    page = RenderedPage(status=404, headers=(("Content-Type", "text/html"),), body=b"mended")
    write_page(flow, page, by=AnsweredBy.REPAIR, keep=frozenset({"set-cookie"}), also=(("X-Also", "yes"),))
    assert flow.response.raw_content == b"mended"
    assert flow.response.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert "server" not in flow.response.headers
    assert flow.response.headers["content-length"] == "6"
    assert flow.response.headers["x-also"] == "yes"
    assert state_of(flow).answered_by is AnsweredBy.REPAIR


def test_a_head_request_gets_the_length_but_not_the_body():
    flow = a_flow(method="HEAD", response=(404, [], b""))
    write_page(flow, RenderedPage(status=404, headers=(), body=b"mended"), by=AnsweredBy.REPAIR)
    assert flow.response.raw_content == b""
    assert flow.response.headers["content-length"] == "6"


def in_tunnel(sni, host="school.test"):
    flow = a_flow("https://school.test/page", headers=[("Host", host)])
    flow.server_conn.address = ("school.test", 443)
    flow.client_conn.sni = sni
    return flow


def test_in_a_tunnel_the_name_in_the_greeting_and_the_host_have_to_be_the_tunnels():
    assert named_truly(in_tunnel("school.test"))
    assert named_truly(in_tunnel(None))
    assert not named_truly(in_tunnel("other.test"))
    assert not named_truly(in_tunnel("school.test", host="other.test"))
    assert not named_truly(in_tunnel("school.test", host="SCHOOL.test"))
    assert url_of(in_tunnel("other.test", host="other.test")) == "https://school.test/page"


def test_rules_hear_of_every_name_that_a_request_goes_by():
    assert set(claimed_urls(in_tunnel("hidden.test", host="other.test"))) == {
        "https://other.test/page",
        "https://hidden.test/page",
    }


def test_what_contradicts_itself_is_nobodys_visit():
    navigation = [("Accept", "text/html"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
    honest = a_flow("http://school.test/", headers=[("Host", "school.test"), *navigation])
    forged = a_flow("http://school.test/", headers=[("Host", "other.test"), *navigation])
    assert is_navigation_of(honest)
    assert not is_navigation_of(forged)
