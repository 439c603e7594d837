"""What sites list themselves: sitemaps, RSS and Atom feeds, read as XML events.

The files are hostile: bounded in size, depth and entries, no entities of their own (see `xmlevents`).
What is malformed gives what came before.
"""

import email.utils
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from repair.parse import htmlpage
from repair.parse.formats.extraction import Unreadable
from repair.parse.formats.xmlevents import read_xml
from repair.text import urls

MAX_BYTES = 10 * 1024**2
MAX_ENTRIES = 20_000
_MAX_TEXT = 500
_ENTRIES = frozenset(("url", "sitemap", "item", "entry"))
_FIELDS = {
    "loc": "url",
    "link": "url",
    "title": "title",
    "description": "summary",
    "summary": "summary",
    "lastmod": "changed",
    "pubDate": "changed",
    "updated": "changed",
    "date": "changed",
}
_FEED_TYPES = ("application/rss+xml", "application/atom+xml")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteListEntry:
    """A page of a site's list, with a normal address; a sitemap gives no title. `changed_at` is as the site says."""

    url: str
    title: str = ""
    summary: str = ""
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteList:
    """The pages of a list, and the further sitemaps that it names; `root` is its outermost element, "" for none."""

    root: str = ""
    pages: tuple[SiteListEntry, ...] = ()
    lists: tuple[SiteListEntry, ...] = ()


def read_site_list(data: bytes, url: str, *, elsewhere: bool = False) -> SiteList:
    """The pages of a sitemap or feed that was fetched from `url`; empty when it is neither.

    They are at the same host, since a site speaks only for itself; `elsewhere`, at any: results of a search engine.
    """
    reader = _ListReader(url, elsewhere=elsewhere)
    with suppress(Unreadable, _Enough):
        read_xml(_unpacked(data), reader)
    return SiteList(root=reader.root, pages=tuple(reader.pages.values()), lists=tuple(reader.lists.values()))


def feeds_of(html: str, url: str) -> tuple[str, ...]:
    """The feeds that a page names, at its own host."""
    host = urls.parse(url).authority
    found = dict[str, None]()
    for node in htmlpage.tree(html).css("link[rel~=alternate][href]"):
        if (node.attributes.get("type") or "").lower() in _FEED_TYPES:
            target = urls.resolve(url, node.attributes.get("href") or "")
            if target is not None and urls.parse(target).authority == host:
                found[target] = None
    return tuple(found)


class _Enough(Exception):
    """More entries than anybody needs."""


class _ListReader:
    """Collects entries from the events."""

    def __init__(self, url: str, *, elsewhere: bool) -> None:
        self.root = ""
        self.pages: dict[str, SiteListEntry] = {}
        self.lists: dict[str, SiteListEntry] = {}
        self._base, self._host = url, None if elsewhere else urls.parse(url).authority
        self._entry: dict[str, str] | None = None
        self._field = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._field = ""
        self.root = self.root or tag
        if tag in _ENTRIES:
            self._entry = {}
        elif self._entry is not None and tag in _FIELDS:
            name = _FIELDS[tag]
            if tag == "link" and "href" in attributes:  # Atom
                if attributes.get("rel", "alternate") == "alternate":
                    self._entry.setdefault(name, attributes["href"])
            elif not self._entry.get(name):
                self._field = name

    def text(self, text: str) -> None:
        if self._entry is not None and self._field:
            # An address is never cut short: one that is too long is none.
            most = urls.MAX_URL + 1 if self._field == "url" else 4 * _MAX_TEXT
            self._entry[self._field] = (self._entry.get(self._field, "") + text)[:most]

    def end(self, tag: str) -> None:
        self._field = ""
        if tag not in _ENTRIES or self._entry is None:
            return
        entry, self._entry = self._entry, None
        url = urls.resolve(self._base, entry.get("url", "").strip())
        if url is None or self._host not in (None, urls.parse(url).authority):
            return
        page = SiteListEntry(
            url=url,
            title=_plain(entry.get("title", "")),
            summary=_plain(entry.get("summary", "")),
            changed_at=_moment(entry.get("changed", "").strip()),
        )
        (self.lists if tag == "sitemap" else self.pages).setdefault(url, page)
        if len(self.pages) + len(self.lists) >= MAX_ENTRIES:
            raise _Enough


def _unpacked(data: bytes) -> bytes:
    """The file, without the gzip that sitemaps may come in; at most MAX_BYTES of it."""
    if not data.startswith(_GZIP):
        return data[:MAX_BYTES]
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, MAX_BYTES)
    except zlib.error:
        return b""


def _plain(text: str) -> str:
    """Words without markup: feeds put HTML into their texts."""
    if "<" in text:
        text = htmlpage.tree(text).text(separator=" ")
    return " ".join(text.split())[:_MAX_TEXT]


def _moment(text: str) -> datetime | None:
    """A W3C date or that of a mail, as feeds have them; None for anything else."""
    if not 4 <= len(text) <= 40:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            found = email.utils.parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
