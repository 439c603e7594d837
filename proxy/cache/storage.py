"""Whether a shared cache may keep a response, and what it keeps of it (RFC 9111 3): the one way into the store.

Stricter than the RFC where one user could harm others. Never stored is a response that sets a cookie, one marked
`private` even for some fields only, one that was chosen by a Cookie, a key or a password, one whose headers are too
large to be read at every hit, and the answer to a request with a field that is not known to be harmless (`harmless`).
What was asked for with a Cookie is stored when the origin says that it is for everyone (`public`, `s-maxage`,
`immutable`; a mere `max-age` may be meant for the browser), or when the same bytes were also sent to a request
without one. An error is stored when nothing in the request can have caused it. And only what can be of use later: a
response that is neither fresh for a moment nor can be validated would be written for nothing.
"""

import re
from dataclasses import replace
from functools import partial

from proxy.cache.bounds import is_moderate
from proxy.cache.directives import Directives, request_directives, response_directives
from proxy.cache.entry import CacheRequest, FileBody, Headers, StoredResponse, values
from proxy.cache.fields import has, has_any, has_body, without, write_date
from proxy.cache.freshness import (
    ERRORS_OF_THE_PAGE,
    HEURISTIC_STATUSES,
    explicit_lifetime_s,
    heuristic_lifetime_s,
)
from proxy.cache.harmless import is_bare_request, is_plain_request, says_where_from
from proxy.cache.hopbyhop import stored_fields
from proxy.cache.invalidating import names_itself
from proxy.cache.personal import is_personal
from proxy.cache.reflecting import own_words
from proxy.cache.vary import LARGEST_VALUE, selecting_fields, vary_names
from proxy.settings import CacheSettings

_UNDERSTOOD_STATUSES = HEURISTIC_STATUSES | frozenset(
    {201, 202, 205, 302, 303, 307, 400, 402, 403, 406, 409, 411, 415, 422, 424, 451, 500, 502, 503, 504, 505}
)
# They speak of this request or this client (its rights, its form, its range, its haste), not of the page.
_OF_THE_REQUEST = frozenset(
    {
        304,
        401,
        402,
        403,
        406,
        407,
        408,
        409,
        411,
        412,
        413,
        415,
        416,
        417,
        421,
        422,
        423,
        424,
        425,
        426,
        428,
        429,
    }
    | {431, 511}
)
_OF_A_BODY = ("Content-Length", "Content-Type", "Expect", "Transfer-Encoding")
_WHO_ASKS = frozenset({"authorization", "cookie"})
_FOR_EVERYONE = frozenset({"public", "s-maxage", "immutable"})
_RANGE_FROM_START = re.compile(r"bytes 0-([0-9]{1,15})/([0-9]{1,15})")


def may_store(
    request: CacheRequest,
    status: int,
    headers: Headers,
    *,
    received_at: float,
    settings: CacheSettings,
    seen_without_cookie: bool = False,
) -> bool:
    """Whether the response to this request may be stored, judged by its headers alone.

    `seen_without_cookie`: the same bytes were also sent to a request without a Cookie.
    """
    cache_control = response_directives(headers)
    explicit_s = explicit_lifetime_s(headers, received_at=received_at)
    if not _complete(status, headers) or not _method_allows(request, headers, explicit_s):
        return False
    if _forbidden(request, status, headers, cache_control) or _could_be_bent(
        request, status, headers, settings
    ):
        return False
    if has(request.headers, "cookie") and not (seen_without_cookie or says_for_everyone(headers)):
        return False
    usual = 200 if status == 206 else status
    if usual not in HEURISTIC_STATUSES and explicit_s is None and "public" not in cache_control:
        return False
    guessed_s = heuristic_lifetime_s(usual, headers, received_at=received_at, settings=settings)
    lifetime_s = guessed_s if explicit_s is None else explicit_s
    return lifetime_s > 0 or (usual == 200 and (has(headers, "etag") or has(headers, "last-modified")))


def says_for_everyone(headers: Headers) -> bool:
    """Whether the origin says that a response is not for one person only."""
    return not _FOR_EVERYONE.isdisjoint(response_directives(headers).by_name)


