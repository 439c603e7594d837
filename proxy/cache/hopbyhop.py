"""Which header fields belong to one connection only and must not be stored (RFC 9110 7.6.1, RFC 9111 3.1)."""

from proxy.cache.directives import response_directives
from proxy.cache.entry import Headers
from proxy.cache.fields import members

_CONNECTION_FIELDS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# What caches nearer to the origin said of an earlier exchange says nothing of a later hit.
_OF_THE_MOMENT = frozenset({"cache-status", "proxy-status", "x-cache", "x-cache-lookup", "set-cookie"})


def stored_fields(headers: Headers) -> Headers:
    """The fields of a response that may be stored: neither hop by hop, nor listed in Connection or `no-cache=`."""
    dropped = (
        _CONNECTION_FIELDS
        | _OF_THE_MOMENT
        | {name.lower() for name in members(headers, "connection")}
        | response_directives(headers).field_names("no-cache")
    )
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)
