"""Is this page a broken link? Hard kinds from the status; soft kinds from whoever is plugged in.

Failures without any response (dead host, timeout, TLS, offline) are told by whoever made the request, not here.
"""

import re
from typing import Protocol

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
_DOCUMENT_TYPES = frozenset(("", "text/html", "application/xhtml+xml", "text/plain"))


class SoftDetector(Protocol):
    """Tells pages that only pretend to be there: asked for successful documents, answers a soft kind or None.

    It must be quick (the reader waits) and pure; one that wants to ask the network does so before or after.
    """

    def __call__(self, page: Page) -> MissKind | None: ...


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


def broken(page: Page, soft: SoftDetector | None = None) -> MissKind | None:
    """Why the page is not what its link meant, or None when it is, or when it is not for us to say.

    Errors in a form that no person reads (JSON, an image) are left to the program that asked. So are those of web
    archives: repairing them would offer archives again, in a loop, and an archived 404 is a true copy of its page.
    """
    if _media_type(page) not in _DOCUMENT_TYPES or is_archive_page(page):
        return None
    if 200 <= page.status <= 299:
        return soft(page) if soft is not None and page.status == 200 else None
    return miss_kind(page.status)


def is_archive_page(page: Page) -> bool:
    """Whether the page comes from a web archive: by Memento-Datetime (RFC 7089), its host or its address."""
    if page.header("memento-datetime") is not None:
        return True
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