def speaks_for_all(request: CacheRequest, stored: StoredResponse, settings: CacheSettings) -> bool:
    """Whether what an origin says of a stored response in answer to this request it would say to anybody.

    Nobody is named in the request, and it has no field by which the answer could be bent, save those in Vary.
    """
    named = [name for name in vary_names(stored.headers) if not is_personal(name)]
    return not has_any(request.headers, _WHO_ASKS) and is_plain_request(
        request.headers, named=named, also=settings.harmless_fields
    )


def changed_by(
    request: CacheRequest,
    stored: StoredResponse,
    merged: StoredResponse | None,
    *,
    received_at: float,
    settings: CacheSettings,
) -> StoredResponse | None:
    """What takes the place of a stored response after a 304 or an answer to HEAD; None when it is to go.

    `merged` is the stored response with the new headers; None when they say that it has changed. It is judged like
    the answer to a GET. Where it could not have been stored itself, all is left as it was; unless the request speaks
    for all: then the origin has taken it back.
    """
    as_get = replace(request, method="GET")
    if merged is not None and may_store(
        as_get, 200, merged.headers, received_at=received_at, settings=settings
    ):
        return merged
    return None if speaks_for_all(request, stored, settings) else stored


def confirmed(
    request: CacheRequest,
    stored: StoredResponse,
    merged: StoredResponse,
    *,
    settings: CacheSettings,
) -> StoredResponse:
    """A stored response after a 304 to a request whose only fault is its Cookie: not a header is taken, but the time.

    The bytes are still good, which is all that a 304 says of them. With any other fault it stays as it was.
    """
    judged = partial(
        may_store, request, 200, received_at=merged.received_at, settings=settings, seen_without_cookie=True
    )
    if not judged(stored.headers) or not judged(merged.headers):
        return stored
    dated = with_date(without(stored.headers, "date", "age"), merged.received_at)
    return replace(stored, headers=dated, requested_at=merged.requested_at, received_at=merged.received_at)


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
    return 200 <= status <= 599 and status not in _OF_THE_REQUEST


def _method_allows(request: CacheRequest, headers: Headers, explicit_s: float | None) -> bool:
    if request.method == "POST":  # RFC 9110 9.3.3: stored for later GETs if it says so in both ways
        return explicit_s is not None and names_itself(request.url, headers)
    # A GET with a body may be answered by that body, which is not part of the key.
    return request.method == "GET" and not has_body(request.headers)


def _forbidden(request: CacheRequest, status: int, headers: Headers, cache_control: Directives) -> bool:
    """What RFC 9111 3 and 3.5 rule out for a shared cache, and Set-Cookie, which we rule out ourselves."""
    if "private" in cache_control or has(headers, "set-cookie") or not is_moderate(headers):
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


def _could_be_bent(request: CacheRequest, status: int, headers: Headers, settings: CacheSettings) -> bool:
    """Whether the sender of the request may have decided what the response says, for others to read."""
    named, harmless = vary_names(headers), settings.harmless_fields
    if "*" in named or any(is_personal(name) and has(request.headers, name) for name in named):
        return True
    if status >= 400:
        # Hardly a site names in Vary what made it fail.
        if not is_bare_request(request.headers, also=harmless):
            return True
        return status not in ERRORS_OF_THE_PAGE and says_where_from(request.headers)
    also = (*harmless, *_OF_A_BODY) if request.method == "POST" else harmless
    if not is_plain_request(request.headers, named=named, also=also):
        return True
    if any(len(value) > LARGEST_VALUE for _, value in selecting_fields(request, headers)):
        return True
    return _echoes(request, headers)


def _echoes(request: CacheRequest, headers: Headers) -> bool:
    """Whether the headers repeat what the request says of itself. What they allow an Origin is selected by it."""
    words = [word.lower() for word in own_words(request, headers)]
    return any(
        word in value.lower()
        for key, value in headers
        if key.lower() != "access-control-allow-origin"
        for word in words
    )
