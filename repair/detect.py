"""Is this page a broken link, by its status?

Pages that are answered 200 and are not there are told by `repair.soft404`, failures without any response (dead host,
timeout, TLS, offline) by whoever made the request.
"""

import re

from repair.model import MissKind, Page
from repair.urls import parse

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
# /web/20200101000000id_/http://..., /wayback/..., /memento/2020/...: how archives address what they hold.
_ARCHIVE_PATH = re.compile(r"(?i)/(?:wayback|web|memento|timegate|timemap)/(?:[^/]{1,40}/){0,3}https?:/")
# What every archive's address holds: parsing is for the few that do.
_LIKE_AN_ARCHIVE = re.compile(
    r"(?i)archive|webcitation\.|arquivo\.|perma\.cc|/(?:wayback|web|memento|timegate|timemap)/|mementoweb"
)
_DOCUMENT_TYPES = frozenset(("", "text/html", "application/xhtml+xml", "text/plain"))


def miss_kind(status: int) -> MissKind | None:
    """The hard kind a status stands for.

    None for what is there but not for everyone (401, 403, 451), and for 511, a network that wants a login first.
    """
    if status == 404:
        return MissKind.NOT_FOUND
    if status == 410:
        return MissKind.GONE
    if 500 <= status <= 599 and status != 511:
        return MissKind.SERVER_ERROR
    return None


def broken(page: Page) -> MissKind | None:
    """Why the page is not what its link meant, or None when it is, or when it is not for us to say.

    Errors in a form that no person reads (JSON, an image) are left to the program that asked. So are those of web
    archives: repairing them would offer archives again, in a loop, and an archived 404 is a true copy of its page.
    """
    return miss_kind(page.status) if is_document(page) else None


def is_document(page: Page) -> bool:
    """Whether a person reads such a page, and it is no web archive's."""
    return _media_type(page) in _DOCUMENT_TYPES and not is_archive_page(page)


def is_archive_page(page: Page) -> bool:
    """Whether the page comes from a web archive: by Memento-Datetime (RFC 7089), its host or its address."""
    if page.header("memento-datetime") is not None:
        return True
    plain = page.url.isascii() and "%" not in page.url  # otherwise its normal form may read differently
    if plain and not _LIKE_AN_ARCHIVE.search(page.url):
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
