"""The domain model: values that flow from a broken link to the offered alternatives.

    BrokenLink -> Evidence -> Query -> Candidates -> RankedAlternatives

Every stage takes such values and returns new ones. Nothing here does I/O.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class MissKind(StrEnum):
    """Why the user did not get the page; the values are part of the contract (`Linkmend-Miss`)."""

    NOT_FOUND = "not_found"
    GONE = "gone"
    SOFT_404 = "soft_404"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    SERVER_ERROR = "server_error"
    OFFLINE = "offline"
    PARKED = "parked"


JUDGED = frozenset({MissKind.SOFT_404, MissKind.PARKED})
"""Kinds that are our own verdict on a page, and so may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One fetched representation of a URL, whoever fetched it; the body is as sent, content-coded or not."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: datetime

    def header(self, name: str) -> str | None:
        """The values of a header joined by commas, or None when it is absent."""
        wanted = name.lower()
        values = [value for key, value in self.headers if key.lower() == wanted]
        return ", ".join(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as its author wrote it, with up to twenty terms of text on each side."""

    target_url: str
    anchor: str
    before: str = ""
    after: str = ""
    nav: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A page that says the same in another language, named by its code (`pt`)."""

    language: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The parsed content of a page: the form in which pages are saved, indexed and linked."""

    url: str
    title: str
    text: str
    headings: tuple[str, ...] = ()
    description: str = ""
    keywords: tuple[str, ...] = ()
    language: str = ""
    links: tuple[Link, ...] = ()
    canonical_url: str | None = None
    translations: tuple[Translation, ...] = ()
    noindex: bool = False
    nofollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPage:
    """A page of the local collection, without its links and its copy."""

    url: str
    title: str
    text: str
    language: str
    fetched_at: datetime
    pinned: bool
    has_copy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCopy:
    """The saved copy of a page: identity-coded bytes and the content type they were sent with."""

    url: str
    content_type: str
    body: bytes
    fetched_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InLink:
    """A link of a saved page that leads to some URL, saved or not."""

    source_url: str
    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A URL that no longer leads where its author meant, and what is known of the click on it.

    `source_url` is the page the click came from, as the browser sent it or as we inferred it; `source_guessed` when
    the browser did not even name its site.
    """

    url: str
    kind: MissKind
    source_url: str | None = None
    anchor: str = ""
    before: str = ""
    after: str = ""
    source_guessed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """How a user came to a broken link: what the browser sent, and the user's last pages, latest first.

    `typed` when the browser says that no page led there: the user typed the address, or opened a bookmark.
    """

    referrer: str | None = None
    recent: tuple[str, ...] = ()
    typed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of knowledge about the lost page: words with weights, and the source that gives them."""

    source: str
    terms: tuple[tuple[str, float], ...]
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The query to the index: weighted terms, the words a person could edit, the evidence behind them."""

    terms: tuple[tuple[str, float], ...]
    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of a snippet; `marked` pieces are the words that matched."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One offered page. `reasons` are codes (`anchor`, `url`, `title`) that the repair page puts in words; `told_by`
    are the schools of the district that confirmed it, `translations` saved pages that are it in other languages."""

    url: str
    title: str
    snippet: tuple[Span, ...] = ()
    score: float = 0.0
    confidence: float = 0.0
    source: str = "local"
    reasons: tuple[str, ...] = ()
    held: bool = True
    told_by: tuple[str, ...] = ()
    translations: tuple[Translation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedAlternatives:
    """The alternatives for a broken link, best first; any part may be empty.

    `copy_at` is when the saved copy of the page itself was fetched, None when there is none;
    `shortened` are saved pages at shorter URLs of the same site; `query` is what a person may edit. `searched` are
    search results for the link's words, where there is no alternative: not offers, and called so.
    """

    link: BrokenLink
    alternatives: tuple[Alternative, ...] = ()
    copy_at: datetime | None = None
    shortened: tuple[str, ...] = ()
    query: str = ""
    queries: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    searched: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLink:
    """A broken link with its source page and anchor text, and the state of the collection when it was placed."""

    link: BrokenLink
    state: Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingOutcome:
    """The alternatives, and whether all evidence went into them: a source may have failed or been late."""

    found: RankedAlternatives
    is_whole: bool
