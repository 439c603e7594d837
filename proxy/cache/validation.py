"""Conditional requests in both directions (RFC 9111 4.3).

Client side: answer If-None-Match and If-Modified-Since from the store. Origin side: make our own conditions, and
update the stored response with a 304 or with the response to a HEAD.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from proxy.cache.storage import with_date
from proxy.cache.vary import can_decode, is_personal_variant, selecting_fields
from proxy.headers.fields import date_field, has, parse_date, without
from proxy.headers.hopbyhop import stored_fields
from proxy.messages import CacheRequest, Headers, StoredResponse, values

CONDITIONS = ("if-none-match", "if-modified-since")
"""Conditions that a cache evaluates; only the origin evaluates If-Match and If-Unmodified-Since."""

# `"a,b"` is one tag; a comma ends a tag without quotes, which careless senders write.
_TAGS = re.compile(r'(?:[Ww]/)?"[^"]*"|[^,\s]+')
_WELL_FORMED_TAGS = re.compile(r'\*|(?:W/)?"[^"]*+"(?:[ \t]*+,[ \t]*+(?:W/)?"[^"]*+")*+')
_LONGEST_LIST = 8 * 1024
"""Characters of an If-None-Match; a client that sends more gets the whole page."""
# RFC 9111 3.2: a 304 does not change the stored bytes, so the fields that describe them stay.
_BODY_FIELDS = frozenset({"content-length", "content-encoding", "content-type", "content-range"})


def is_not_modified(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether the client's copy is still current, so that the response is 304. If-None-Match outranks the date."""
    if stored.status != 200:
        return False
    wanted = values(request.headers, "if-none-match")
    if wanted:
        if sum(map(len, wanted)) > _LONGEST_LIST:
            return False
        tags = _TAGS.findall(",".join(wanted))
        tag = etag(stored.headers)
        return "*" in tags or (tag is not None and _opaque(tag) in map(_opaque, tags))
    since = date_field(request.headers, "if-modified-since", now=stored.received_at)
    return since is not None and _modified_at(stored) <= since


def has_odd_condition(request: CacheRequest) -> bool:
    """Whether the client's conditions are malformed: then only the origin may evaluate them."""
    for line in values(request.headers, "if-none-match"):
        if len(line) > _LONGEST_LIST or not _WELL_FORMED_TAGS.fullmatch(line.strip(" \t")):
            return True
    dates = values(request.headers, "if-modified-since")
    return any(parse_date(line, now=0.0) is None for line in dates)


def etag(headers: Headers) -> str | None:
    """The entity tag as it was sent; None when there is none or more than one."""
    lines = values(headers, "etag")
    return lines[0].strip() if len(lines) == 1 and lines[0].strip() else None


def is_strong(tag: str) -> bool:
    """Whether a tag promises the same bytes (RFC 9110 8.8.1)."""
    return len(tag) >= 2 and tag[0] == tag[-1] == '"'


def conditions(stored: StoredResponse) -> Headers:
    """The fields that revalidate a stored response; none when it has no validator."""
    if stored.status != 200:
        return ()
    tag = etag(stored.headers)
    modified = values(stored.headers, "last-modified")
    found: Headers = (("If-None-Match", tag),) if tag else ()
    if len(modified) == 1 and parse_date(modified[0], now=stored.received_at) is not None:
        found = (*found, ("If-Modified-Since", modified[0]))
    return found


def other_variant(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """Another stored variant whose bytes may also answer this request (RFC 9111 4.3.1).

    Only one, so that a 304 without ETag is unambiguous; with a strong tag, so that equal tags mean equal bytes; and
    decodable by this client, since some origins give the gzipped and the plain form the same tag. None if a variant
    is personal: some origins give every user's page the same tag.
    """
    if any(map(is_personal_variant, variants)):
        return None
    for stored in variants:
        tag = etag(stored.headers)
        if stored.status == 200 and tag and is_strong(tag) and can_decode(request, stored):
            return stored
    return None


def freshen(
    request: CacheRequest,
    stored: StoredResponse,
    headers: Headers,
    *,
    requested_at: float,
    received_at: float,
) -> StoredResponse | None:
    """The stored response updated by a 304 with these headers; None when the 304 is about another response."""
    tag, known = etag(headers), etag(stored.headers)
    if tag is not None and known is not None and _opaque(tag) != _opaque(known):
        return None
    new = without(with_date(stored_fields(headers), received_at), *_BODY_FIELDS)
    replaced = {name.lower() for name, _ in new} | {"age", "warning"}
    kept = tuple((name, value) for name, value in stored.headers if name.lower() not in replaced)
    merged = (*kept, *new)
    return replace(
        stored,
        headers=merged,
        vary=selecting_fields(request, merged),
        requested_at=requested_at,
        received_at=received_at,
    )


def updated_by_head(
    request: CacheRequest,
    stored: StoredResponse,
    headers: Headers,
    *,
    requested_at: float,
    received_at: float,
) -> StoredResponse | None:
    """The stored GET updated by a 200 to a HEAD; None when the page has changed (RFC 9111 4.3.5)."""
    for name in ("etag", "last-modified", "content-length"):
        if has(headers, name) and values(headers, name) != values(stored.headers, name):
            return None
    return freshen(request, stored, headers, requested_at=requested_at, received_at=received_at)


def _opaque(tag: str) -> str:
    """A tag for weak comparison; missing quotes are ignored."""
    if tag[:2] in ("W/", "w/"):
        tag = tag[2:]
    return tag[1:-1] if is_strong(tag) else tag


def _modified_at(stored: StoredResponse) -> float:
    """Last-Modified, else Date, else the time of receipt (RFC 9111 4.3.2)."""
    for name in ("last-modified", "date"):
        instant = date_field(stored.headers, name, now=stored.received_at)
        if instant is not None:
            return instant
    return stored.received_at
