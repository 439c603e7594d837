"""Whether a response repeats what its request said of itself, so that it was made for that client alone.

The list of harmless fields has some that anyone may fill as they like: User-Agent, Referer, Accept-Language. A site
that writes them into its page ("your browser is ...", a link back) makes a page for one. It is found by looking.
"""

import re

from proxy.cache.entry import CacheRequest, Headers, values
from proxy.cache.fields import has
from proxy.cache.vary import vary_names
from repair.decode import identity_body
from repair.model import Page

LARGEST_BODY = 2 * 1024 * 1024
"""Bytes that are looked through, once decoded; scripts and pages are smaller."""
_SHORTEST = 5
_FREE_FIELDS = ("user-agent", "accept-language", "sec-ch-ua", "sec-ch-ua-model", "x-client-data")
_FROM_FIELDS = ("origin", "referer")
_TEXT = re.compile(r"text/|[a-z]+/(?:[a-z.+-]*(?:json|xml|javascript|script))", re.IGNORECASE)
_SITE = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+")


def own_words(request: CacheRequest, headers: Headers) -> tuple[str, ...]:
    """What of the request only its sender would say, as far as Vary does not name it.

    Of where it comes from only a foreign site counts: a page has links to its own.
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


def repeats(words: tuple[str, ...], page: Page) -> bool:
    """Whether a page has one of the words in it. What is no text, or too large, has none."""
    if not words or not _TEXT.match(page.header("content-type") or "text/html"):
        return False
    body = identity_body(page, LARGEST_BODY)
    if not body:
        return False
    return any(word.encode("latin-1", "replace") in body for word in words)
