"""addons.mitm.fasterheaders: the same answers as mitmproxy's own."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mitmproxy import http, options
from mitmproxy.connection import Client
from mitmproxy.coretypes import multidict
from mitmproxy.http import Headers
from mitmproxy.proxy.context import Context

from addons.mitm import fasterheaders

NAMES = st.sampled_from([b"Host", b"host", b"X-A", b"x-a", b"X-\xff", b""]) | st.binary(max_size=4)
FIELDS = st.lists(st.tuples(NAMES, st.binary(max_size=6)), max_size=6)
LINES = st.builds(
    lambda method, target, version, at, junk: (
        (line := b" ".join((method, target, version)))[: at % len(line)] + junk + line[at % len(line) :]
    ),
    st.sampled_from([b"GET", b"POST", b"CONNECT", b"get"]),
    st.sampled_from(
        [
            b"http://school.test/a?b=c",
            b"http://school.test:8080/",
            b"http://school.test:99999/",
            b"http://xn--bcher-kva.test/",
            b"http://-a..b/",
            b"http://1.2.3.4/[",
            b"https://school.test/",
            b"/a",
            b"*",
        ]
    ),
    st.sampled_from([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0"]),
    st.integers(0, 60),
    st.binary(max_size=2),
)


@given(fields=FIELDS, name=NAMES | st.text(max_size=4))
def test_fields_are_found_as_before(fields, name):
    headers = Headers(fields)
    key = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
    own = [value.decode("utf-8", "surrogateescape") for value in multidict._MultiDict.get_all(headers, key)]
    assert fasterheaders.get_all(headers, name) == own
    assert fasterheaders.get(headers, name, "none") == (", ".join(own) if own else "none")
    assert fasterheaders.contains(headers, name) is bool(own)


@given(fields=FIELDS, others=FIELDS, name=NAMES)
def test_fields_that_were_changed_are_looked_up_anew(fields, others, name):
    headers = Headers(fields)
    fasterheaders.get_all(headers, name)
    headers.fields = tuple(others)
    assert fasterheaders.get_all(headers, name) == fasterheaders.get_all(Headers(others), name)


FRAMED = st.lists(
    st.tuples(
        st.sampled_from(
            [b"Host", b"Content-Length", b"content-length", b"Transfer-Encoding", b"X Y", b"a\n"]
        ),
        st.sampled_from([b"0", b"12", b"012", b"+1", b"", b"1, 1", b"chunked", b"gzip", b"9" * 40]),
    ),
    max_size=4,
)


@given(fields=FRAMED, version=st.sampled_from(["HTTP/1.0", "HTTP/1.1"]), asks=st.booleans())
def test_messages_are_found_valid_or_not_as_before(fields, version, asks):
    message = http.Request.make("GET", "http://school.test/") if asks else http.Response.make(200)
    message.headers, message.http_version = Headers(fields), version
    assert _told(fasterheaders.validate_headers, message) == _told(fasterheaders._validate_headers, message)


@given(
    asked=FRAMED,
    told=FRAMED,
    method=st.sampled_from([b"GET", b"HEAD", b"POST", b"CONNECT", b"PUT"]),
    status=st.sampled_from([None, 101, 200, 204, 206, 304, 404]),
)
@example([], [(b"Content-Length", b"12"), (b"Transfer-Encoding", b"chunked")], b"GET", 200)
@example([], [(b"Content-Length", b"12"), (b"Content-Length", b"13")], b"GET", 200)
@example([], [(b"Content-Length", b"+12")], b"GET", 200)
@example([(b"Transfer-Encoding", b"chunked")], [], b"GET", None)
def test_bodies_are_measured_as_before(asked, told, method, status):
    request, response = http.Request.make("GET", "http://school.test/"), None
    request.data.method, request.headers = method, Headers(asked)
    if status is not None:
        response = http.Response.make(status)
        response.headers = Headers(told)
    both = (fasterheaders.expected_body_size, fasterheaders._expected_body_size)
    assert len({_told(lambda _, measure=each: measure(request, response), None) for each in both}) == 1


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1", b"HTTP/1.1", "HTTP/2.0"])
@pytest.mark.parametrize("options", [(), (b"close",), (b"keep-alive",), (b"x", b"Close"), (b"",)])
def test_connections_end_as_before(version, options):
    headers = Headers([(b"Connection", option) for option in options])
    assert fasterheaders.connection_close(version, headers) is fasterheaders._connection_close(
        version, headers
    )


def test_an_option_that_could_be_changed_is_given_as_a_copy():
    own = options.Options(listen_port=None, mode=["regular"])
    known = own._options["mode"]
    assert fasterheaders.current_value(known) == ["regular"]
    assert fasterheaders.current_value(known) is not fasterheaders.current_value(known)
    assert fasterheaders.current_value(own._options["ssl_insecure"]) is False


def test_a_context_is_copied_with_layers_of_its_own():
    context = Context(Client(peername=("", 0), sockname=("", 0)), options.Options())
    context.layers.append("layer")
    made = fasterheaders.fork(context)
    assert vars(made) == vars(fasterheaders._fork(context))
    made.layers.append("another")
    assert context.layers == ["layer"]


def _told(read, line):
    try:
        return read(line)
    except ValueError as error:
        return str(error)


@given(line=LINES)
def test_request_lines_are_read_as_before(line):
    assert _told(fasterheaders.read_request_line, line) == _told(fasterheaders._read_request_line, line)


@pytest.mark.parametrize("host", [b"school.test", b"school.test:8080", b"1.2.3.4", b"-a", b"a..b"])
def test_a_host_is_read_the_same_the_second_time(host):
    line = b"GET http://%s/a HTTP/1.1" % host
    for _ in range(2):
        assert _told(fasterheaders.read_request_line, line) == _told(fasterheaders._read_request_line, line)


@pytest.mark.parametrize("authority", [b"xn--strae-oqa.test:443", "XN--mnchen-3ya.test", b"a.xn--p1ai."])
def test_an_international_name_stays_as_it_is_written(authority):
    text = authority.decode() if isinstance(authority, bytes) else authority
    host, _, port = text.partition(":")
    assert fasterheaders.parse_authority(authority, check=True) == (host, int(port) if port else None)


@pytest.mark.parametrize("authority", [b"xn--a@b.test", b"xn--mnchen-3ya.test:99999", b"xn--a..test"])
def test_what_is_no_host_is_none_with_an_international_part_either(authority):
    with pytest.raises(ValueError):  # noqa: PT011  (mitmproxy's, of many words or none)
        fasterheaders.parse_authority(authority, check=True)
