"""Decide from a page's status whether a link is broken.

`repair.soft404` finds error pages answered 200; the code that makes a request reports failures without any response
(dead host, timeout, TLS, offline).
"""

import re

from repair.model import MissKind, Page
from repair.text.urls import parse

_ARCHIVE_HOSTS = (
    "web.archive.org",
    "archive.org",
    "archive.ph",
    "archive.today",
    "archive.is",
    "webcitation.org",
    "arquivo.pt",
    "webarchive.org.uk",
    "webarchive.nationalarchives.gov.uk",
    "perma.cc",
    "timetravel.mementoweb.org",
)
# /web/20200101000000id_/http://..., /wayback/..., /memento/2020/...: the URLs of archived pages.
_ARCHIVE_PATH = re.compile(r"(?i)/(?:wayback|web|memento|timegate|timemap)/(?:[^/]{1,40}/){0,3}https?:/")
# Every archive URL has one of these: only such URLs are parsed.
_ARCHIVE_HINTS = re.compile(
    r"(?i)archive|webcitation\.|arquivo\.|perma\.cc|/(?:wayback|web|memento|timegate|timemap)/|mementoweb"
)
_DOCUMENT_TYPES = frozenset(("", "text/html", "application/xhtml+xml", "text/plain"))


def miss_kind(status: int) -> MissKind | None:
    """The kind of miss a status stands for.

    None for pages that exist but not for everyone (401, 403, 451), and for 511, a network that wants a login first.
    """
    if status == 404:
        return MissKind.NOT_FOUND
    if status == 410:
        return MissKind.GONE
    if 500 <= status <= 599 and status != 511:
        return MissKind.SERVER_ERROR
    return None


def miss_kind_of(page: Page) -> MissKind | None:
    """Why the page is not what its link meant; None when it is, or when we cannot tell.

    Errors in a form that no person reads (JSON, an image) are left to the program that requested them. So are those
    of web archives: repairing them would offer archives again, in a loop, and an archived 404 is a true copy of its
    page.
    """
    return miss_kind(page.status) if is_document(page) else None


def is_document(page: Page) -> bool:
    """Whether a person reads such a page, and it does not come from a web archive."""
    return _media_type(page) in _DOCUMENT_TYPES and not is_archive_page(page)


def is_archive_page(page: Page) -> bool:
    """Whether the page comes from a web archive: by Memento-Datetime (RFC 7089), its host or its URL."""
    if page.header("memento-datetime") is not None:
        return True
    plain = page.url.isascii() and "%" not in page.url  # otherwise its normal form may differ
    if plain and not _ARCHIVE_HINTS.search(page.url):
        return False
    try:
        parts = parse(page.url)
    except ValueError:
        return False
    host = parts.host
    if any(host == name or host.endswith(f".{name}") for name in _ARCHIVE_HOSTS):
        return True
    return _ARCHIVE_PATH.search(parts.path) is not None


def _media_type(page: Page) -> str:
    return (page.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
