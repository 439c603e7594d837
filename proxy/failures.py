"""Classifies failed fetches: from an error text or a parent's header to a kind of miss (pure).

mitmproxy 11 reports failures as text only, without exception or code. Only this module parses the texts of Python's
socket layer, OpenSSL and mitmproxy. An unknown text is `unreachable`: the user learns that the page could not be
fetched, which is always true.

Some texts quote what the site sent, with cookies that no script may read, or with words that would change the kind.
So everything from the first quotation mark on is ignored, and only the error number is ever passed on.
"""

import os
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import http_sf

from proxy.messages import Headers, values
from repair.model import MissKind

PARENT_DOWN = "parent"
"""The fault of a failure that is not the site's: the parent proxy could not be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed fetch: the kind of miss, the error type of RFC 9209 2.3, our status, and a text of our own.

    `fault` is the problem with the site's certificate, a key of `[fault]` in proxy/pages/locales, or `PARENT_DOWN`;
    else empty.
    """

    kind: MissKind
    error: str
    status: int
    detail: str = ""
    fault: str = ""


_BY_TEXT: tuple[tuple[re.Pattern[str], MissKind, str, int], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, error, status)
    for pattern, kind, error, status in (
        (r"refused HTTP CONNECT request: 508", MissKind.UNREACHABLE, "proxy_loop_detected", 508),
        (r"certificate", MissKind.TLS, "tls_certificate_error", 502),
        (r"\btls\b|\bssl\b|handshake", MissKind.TLS, "tls_protocol_error", 502),
        # getaddrinfo: EAI_AGAIN, EAI_FAIL, EAI_NODATA, EAI_NONAME, and idna's complaint about a host name
        (
            r"\[Errno -(2|3|4|5)\]|name or service|name resolution|no address|label",
            MissKind.UNREACHABLE,
            "dns_error",
            502,
        ),
        (r"\[Errno 111\]|refused", MissKind.UNREACHABLE, "connection_refused", 502),
        (r"\[Errno 110\]|timed out|timeout", MissKind.TIMEOUT, "connection_timeout", 504),
        (r"\[Errno (101|113)\]|unreachable|no route", MissKind.UNREACHABLE, "destination_ip_unroutable", 502),
        (r"closed|reset|eof|incomplete|terminated", MissKind.UNREACHABLE, "connection_terminated", 502),
        (
            r"invalid|malformed|protocol|header|cannot parse|unexpected",
            MissKind.UNREACHABLE,
            "http_protocol_error",
            502,
        ),
    )
)


_QUOTED = re.compile(r"['\"]")
_NUMBER = re.compile(r"\[Errno (-?[0-9]{1,4})\]")

# OpenSSL's texts (X509_verify_cert_error_string) in versions 1.1 and 3.
_FAULTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), fault)
    for pattern, fault in (
        (r"has expired", "expired"),
        (r"not yet valid", "early"),
        (r"hostname mismatch|ip address mismatch", "host"),
        (r"self[- ]signed certificate(?! in)", "self_signed"),
        (r"self[- ]signed certificate in|issuer certificate|verify the first certificate", "authority"),
        (r"revoked", "revoked"),
    )
)


def failure_of(
    message: str, *, timed_out: bool = False, via: Literal["parent", "tunnel"] | None = None
) -> Failure:
    """The failure behind an error text; `timed_out` if our own time limit ended the connection.

    `via` tells how the request went if not straight to the site: to a parent proxy, or through a tunnel of one.
    """
    failure = _failure_of(message, timed_out=timed_out)
    if via is not None and failure.error in _UNCONNECTED[via] and _TUNNEL_REFUSED not in message:
        return replace(failure, fault=PARENT_DOWN)
    return failure


# Failures to connect at all. Through a tunnel, a timeout may be the site's as well.
_UNCONNECTED = {
    "parent": frozenset(
        ("connection_refused", "connection_timeout", "destination_ip_unroutable", "dns_error")
    ),
    "tunnel": frozenset(("connection_refused", "destination_ip_unroutable", "dns_error")),
}
_TUNNEL_REFUSED = (
    "HTTP CONNECT"  # mitmproxy's words for a proxy that answers, and opens no tunnel to the site
)


