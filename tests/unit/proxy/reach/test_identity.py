"""proxy.reach.identity: one name for a request, and what contradicts it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.reach.identity import (
    RequestIdentity,
    find_fault,
    identify,
    name_to_verify,
    normal_host,
    read_authority,
    write_authority,
)


def at_school(**known):
    return identify(**{"scheme": "https", "host": "School.test", "port": 443, **known})


def test_an_identity_is_written_in_one_way():
    assert at_school() == RequestIdentity(scheme="https", host="school.test", port=443)
    assert at_school().base == "https://school.test"
    assert at_school(port=8443).authority == "school.test:8443"
    assert at_school(host="[::0:1]", port=80).base == "https://[::1]:80"
    assert at_school(host="münchen.test").base == "https://xn--mnchen-3ya.test"


@pytest.mark.parametrize("claim", ["school.test", "SCHOOL.test", "school.test:443"])
def test_another_spelling_agrees_unless_it_is_passed_on_as_it_is(claim):
    assert at_school(claims=(claim,)).is_certain
    assert at_school(claims=(claim,), to_the_letter=True).is_certain is (claim == "school.test")


@pytest.mark.parametrize(
    "claim",
    [
        *("other.test", "school.test.", "school.test:80", "anna@school.test", "school.test,other.test"),
        *("[school.test]", "school.test:", "school.test:x", "school.test:4 43", "ſchool.test", ""),
    ],
)
def test_a_claim_of_another_site_or_none_contradicts(claim):
    assert at_school(claims=("school.test", claim)).contradicted
    assert not at_school(claims=("school.test", claim)).is_certain


@pytest.mark.parametrize("sni", ["school.test", "SCHOOL.TEST", "school.test."])
def test_a_tls_name_agrees_whatever_its_case_and_last_dot(sni):
    assert at_school(sni=sni).is_certain
    assert at_school(host="school.test.", sni=sni).is_certain


@pytest.mark.parametrize("sni", ["other.test", "www.school.test", "192.0.2.1", ""])
def test_another_tls_name_contradicts(sni):
    assert at_school(sni=sni).contradicted


def test_a_name_without_proof_is_not_certain():
    assert not at_school(vouched=False).is_certain


def test_a_certificate_is_verified_for_the_host_of_the_tunnel():
    assert name_to_verify("school.test", "other.test") == "school.test"
    assert name_to_verify("school.test.", None) == "school.test"
    assert name_to_verify("192.0.2.1", "school.test") == "school.test"
    assert name_to_verify("192.0.2.1", None) is None


@pytest.mark.parametrize(
    "hosts",
    [
        ("a", "a"),
        ("a", "b"),
        ("a b",),
        ("a\tb",),
        ("a@b",),
        ("a,b",),
        ("a/b",),
        ("a\r\n b",),
        ("a\x00",),
        ("a?",),
    ],
)
def test_host_fields_that_no_server_should_be_shown_are_faulty(hosts):
    assert find_fault(hosts)


@pytest.mark.parametrize("hosts", [(), ("",), ("school.test:80",), ("[::1]:8080",), ("a_b.test",)])
def test_other_host_fields_are_not(hosts):
    assert not find_fault(hosts)


@given(st.text(max_size=60))
def test_any_text_is_an_authority_or_is_not(text):
    found = read_authority(text)
    assert found is None or (
        found[0] == normal_host(found[0]) and (found[1] is None or 0 <= found[1] <= 99999)
    )


@given(
    st.from_regex(r"[a-z0-9._-]{1,30}", fullmatch=True),
    st.integers(1, 65535),
    st.sampled_from(["http", "https"]),
)
def test_a_written_authority_is_read_as_the_same(host, port, scheme):
    assert identify(
        scheme=scheme, host=host, port=port, claims=(write_authority(scheme, host, port),)
    ).is_certain
