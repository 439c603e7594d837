"""Whether a shared cache may keep a response, and what it keeps of it (RFC 9111 3).

Stricter than the RFC where a school's privacy is at stake: never a response that sets a cookie, never one marked
`private` even for some fields only, and one to a request with a Cookie only when the origin says that it is for
everyone (`public`, `s-maxage`; a mere `max-age` may be meant for the browser), or when it is a picture, a style
sheet or the like. A token or a key is sent on purpose, so there even pictures need the origin's word. And only what
can be of use later: a response that is neither fresh for a moment nor can be validated would be written for nothing.
"""

import re

from proxy.cache.directives import Directives, request_directives, response_directives
from proxy.cache.entry import CacheRequest, FileBody, Headers, StoredResponse, values
from proxy.cache.fields import has, has_any, has_body, without, write_date
from proxy.cache.freshness import HEURISTIC_STATUSES, explicit_lifetime_s, heuristic_lifetime_s
from proxy.cache.hopbyhop import stored_fields
from proxy.cache.invalidating import names_itself
from proxy.cache.personal import personal_fields
from proxy.cache.vary import selecting_fields, vary_names
from proxy.settings import CacheSettings

_UNDERSTOOD_STATUSES = HEURISTIC_STATUSES | frozenset(
    {201, 202, 205, 302, 303, 307, 400, 402, 403, 406, 409, 411, 415, 422, 424, 451, 500, 502, 503, 504, 505}
)
# They speak of this request or this client (its password, its range, its haste), not of the page.
_OF_THE_REQUEST = frozenset({304, 401, 407, 408, 412, 413, 416, 417, 421, 425, 426, 428, 429, 431, 511})
# No browser sends them, and some origins let them change the page: one client could poison it for all others.
OVERRIDES = frozenset(
    {
        "forwarded",
        "front-end-https",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-prefix",
        "x-forwarded-proto",
        "x-forwarded-scheme",
        "x-forwarded-server",
        "x-forwarded-ssl",
        "x-host",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-original-host",
        "x-original-url",
        "x-rewrite-url",
        "x-url-scheme",
    }
)
_STATIC_TYPE = re.compile(
    r"(?:image|font|audio|video)/|text/css|(?:text|application)/javascript", re.IGNORECASE
)
_RANGE_FROM_START = re.compile(r"bytes 0-([0-9]{1,15})/([0-9]{1,15})")


def may_store(
    request: CacheRequest,
    status: int,
    headers: Headers,
    *,
    received_at: float,
    settings: CacheSettings,
    held: bool = False,
) -> bool:
    """Whether the response to this request may be stored, judged by its headers alone.

    `held`: its bytes are stored already, and a 304 confirmed them; whose Cookie it was is then of no matter.
    """
    cache_control = response_directives(headers)
    explicit_s = explicit_lifetime_s(headers, received_at=received_at)
    if not _complete(status, headers) or not _method_allows(request, headers, explicit_s):
        return False
    if _forbidden(request, status, headers, cache_control) or not (held or _for_everyone(request, headers)):
        return False
    usual = 200 if status == 206 else status
    if usual not in HEURISTIC_STATUSES and explicit_s is None and "public" not in cache_control:
        return False
    guessed_s = heuristic_lifetime_s(usual, headers, received_at=received_at, settings=settings)
    lifetime_s = guessed_s if explicit_s is None else explicit_s
    return lifetime_s > 0 or (usual == 200 and (has(headers, "etag") or has(headers, "last-modified")))


def to_stored(
    request: CacheRequest,
    *,
    status: int,
    reason: str,
    headers: Headers,
    body: bytes | FileBody,
    requested_at: float,
    received_at: float,
) -> StoredResponse:
    """What is kept of a response that `may_store` allowed: end-to-end fields, a Date, the true length."""
    kept = with_date(stored_fields(headers), received_at)
    if status == 206:
        status, reason, kept = 200, "OK", without(kept, "content-range")
    size = len(body) if isinstance(body, bytes) else body.size
    if status != 204:
        kept = (*without(kept, "content-length"), ("Content-Length", str(size)))
    return StoredResponse(
        status=status,
        reason=reason,
        headers=kept,
        body=body,
        vary=selecting_fields(request, headers),
        requested_at=requested_at,
        received_at=received_at,
    )


def with_date(headers: Headers, received_at: float) -> Headers:
    """The headers with a Date, which whoever receives a response without one has to add (RFC 9110 6.6.1)."""
    return headers if has(headers, "date") else (*headers, ("Date", write_date(received_at)))


def _complete(status: int, headers: Headers) -> bool:
    """Whether this is a final and whole response. A 206 with every byte (`Range: bytes=0-` of a player) is one."""
    if status == 206:
        found = _RANGE_FROM_START.fullmatch(", ".join(values(headers, "content-range")).strip())
        return found is not None and int(found[1]) + 1 == int(found[2])
    return 200 <= status <= 999 and status not in _OF_THE_REQUEST


def _method_allows(request: CacheRequest, headers: Headers, explicit_s: float | None) -> bool:
    if request.method == "POST":  # RFC 9110 9.3.3: stored for later GETs if it says so in both ways
        return explicit_s is not None and names_itself(request.url, headers)
    # A GET with a body may be answered by that body, which is not part of the key.
    return request.method == "GET" and not has_body(request.headers)


def _forbidden(request: CacheRequest, status: int, headers: Headers, cache_control: Directives) -> bool:
    """What RFC 9111 3 and 3.5 rule out for a shared cache, and Set-Cookie, which we rule out ourselves."""
    if "private" in cache_control or has(headers, "set-cookie") or "*" in vary_names(headers):
        return True
    if has_any(request.headers, OVERRIDES):
        return True
    if "must-understand" in cache_control:
        if status not in _UNDERSTOOD_STATUSES:
            return True
    elif "no-store" in cache_control:
        return True
    if "no-store" in request_directives(request.headers):
        return True
    return has(request.headers, "authorization") and not (
        cache_control.by_name.keys() & {"public", "must-revalidate", "s-maxage"}
    )


def _for_everyone(request: CacheRequest, headers: Headers) -> bool:
    """Whether even a careless origin cannot have meant this for one person only."""
    named = personal_fields(request.headers) - {"authorization"}  # judged by RFC 9111 3.5, in `_forbidden`
    if not named or response_directives(headers).by_name.keys() & {"public", "s-maxage"}:
        return True
    static = _STATIC_TYPE.match(", ".join(values(headers, "content-type"))) is not None
    return static and named == {"cookie"}
