"""Which stored responses an unsafe request invalidates (RFC 9111 4.4)."""

from urllib.parse import urljoin, urlsplit

from proxy.messages import CacheRequest, Headers, values

SAFE_METHODS = frozenset(
    {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY", "PROPFIND", "REPORT", "SEARCH"}
)
"""Safe methods; any other method, known or not, counts as one that changes its target."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


def invalidated_urls(request: CacheRequest, status: int, headers: Headers) -> tuple[str, ...]:
    """The URLs whose stored responses are invalid after this exchange.

    Location and Content-Location count only within the origin: no site may invalidate another site's responses.
    """
    if request.method in SAFE_METHODS or not 200 <= status < 400:
        return ()
    named = (_resolve(request.url, value) for value in _locations(headers, "location", "content-location"))
    origin = _origin(request.url)
    others = [url for url in named if url and origin and _origin(url) == origin]
    return tuple(dict.fromkeys((request.url, *others)))


def names_itself(url: str, headers: Headers) -> bool:
    """Whether Content-Location says that a GET of the same URL would give this response."""
    return any(_resolve(url, value) == url for value in _locations(headers, "content-location"))


def _locations(headers: Headers, *names: str) -> list[str]:
    return [value for name in names for value in values(headers, name)]


def _resolve(base: str, reference: str) -> str | None:
    try:
        return urljoin(base, reference.strip()).partition("#")[0]
    except ValueError:  # brackets that are no IPv6 address
        return None


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    return parts.scheme, parts.hostname or "", port
