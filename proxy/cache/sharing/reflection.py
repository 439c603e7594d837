"""Detects responses that repeat request fields and so were made for one client only.

A client can put any text into some harmless fields: User-Agent, Referer, Accept-Language. A site that writes them
into its page ("your browser is ...", a link back) makes a page for one user. This module searches the page for them.
"""

import re

from proxy.cache.vary import vary_names
from proxy.headers.fields import has
from proxy.messages import CacheRequest, Headers, values
from repair.model import Page
from repair.parse.decode import identity_body

LARGEST_BODY = 2 * 1024 * 1024
"""Bytes of a decoded body that are searched; scripts and pages are smaller."""
_SHORTEST = 5
_FREE_FIELDS = ("user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-model", "x-client-data")
_FROM_FIELDS = ("origin", "referer")
_TEXT = re.compile(r"text/|[a-z]+/(?:[a-z.+-]*(?:json|xml|javascript|script))", re.IGNORECASE)
_SITE = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+")


def identifying_values(request: CacheRequest, headers: Headers) -> tuple[str, ...]:
    """The values in the request that identify its sender, without fields that Vary names.

    Of Origin and Referer only a foreign site counts: every page links to its own site.
    """
    named = vary_names(headers)
    found = [
        value
        for name in _FREE_FIELDS
        if name not in named and has(request.headers, name)
        for value in values(request.headers, name)
    ]
    for name in _FROM_FIELDS:
        if name not in named and has(request.headers, name):
            site = _SITE.match(values(request.headers, name)[0].lower())
            if site is not None and not request.url.startswith((f"{site[0]}/", f"{site[0]}?")):
                found.append(site[0])
    return tuple(word for word in found if len(word) >= _SHORTEST)


def contains_value(words: tuple[str, ...], page: Page) -> bool:
    """Whether a page contains one of the words; False if it is not text or too large."""
    if not words or not _TEXT.match(page.header("content-type") or "text/html"):
        return False
    body = identity_body(page, LARGEST_BODY)
    if not body:
        return False
    return any(word.encode("latin-1", "replace") in body for word in words)
