"""proxy.failures: error texts and a parent's marks, put into kinds of miss."""

import http_sf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.failures import Failure, failure_of, parent_failure, proxy_status
from repair.model import MissKind


@pytest.mark.parametrize(
    ("message", "kind", "error"),
    [
        ("[Errno -2] Name or service not known", MissKind.UNREACHABLE, "dns_error"),
        ("[Errno -3] Temporary failure in name resolution", MissKind.UNREACHABLE, "dns_error"),
        ("[Errno 111] Connect call failed ('127.0.0.1', 1)", MissKind.UNREACHABLE, "connection_refused"),
        (
            "[Errno 113] Connect call failed ('10.0.0.9', 80)",
            MissKind.UNREACHABLE,
            "destination_ip_unroutable",
        ),
        ("[Errno 101] Network is unreachable", MissKind.UNREACHABLE, "destination_ip_unroutable"),
        ("[Errno 110] Connect call failed ('10.0.0.9', 80)", MissKind.TIMEOUT, "connection_timeout"),
        ("timed out", MissKind.TIMEOUT, "connection_timeout"),
        ("Certificate verify failed: self-signed certificate", MissKind.TLS, "tls_certificate_error"),
        ("The remote server does not speak TLS.", MissKind.TLS, "tls_protocol_error"),
        ("server closed connection", MissKind.UNREACHABLE, "connection_terminated"),
        ("HTTP/1 protocol error: Invalid header", MissKind.UNREACHABLE, "http_protocol_error"),
        (
            "Cannot parse HTTP response: Bad HTTP response line: b'x'",
            MissKind.UNREACHABLE,
            "http_protocol_error",
        ),
        ("unexpected server response: b'HTTP/1.1 200 OK'", MissKind.UNREACHABLE, "http_protocol_error"),
        ("something never met before", MissKind.UNREACHABLE, "destination_unavailable"),
    ],
)
def test_an_error_text_is_put_into_its_kind(message, kind, error):
    failure = failure_of(message)
    assert (failure.kind, failure.error) == (kind, error)


def test_a_connection_we_ended_ourselves_is_a_timeout_whatever_its_text():
    assert failure_of("server closed connection", timed_out=True).kind is MissKind.TIMEOUT


@pytest.mark.parametrize(
    ("status", "mark", "kind"),
    [
        (504, "ERR_ONLY_IF_CACHED_MISS 0", MissKind.OFFLINE),
        (503, "ERR_CONNECT_FAIL 111", MissKind.UNREACHABLE),
        (503, "ERR_CONNECT_FAIL 110", MissKind.TIMEOUT),
        (502, "ERR_READ_ERROR 0", MissKind.UNREACHABLE),
        (503, "ERR_DNS_FAIL 0", MissKind.UNREACHABLE),
        (504, "ERR_READ_TIMEOUT 0", MissKind.TIMEOUT),
        (503, "ERR_SECURE_CONNECT_FAIL 0", MissKind.TLS),
    ],
)
def test_a_parents_mark_says_what_it_could_not_do(status, mark, kind):
    failure = parent_failure(status, (("X-Squid-Error", mark),))
    assert failure is not None
    assert failure.kind is kind


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, ()),
        (503, ()),
        (403, (("X-Squid-Error", "ERR_ACCESS_DENIED 0"),)),
        (503, (("X-Squid-Error", "ERR_SOMETHING_NEW 0"),)),
        (200, (("X-Squid-Error", "ERR_DNS_FAIL 0"),)),
    ],
)
def test_an_origins_own_error_and_an_admins_refusal_are_no_failure_of_the_parent(status, headers):
    assert parent_failure(status, headers) is None


@given(st.text())
def test_any_error_text_makes_a_proxy_status_that_others_can_read(message):
    name, parameters = http_sf.parse(proxy_status(failure_of(message)).encode(), tltype="list")[0]
    assert str(name) == "linkmend"
    assert "error" in parameters


@pytest.mark.parametrize("quote", ["'", '"'])
def test_what_a_site_sent_is_neither_passed_on_nor_read(quote):
    text = f"unexpected server response: b{quote}Set-Cookie: sid=SECRET certificate [Errno -3]{quote}"
    failure = failure_of(text)
    assert (failure.kind, failure.detail) == (MissKind.UNREACHABLE, "")
    assert proxy_status(failure) == "linkmend;error=http_protocol_error"


def test_the_words_for_an_error_are_the_systems():
    assert failure_of("[Errno 111] sid=SECRET").detail == "[Errno 111] Connection refused"
    assert failure_of("[Errno -3] Temporary failure in name resolution").detail == "[Errno -3]"


@given(st.text())
def test_no_part_of_an_unknown_text_is_passed_on(message):
    assert failure_of(f"SECRET{message}").detail.count("SECRET") == 0


def test_a_failure_without_details_says_only_its_error():
    failure = Failure(kind=MissKind.TIMEOUT, error="connection_timeout", status=504)
    assert proxy_status(failure) == "linkmend;error=connection_timeout"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("certificate has expired", "expired"),
        ("certificate is not yet valid", "early"),
        ("hostname mismatch", "host"),
        ("Hostname mismatch", "host"),
        ("IP address mismatch", "host"),
        ("self-signed certificate", "self_signed"),
        ("self signed certificate", "self_signed"),
        ("self-signed certificate in certificate chain", "authority"),
        ("unable to get local issuer certificate", "authority"),
        ("unable to verify the first certificate", "authority"),
        ("certificate revoked", "revoked"),
        ("unsuitable certificate purpose", ""),
    ],
)
def test_what_is_wrong_with_a_certificate_is_named(words, fault):
    assert failure_of(f"Certificate verify failed: {words}").fault == fault


def test_only_certificates_have_such_faults():
    assert failure_of("the session has expired: connection refused").fault == ""
