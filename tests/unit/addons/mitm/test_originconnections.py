"""addons.mitm.originconnections: how methods and request lines are read; the rest, real programs show."""

import pytest
from mitmproxy import http
from mitmproxy.net.http.http1 import read

from addons.mitm import install


@pytest.fixture(autouse=True, scope="module")
def installed():
    install()


def a_request(method):
    request = http.Request.make("GET", "http://school.test/")
    request.data.method = method
    return request


def test_methods_are_case_sensitive():
    assert a_request(b"hEaD").method == "hEaD"
    response = http.Response.make(200, b"abc")
    assert read.expected_http_body_size(a_request(b"hEaD"), response) == 3
    assert read.expected_http_body_size(a_request(b"HEAD"), response) == 0


@pytest.mark.parametrize(
    "line",
    [b"cOnNeCt /a HTTP/1.1", b"G(T / HTTP/1.1", b"", b"GET / HTTP/2.0", b"GET / HTTP/1.9", b"PRI * HTTP/2.0"],
)
def test_a_line_that_is_read_in_several_ways_is_refused(line):
    with pytest.raises(ValueError, match="Bad HTTP request line"):
        read._read_request_line(line)
