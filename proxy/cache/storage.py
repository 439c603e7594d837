"""Whether a shared cache may store a response, and which parts of it (RFC 9111 3): the only way into the store.

The rules are stricter than the RFC where one user could harm others. Never stored: a response that sets a cookie, one
marked `private` even for some fields only, one that varies on a Cookie, a key or a password in the request, one with
very large headers, and the response to a request with a field not known to be harmless (`harmlessfields.py`).
A response to a request with a Cookie is stored if the origin says that it is for everyone (`public`, `s-maxage`,
`immutable`; `max-age` alone may be meant for the browser), or if the same bytes were also sent to a request without
one. An error is stored if nothing in the request can have caused it. A response that is neither fresh nor can be
revalidated is not stored, since it would never be used.
"""

import re
from dataclasses import replace
from functools import partial

from proxy.cache.freshness import (
    ERRORS_OF_THE_PAGE,
    HEURISTIC_STATUSES,
    explicit_lifetime_s,
    heuristic_lifetime_s,
)
from proxy.cache.invalidation import names_itself
from proxy.cache.sharing.bounds import is_moderate
from proxy.cache.sharing.harmlessfields import is_bare_request, is_plain_request, names_origin_page
from proxy.cache.sharing.reflection import identifying_values
from proxy.cache.vary import LARGEST_VALUE, selecting_fields, vary_names
from proxy.headers.cachecontrol import CacheDirectives, request_directives, response_directives
from proxy.headers.fields import has, has_any, has_body, without, write_date
from proxy.headers.hopbyhop import stored_fields
from proxy.headers.personal import is_personal
from proxy.messages import CacheRequest, FileBody, Headers, StoredResponse, values
from proxy.settings import CacheSettings