def _failure_of(message: str, *, timed_out: bool) -> Failure:
    text = _QUOTED.split(message, maxsplit=1)[0][:300]
    detail = _detail(text)
    if timed_out:
        return Failure(kind=MissKind.TIMEOUT, error="http_response_timeout", status=504, detail=detail)
    for pattern, kind, error, status in _BY_TEXT:
        if pattern.search(text):
            fault = _fault(text) if error == "tls_certificate_error" else ""
            return Failure(kind=kind, error=error, status=status, detail=fault or detail, fault=fault)
    return Failure(kind=MissKind.UNREACHABLE, error="destination_unavailable", status=502, detail=detail)


def _detail(text: str) -> str:
    """The error number and its text; negative numbers, from name lookups, have no text."""
    found = _NUMBER.search(text)
    if found is None:
        return ""
    number = int(found[1])
    return f"[Errno {number}] {os.strerror(number)}" if number > 0 else f"[Errno {number}]"


def _fault(detail: str) -> str:
    return next((fault for pattern, fault in _FAULTS if pattern.search(detail)), "")


_SQUID_ERRORS: dict[str, tuple[MissKind, str]] = {
    "ERR_ONLY_IF_CACHED_MISS": (MissKind.OFFLINE, "destination_unavailable"),
    "ERR_CONNECT_FAIL": (MissKind.UNREACHABLE, "connection_refused"),
    "ERR_DNS_FAIL": (MissKind.UNREACHABLE, "dns_error"),
    "ERR_READ_ERROR": (MissKind.UNREACHABLE, "destination_unavailable"),
    "ERR_WRITE_ERROR": (MissKind.UNREACHABLE, "connection_terminated"),
    "ERR_ZERO_SIZE_OBJECT": (MissKind.UNREACHABLE, "connection_terminated"),
    "ERR_INVALID_RESP": (MissKind.UNREACHABLE, "http_protocol_error"),
    "ERR_CANNOT_FORWARD": (MissKind.UNREACHABLE, "destination_unavailable"),
    "ERR_READ_TIMEOUT": (MissKind.TIMEOUT, "http_response_timeout"),
    "ERR_LIFETIME_EXP": (MissKind.TIMEOUT, "http_response_timeout"),
    "ERR_GATEWAY_FAILURE": (MissKind.UNREACHABLE, "destination_unavailable"),
    "ERR_SECURE_CONNECT_FAIL": (MissKind.TLS, "tls_certificate_error"),
}


def parent_failure(status: int, headers: Headers) -> Failure | None:
    """The failure that the parent reports, or None when the origin answered or the parent refused by policy.

    Call it only with responses from the configured parent: any site can send these headers. ERR_ACCESS_DENIED and
    similar errors are an admin's decision, not a miss, and give None.
    """
    if "HTTP/0.9" in values(headers, "x-transformed-from"):
        # Squid takes a response that it cannot parse for HTTP/0.9 and turns it into a 200.
        return Failure(
            kind=MissKind.UNREACHABLE, error="http_protocol_error", status=502, detail="not an HTTP response"
        )
    marks = values(headers, "x-squid-error")
    if not marks or status < 500:
        return None
    name = marks[-1].split(" ", 1)[0]
    found = _SQUID_ERRORS.get(name)
    if found is None:
        return None
    # 110 is ETIMEDOUT.
    if name == "ERR_CONNECT_FAIL" and marks[-1].endswith(" 110"):
        found = (MissKind.TIMEOUT, "connection_timeout")
    kind, error = found
    return Failure(kind=kind, error=error, status=504 if kind is MissKind.TIMEOUT else status, detail=name)


def proxy_status(failure: Failure) -> str:
    """The failure as a Proxy-Status field value (RFC 9209)."""
    details = "".join(char for char in failure.detail if " " <= char <= "~")
    parameters: dict[str, Any] = {"error": http_sf.Token(failure.error)}
    if details:
        parameters["details"] = details
    member: Any = (http_sf.Token("linkmend"), parameters)
    return str(http_sf.ser([member]))
