"""addons.internals.shortcuts: the same answers as mitmproxy's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.coretypes import multidict
from mitmproxy.http import Headers

from addons.internals import shortcuts

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
    assert shortcuts.get_all(headers, name) == own
    assert shortcuts.get(headers, name, "none") == (", ".join(own) if own else "none")
    assert shortcuts.contains(headers, name) is bool(own)


def _told(read, line):
    try:
        return read(line)
    except ValueError as error:
        return str(error)


@given(line=LINES)
def test_request_lines_are_read_as_before(line):
    assert _told(shortcuts.read_request_line, line) == _told(shortcuts._read_request_line, line)


@pytest.mark.parametrize("host", [b"school.test", b"school.test:8080", b"1.2.3.4", b"-a", b"a..b"])
def test_a_host_is_read_the_same_the_second_time(host):
    line = b"GET http://%s/a HTTP/1.1" % host
    for _ in range(2):
        assert _told(shortcuts.read_request_line, line) == _told(shortcuts._read_request_line, line)
