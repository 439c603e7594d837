"""Conditional requests in both directions (RFC 9111 4.3).

Towards the client: its If-None-Match or If-Modified-Since, answered from what is stored. Towards the origin: our
own conditions, and what its 304 (or its answer to a HEAD) changes in what is stored.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from proxy.cache.entry import CacheRequest, Headers, StoredResponse, values
from proxy.cache.fields import date_field, has, parse_date, without
from proxy.cache.hopbyhop import stored_fields
from proxy.cache.storing import with_date
from proxy.cache.vary import can_decode, is_somebodys, selecting_fields

CONDITIONS = ("if-none-match", "if-modified-since")
"""What a cache evaluates; If-Match and If-Unmodified-Since are the origin's business."""

# `"a,b"` is one tag; without quotes, as careless senders write them, a comma ends it.
_TAGS = re.compile(r'(?:[Ww]/)?"[^"]*"|[^,\s]+')
_WELL_FORMED_TAGS = re.compile(r'\*|(?:W/)?"[^"]*+"(?:[ \t]*+,[ \t]*+(?:W/)?"[^"]*+")*+')
_LONGEST_LIST = 8 * 1024
"""Characters of an If-None-Match that are looked through; whoever says more gets the page."""
# RFC 9111 3.2: the stored bytes are not changed by a 304, so neither is what describes them.
_OF_THE_BODY = frozenset({"content-length", "content-encoding", "content-type", "content-range"})


def is_not_modified(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether the client's own copy is still good, so that 304 is the answer. If-None-Match outranks the date."""
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
    """Whether the client's own conditions are in a form that ours would not have: only the origin can know it."""
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
    """The fields that ask the origin whether a stored response is still good; none when it has no validator."""
    if stored.status != 200:
        return ()
    tag = etag(stored.headers)
    modified = values(stored.headers, "last-modified")
    found: Headers = (("If-None-Match", tag),) if tag else ()
    if len(modified) == 1 and parse_date(modified[0], now=stored.received_at) is not None:
        found = (*found, ("If-Modified-Since", modified[0]))
    return found


def other_variant(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """A response stored for other request fields, whose bytes may yet be the answer to this one (RFC 9111 4.3.1).

    One only, so that a 304 without ETag is clear; with a strong tag, so that "the same" means the same bytes; and
    decodable by this client, for there are origins that give the gzipped and the plain form one tag. None at all
    where pages differ by who asks: there are origins that give everyone's page one tag, too.
    """
    if any(map(is_somebodys, variants)):
        return None
    for stored in variants:
        tag = etag(stored.headers)
        if stored.status == 200 and tag and is_strong(tag) and can_decode(request, stored):
            return stored
    return None


def freshened(
    request: CacheRequest,
    stored: StoredResponse,
    headers: Headers,
    *,
    requested_at: float,
    received_at: float,
) -> StoredResponse | None:
    """The stored response as a 304 with these headers leaves it; None when the 304 speaks of another one."""
    tag, known = etag(headers), etag(stored.headers)
    if tag is not None and known is not None and _opaque(tag) != _opaque(known):
        return None
    new = without(with_date(stored_fields(headers), received_at), *_OF_THE_BODY)
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
    """The stored GET as a 200 to a HEAD leaves it; None when that shows that it has changed (RFC 9111 4.3.5)."""
    for name in ("etag", "last-modified", "content-length"):
        if has(headers, name) and values(headers, name) != values(stored.headers, name):
            return None
    return freshened(request, stored, headers, requested_at=requested_at, received_at=received_at)


def _opaque(tag: str) -> str:
    """A tag for weak comparison, forgiving lost quotes."""
    if tag[:2] in ("W/", "w/"):
        tag = tag[2:]
    return tag[1:-1] if is_strong(tag) else tag


def _modified_at(stored: StoredResponse) -> float:
    """RFC 9111 4.3.2: without Last-Modified, Date; without that, when it came."""
    for name in ("last-modified", "date"):
        instant = date_field(stored.headers, name, now=stored.received_at)
        if instant is not None:
            return instant
    return stored.received_at
