"""addons.connections: what is nobody else's because of the connection it is on."""

import pytest

from addons.connections import PersonalConnections, is_personal_connection, is_unshared
from addons.mitm import install
from tests.make import a_flow


@pytest.fixture(autouse=True, scope="module")
def installed():
    install()


def asked(*headers, method="GET", said=()):
    flow = a_flow(method=method, headers=[("Host", "school.test"), *headers], response=(200, said, b"page"))
    hooks = PersonalConnections()
    hooks.requestheaders(flow)
    hooks.responseheaders(flow)
    return flow


def names(message):
    return {name.lower() for name in message.headers}


def test_a_plain_exchange_is_everybodys():
    flow = asked(
        ("Connection", "keep-alive"), said=[("Connection", "Keep-Alive"), ("Keep-Alive", "timeout=5")]
    )
    assert not is_unshared(flow)
    assert "keep-alive" not in names(flow.response)


def test_who_signs_in_for_a_connection_shares_nothing_on_it():
    assert is_personal_connection(asked(("Authorization", "NTLM abc")))
    assert is_personal_connection(asked(said=[("WWW-Authenticate", "Negotiate")]))
    assert not is_personal_connection(asked(("Authorization", "Basic YTpi")))


def test_an_odd_request_is_nobody_elses():
    assert is_unshared(asked(method="get"))
    assert is_unshared(asked(("Content-Length", "3")))


def test_what_is_named_in_connection_is_gone_before_anybody_decides_by_it():
    flow = asked(("Connection", "X-A, Cookie"), ("X-A", "1"), ("Cookie", "a=b"))
    assert is_unshared(flow)
    assert "x-a" not in names(flow.request)
    assert "cookie" in names(flow.request)


@pytest.mark.parametrize(
    "said",
    [
        [("Connection", "close"), ("Connection", "keep-alive"), ("Keep-Alive", "timeout=5")],
        [("Connection", "keep-alive, X-A"), ("X-A", "1"), ("Proxy-Authenticate", "Basic")],
    ],
)
def test_the_origins_own_fields_go_no_further(said):
    flow = asked(said=said)
    assert not names(flow.response) & {"x-a", "keep-alive", "proxy-authenticate"}
    assert len(flow.response.headers.get_all("connection")) == 1


def test_a_protocol_that_nobody_asked_for_is_refused():
    flow = a_flow(response=(101, [("Connection", "Upgrade"), ("Upgrade", "h2c")], b""))
    PersonalConnections().responseheaders(flow)
    assert flow.response.status_code == 502