_UNDERSTOOD_STATUSES = HEURISTIC_STATUSES | frozenset(
    {201, 202, 205, 302, 303, 307, 400, 402, 403, 406, 409, 411, 415, 422, 424, 451, 500, 502, 503, 504, 505}
)
# These are about the request or the client (rights, form, range, rate), not about the page.
_REQUEST_STATUSES = frozenset(
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
_BODY_FIELDS = ("Content-Length", "Content-Type", "Expect", "Transfer-Encoding")
_CREDENTIALS = frozenset({"authorization", "cookie"})
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
    """Whether the response to this request may be stored, judged by the headers only.

    `seen_without_cookie`: the same bytes were also sent to a request without a Cookie.
    """
    cache_control = response_directives(headers)
    explicit_s = explicit_lifetime_s(headers, received_at=received_at)
    if not _is_complete(status, headers) or not _method_allows(request, headers, explicit_s):
        return False
    if _is_forbidden(request, status, headers, cache_control) or _may_be_poisoned(
        request, status, headers, settings
    ):
        return False
    if has(request.headers, "cookie") and not (seen_without_cookie or is_declared_public(headers)):
        return False
    usual = 200 if status == 206 else status
    if usual not in HEURISTIC_STATUSES and explicit_s is None and "public" not in cache_control:
        return False
    guessed_s = heuristic_lifetime_s(usual, headers, received_at=received_at, settings=settings)
    lifetime_s = guessed_s if explicit_s is None else explicit_s
    return lifetime_s > 0 or (usual == 200 and (has(headers, "etag") or has(headers, "last-modified")))


def is_declared_public(headers: Headers) -> bool:
    """Whether the origin declares that a response is for everyone."""
    return not _FOR_EVERYONE.isdisjoint(response_directives(headers).by_name)


def is_impersonal_request(request: CacheRequest, stored: StoredResponse, settings: CacheSettings) -> bool:
    """Whether the origin would give any other client the same response.

    The request identifies no user, and apart from the fields in Vary it has none that could change the response.
    """
    named = [name for name in vary_names(stored.headers) if not is_personal(name)]
    return not has_any(request.headers, _CREDENTIALS) and is_plain_request(
        request.headers, named=named, also=settings.harmless_fields
    )


def may_share_answer(request: CacheRequest, settings: CacheSettings) -> bool:
    """Whether another cache, which does not know these rules, may store the response to this request."""
    return not has_any(request.headers, _CREDENTIALS) and is_plain_request(
        request.headers, also=settings.harmless_fields
    )


def updated_response(
    request: CacheRequest,
    stored: StoredResponse,
    merged: StoredResponse | None,
    *,
    received_at: float,
    settings: CacheSettings,
) -> StoredResponse | None:
    """The response to store after a 304 or a response to HEAD; None when the stored one must be removed.

    `merged` is the stored response with the new headers; None when they show that the page has changed. It is judged
    like the response to a GET. If it may not be stored, the stored response stays, unless the request is impersonal:
    then the origin has withdrawn it.
    """
    as_get = replace(request, method="GET")
    if merged is not None and may_store(
        as_get, 200, merged.headers, received_at=received_at, settings=settings
    ):
        return merged
    return None if is_impersonal_request(request, stored, settings) else stored


def confirm_stored(
    request: CacheRequest,
    stored: StoredResponse,
    merged: StoredResponse,
    *,
    settings: CacheSettings,
) -> StoredResponse:
    """A stored response after a 304 to a request with a Cookie: only its times change, no header does.

    The 304 confirms the bytes. If anything else speaks against storing, the stored response stays as it is.
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
    """The stored form of a response that `may_store` allowed: end-to-end fields, a Date, the real length."""
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
    """The headers with a Date, which a recipient must add if it is missing (RFC 9110 6.6.1)."""
    return headers if has(headers, "date") else (*headers, ("Date", write_date(received_at)))


def _is_complete(status: int, headers: Headers) -> bool:
    """Whether the response is final and whole. A 206 with every byte (players send `Range: bytes=0-`) is whole."""
    if status == 206:
        found = _RANGE_FROM_START.fullmatch(", ".join(values(headers, "content-range")).strip())
        return found is not None and int(found[1]) + 1 == int(found[2])
    return 200 <= status <= 599 and status not in _REQUEST_STATUSES


def _method_allows(request: CacheRequest, headers: Headers, explicit_s: float | None) -> bool:
    if (
        request.method == "POST"
    ):  # RFC 9110 9.3.3: stored for later GETs if freshness and Content-Location allow it
        return explicit_s is not None and names_itself(request.url, headers)
    # The response to a GET with a body may depend on the body, which is not part of the cache key.
    return request.method == "GET" and not has_body(request.headers)


def _is_forbidden(
    request: CacheRequest, status: int, headers: Headers, cache_control: CacheDirectives
) -> bool:
    """Whether RFC 9111 3 or 3.5 forbids a shared cache to store it; Set-Cookie is our own addition."""
    if "private" in cache_control or has(headers, "set-cookie"):
        return True
    if "must-understand" in cache_control:
        if status not in _UNDERSTOOD_STATUSES:
            return True
    elif "no-store" in cache_control:
        return True
    if "no-store" in request_directives(request.headers) or not is_moderate(headers):
        return True
    return has(request.headers, "authorization") and not (
        cache_control.by_name.keys() & {"public", "must-revalidate", "s-maxage"}
    )


def _may_be_poisoned(request: CacheRequest, status: int, headers: Headers, settings: CacheSettings) -> bool:
    """Whether the client may have changed the response through its request (cache poisoning)."""
    named, harmless = vary_names(headers), settings.harmless_fields
    if "*" in named or any(is_personal(name) and has(request.headers, name) for name in named):
        return True
    if status >= 400:
        # Few sites name in Vary the field that made them fail.
        if not is_bare_request(request.headers, also=harmless):
            return True
        return status not in ERRORS_OF_THE_PAGE and names_origin_page(request.headers)
    also = (*harmless, *_BODY_FIELDS) if request.method == "POST" else harmless
    if not is_plain_request(request.headers, named=named, also=also):
        return True
    if any(len(value) > LARGEST_VALUE for _, value in selecting_fields(request, headers)):
        return True
    return _headers_repeat_request(request, headers)


def _headers_repeat_request(request: CacheRequest, headers: Headers) -> bool:
    """Whether the headers repeat identifying values of the request. CORS headers vary on Origin in any case."""
    words = [word.lower() for word in identifying_values(request, headers)]
    return any(
        word in value.lower()
        for key, value in headers
        if key.lower() != "access-control-allow-origin"
        for word in words
    )
