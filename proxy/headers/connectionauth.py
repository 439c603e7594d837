"""Whether somebody signs in for a whole connection: later requests on it are theirs, and nothing in them says so.

NTLM and Negotiate (RFC 4559) do so. Which schemes sign each request by itself is known, so any other scheme is taken
for one that signs a connection, if credentials come with it, or if an answer refuses the page without them. A proxy's
challenge counts only from a proxy: of an origin it means nothing, and is not passed on.
"""

import re

from proxy.cache.entry import Headers, values
from proxy.cache.fields import has_any, split_list

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
"""The empty one stands for what cannot be read."""
_CREDENTIALS = ("authorization", "proxy-authorization")
_REFUSING = frozenset({401, 407})
# What servers and proxies say only of connections that are signed in for (RFC 4559 6, MS-N2HT, IIS).
_SAID_OF_CONNECTIONS = frozenset({"persistent-auth", "proxy-support", "session-based-authentication"})
_LONGEST = 4096
_SCHEME = re.compile(r"([!#$%&'*+\-.^_`|~0-9a-zA-Z]+)(?:[ \t]+(?!=)|$)")


def signs_in_connection(request_headers: Headers) -> bool:
    """Whether a request carries credentials that may hold for the connection it came on."""
    return any(
        _may_sign_in(*value.replace("\t", " ").strip(" ").partition(" ")[::2])
        for name in _CREDENTIALS
        for value in values(request_headers, name)
    )


def _may_sign_in(scheme: str, credentials: str) -> bool:
    known = scheme.lower()
    return known in _WHOLE_CONNECTION or (known not in _EACH_REQUEST and bool(credentials.strip(" ")))


def challenges_connection(status: int, response_headers: Headers, *, from_proxy: bool) -> bool:
    """Whether an answer asks for such credentials, or tells of them."""
    if has_any(response_headers, _SAID_OF_CONNECTIONS):
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

    One that is too long to be honest counts as an unknown scheme.
    """
    if len(challenges) > _LONGEST:
        return [""]
    found = (_SCHEME.match(part) for part in split_list(challenges))
    return [scheme[1].lower() for scheme in found if scheme]
