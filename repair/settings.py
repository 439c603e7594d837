"""The sections of linkmend.toml that `repair` reads; the rest is in `proxy.settings`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSettings:
    """The local collection: `[collection]`."""

    max_pages: int = 200_000
    """Harvested pages beyond this are dropped, least recently seen first; pinned ones never."""
    keep_copies: bool = True
    """Keep the HTML of saved pages, so that a copy can be shown when the page is gone."""
    versions: int = 3
    """Versions kept of a page that changes, including the newest; older ones are deleted."""
    version_every_h: float = 24.0
    """The least time between versions, except for the newest."""
    share: str = "local"
    """Who may read the collection as a web archive: off, local (private addresses) or all of proxy.clients."""
    max_document_bytes: int = 5 * 1024 * 1024
    """Documents larger than this, once decompressed, are not read."""
    max_file_bytes: int = 32 * 1024 * 1024
    """PDF, EPUB, DOCX and ODT files larger than this are not read; over max_document_bytes only from imports and the
    fetch queue, and without a copy."""
    max_links: int = 2_000
    """Links of one page beyond this are ignored."""
    queue_length: int = 256
    """Pages waiting to be read; when the queue is full, new ones are skipped, never delayed."""
    commit_every_s: float = 2.0
    """How long a page may wait for the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soft404Settings:
    """Error pages with a success status: `[soft404]`."""

    enabled: bool = True
    """Answer soft 404s and parked domains with a repair page."""
    probe: str = "auto"
    """auto (in doubt, request a URL of the site that cannot exist) or off; never while the network is down."""
    budget_s: float = 0.8
    """How long a user may wait for the site's answer; a later one serves the next user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """Contents of a repair page: `[repair]`."""

    alternatives: int = 8
    """How many alternatives are listed."""
    deadline_s: float = 2.0
    """The deadline: the page goes out with what is known by then."""
    at_once: int = 64
    """Repairs running or waiting; beyond this, pages go out at once, without alternatives."""
    ranking: str = "learned"
    """learned (the model), plain (fixed weights) or decision (Martinez-Romo's procedure)."""
    stop_anchors: tuple[str, ...] = ()
    """Anchor texts that say nothing, besides the built-in ones ("click here")."""
    stop_titles: tuple[str, ...] = ()
    """Titles that say nothing of their page, besides the built-in ones ("Home")."""
    search_template: str = ""
    """An outside search engine to link to, by OpenSearch template (https://search.example/?q={searchTerms})."""
    school: str = ""
    """Our name for other schools in what `linkmend repairs export` writes; "" for a random name."""


ARCHIVES = (
    "internetarchive"
    " cdx=https://web.archive.org/cdx/search/cdx?url={quoted}&output=json&collapse=timestamp:10&limit=-5000"
    " timemap=https://web.archive.org/web/timemap/link/{url}"
    " memento=https://web.archive.org/web/{timestamp}/{url}"
    " raw=https://web.archive.org/web/{timestamp}id_/{url}",
    "arquivo.pt wayback=https://arquivo.pt/wayback/",
    "ukwa wayback=https://www.webarchive.org.uk/wayback/archive/",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivesSettings:
    """Web archives to query for lost pages: `[archives]`."""

    enabled: bool = True
    """Query web archives for copies of lost pages; personal URLs are never sent to them."""
    list: tuple[str, ...] = ARCHIVES
    """The archives, one line each: NAME [private] KIND=TEMPLATE ... [hosts=HOST,...], see docs/archives.md."""
    archive_deadline_s: float = 10.0
    """Timeout for one archive to list its captures, or to show a page."""
    deadline_s: float = 15.0
    """Timeout for all of them together; later answers are kept for the next user."""
    at_once: int = 4
    """Archives queried at the same time for one URL, the most promising first."""
    lists_per_minute: int = 20
    """Rate limit for capture lists from one archive; the Internet Archive blocks schools at more than 30."""
    pages_per_minute: int = 60
    """Rate limit for archived pages from one archive."""
    looks: int = 6
    """Archived pages checked to find one that is no error, parked domain or soft 404."""
    max_mementos: int = 5_000
    """Captures stored per URL and archive, the latest."""
    max_page_bytes: int = 3 * 1024**2
    """Archived pages larger than this are not read."""
    max_redirects: int = 5
    """Redirects followed inside an archive."""
    remember_s: int = 30 * 86_400
    """How long an archive's captures of a URL are cached."""
    remember_nothing_s: int = 86_400
    """How long it is cached that an archive has no capture."""
    max_bytes: int = 256 * 1024**2
    """Size of the store of archive answers; beyond it, the oldest are deleted."""
