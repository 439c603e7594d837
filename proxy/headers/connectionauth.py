"""Detects authentication of a whole connection: later requests on it are that user's, without credentials.

NTLM and Negotiate (RFC 4559) work so. The schemes that authenticate each request are known. Any other scheme counts
as one for connections if it comes with credentials, or if a response demands it. A proxy challenge counts only from a
proxy: from an origin it means nothing and is not forwarded.
"""

import re

from proxy.headers.fields import has_any, split_list
from proxy.messages import Headers, values

_EACH_REQUEST = frozenset(
    (
        # The registry of RFC 9110 16.4.1, without Negotiate.
        *(
            "basic",
            "bearer",
            "concealed",
            "digest",
            "dpop",
            "gnap",
            "hoba",
            "mutual",
            "oauth",
            "privatetoken",
        ),
        *("scram-sha-1", "scram-sha-256", "vapid"),
        # Of well-known services.
        *("apikey", "aws", "aws4-hmac-sha256", "googlelogin", "hawk", "hmac-sha256", "key", "sharedkey"),
        *("sapisidhash", "signature", "token", "x-api-key"),
    )
)
_WHOLE_CONNECTION = frozenset({"", "kerberos", "negotiate", "nego2", "ntlm"})
"""The empty one is for unreadable values."""
_CREDENTIALS = ("authorization", "proxy-authorization")
_REFUSING = frozenset({401, 407})
# Servers and proxies send these only on authenticated connections (RFC 4559 6, MS-N2HT, IIS).
_CONNECTION_AUTH_FIELDS = frozenset({"persistent-auth", "proxy-support", "session-based-authentication"})
_LONGEST = 4096
_SCHEME = re.compile(r"([!#$%&'*+\-.^_`|~0-9a-zA-Z]+)(?:[ \t]+(?!=)|$)")


def signs_in_connection(request_headers: Headers) -> bool:
    """Whether a request carries credentials that may authenticate its whole connection."""
    return any(
        _may_sign_in(*value.replace("\t", " ").strip(" ").partition(" ")[::2])
        for name in _CREDENTIALS
        for value in values(request_headers, name)
    )


def _may_sign_in(scheme: str, credentials: str) -> bool:
    known = scheme.lower()
    return known in _WHOLE_CONNECTION or (known not in _EACH_REQUEST and bool(credentials.strip(" ")))


def challenges_connection(status: int, response_headers: Headers, *, from_proxy: bool) -> bool:
    """Whether a response asks for such credentials, or confirms them."""
    if has_any(response_headers, _CONNECTION_AUTH_FIELDS):
        return True
    names = ("www-authenticate", "proxy-authenticate") if from_proxy else ("www-authenticate",)
    schemes = {
        scheme for name in names for value in values(response_headers, name) for scheme in _schemes(value)
    }
    if status in _REFUSING:
        return not schemes <= _EACH_REQUEST
    return not schemes.isdisjoint(_WHOLE_CONNECTION)


def _schemes(challenges: str) -> list[str]:
    """The schemes of a list of challenges (RFC 9110 11.6.1), whose parameters are separated by commas as well.

    An overlong list counts as an unknown scheme.
    """
    if len(challenges) > _LONGEST:
        return [""]
    found = (_SCHEME.match(part) for part in split_list(challenges))
    return [scheme[1].lower() for scheme in found if scheme]
