"""proxy.cache.connectionbound: who signs in for a connection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.connectionbound import challenges_connection, signs_in_connection


@pytest.mark.parametrize(
    "value", ["Basic YTpi", "bearer abc", "Digest a=b, c=d", "Token x", "AWS4-HMAC-SHA256 C=1"]
)
def test_who_signs_each_request_does_not_sign_in_the_connection(value):
    assert not signs_in_connection((("Authorization", value),))
    assert not challenges_connection((("WWW-Authenticate", value),))


@pytest.mark.parametrize(
    "value", ["NTLM TlRM", "Negotiate YII=", "negotiate", "Kerberos x", "Custom x", "", "\tNTLM a"]
)
@pytest.mark.parametrize("name", ["Authorization", "proxy-authorization"])
def test_whatever_else_does(name, value):
    assert signs_in_connection((("Authorization", "Basic YTpi"), (name, value)))


@pytest.mark.parametrize(
    "value",
    [
        *("NTLM", "Negotiate oYGB==", "Negotiate, Basic realm=x", 'Basic realm="a, b", NTLM', "Custom"),
        *("Digest realm=a, nonce=b, Kerberos", "x" * 5000),
    ],
)
def test_a_challenge_is_found_among_others(value):
    assert challenges_connection((("WWW-Authenticate", value),))
    assert challenges_connection((("WWW-Authenticate", "Basic"), ("Proxy-Authenticate", value)))


@pytest.mark.parametrize(
    "value",
    [
        'Basic realm="NTLM, Negotiate"',
        'Digest realm="x", qop="auth, auth-int", NTLM=1',
        "Bearer",
        "Basic realm = a",
    ],
)
def test_a_word_in_a_parameter_is_no_scheme(value):
    assert not challenges_connection((("WWW-Authenticate", value),))


def test_what_is_said_of_a_connection_tells_of_it():
    assert challenges_connection((("Persistent-Auth", "false"),))
    assert not challenges_connection((("Content-Type", "text/html"),))
    assert not signs_in_connection((("Cookie", "NTLM=1"),))


@given(st.text(max_size=200))
def test_nothing_that_is_sent_breaks_it(value):
    signs_in_connection((("Authorization", value),))
    challenges_connection((("WWW-Authenticate", value),))
