"""proxy.headers.connectionauth: who signs in for a connection."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.headers.connectionauth import challenges_connection, signs_in_connection

refused = partial(challenges_connection, 401, from_proxy=False)
told = partial(challenges_connection, 200, from_proxy=False)


@pytest.mark.parametrize(
    "value", ["Basic YTpi", "bearer abc", "Digest a=b, c=d", "Token x", "AWS4-HMAC-SHA256 C=1"]
)
def test_schemes_for_each_request_do_not_authenticate_the_connection(value):
    assert not signs_in_connection((("Authorization", value),))
    assert not refused((("WWW-Authenticate", value),))


@pytest.mark.parametrize(
    "value", ["NTLM TlRM", "Negotiate YII=", "negotiate", "Kerberos x", "Custom x", "", "\tNTLM a", "ntlm\tb"]
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
    assert refused((("WWW-Authenticate", value),))
    both = (("WWW-Authenticate", "Basic"), ("Proxy-Authenticate", value))
    assert challenges_connection(407, both, from_proxy=True)
    assert not challenges_connection(200, both, from_proxy=False), "an origin is no proxy"


@pytest.mark.parametrize("value", ["NTLM", "Negotiate oYGB==", "x" * 5000])
def test_of_a_page_that_is_shown_only_known_schemes_tell(value):
    assert told((("WWW-Authenticate", value),))
    assert not told((("WWW-Authenticate", "Custom"),))


def test_a_scheme_without_credentials_does_not_authenticate():
    assert not signs_in_connection((("Authorization", "Custom"),))


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
    assert not refused((("WWW-Authenticate", value),))


def test_fields_about_connection_authentication_are_recognised():
    assert told((("Persistent-Auth", "false"),))
    assert not refused((("Content-Type", "text/html"),))
    assert not signs_in_connection((("Cookie", "NTLM=1"),))


@given(st.text(max_size=200))
def test_nothing_that_is_sent_breaks_it(value):
    signs_in_connection((("Authorization", value),))
    refused((("WWW-Authenticate", value),))
