"""Whether somebody signs in for a whole connection: later requests on it are theirs, and nothing in them says so.

NTLM and Negotiate (RFC 4559) do so. Which schemes sign each request by itself is known, so any other scheme is taken
for one that signs a connection.
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
_CREDENTIALS = ("authorization", "proxy-authorization")
_CHALLENGES = ("www-authenticate", "proxy-authenticate")
# What servers and proxies say only of connections that are signed in for (RFC 4559 6, MS-N2HT, IIS).
_SAID_OF_CONNECTIONS = frozenset({"persistent-auth", "proxy-support", "session-based-authentication"})
_LONGEST = 4096
_SCHEME = re.compile(r"([!#$%&'*+\-.^_`|~0-9a-zA-Z]+)(?:[ \t]+(?!=)|$)")


def signs_in_connection(request_headers: Headers) -> bool:
    """Whether a request carries credentials that may hold for the connection it came on."""
    return any(
        value.strip(" \t").partition(" ")[0].lower() not in _EACH_REQUEST
        for name in _CREDENTIALS
        for value in values(request_headers, name)
    )


def challenges_connection(response_headers: Headers) -> bool:
    """Whether an answer asks for such credentials, or tells of them."""
    if has_any(response_headers, _SAID_OF_CONNECTIONS):
        return True
    return any(
        scheme not in _EACH_REQUEST
        for name in _CHALLENGES
        for value in values(response_headers, name)
        for scheme in _schemes(value)
    )


def _schemes(challenges: str) -> list[str]:
    """The schemes of a list of challenges (RFC 9110 11.6.1), whose parameters are separated by commas as well.

    One that is too long to be honest counts as an unknown scheme.
    """
    if len(challenges) > _LONGEST:
        return [""]
    found = (_SCHEME.match(part) for part in split_list(challenges))
    return [scheme[1].lower() for scheme in found if scheme]
