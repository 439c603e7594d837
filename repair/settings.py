"""The sections of linkmend.toml that `repair` reads; the rest is in `proxy.settings`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSettings:
    """The pages held locally: `[collection]`."""

    max_pages: int = 200_000
    """Harvested pages beyond this are dropped, least recently seen first; pinned ones never."""
    keep_copies: bool = True
    """Keep the HTML of held pages, so that a copy can be shown when the page is gone."""
    versions: int = 3
    """Versions kept of a page that changes, the newest among them; older ones go."""
    version_every_h: float = 24.0
    """How far apart versions are at least, save for the newest."""
    share: str = "local"
    """Who may read what is held as a web archive: off, local (private addresses) or all of proxy.clients."""
    max_document_bytes: int = 5 * 1024 * 1024
    """Documents larger than this, once decompressed, are not read."""
    max_links: int = 2_000
    """Links of one page beyond this are ignored."""
    queue_length: int = 256
    """Pages waiting to be read; past it new ones are passed over, never delayed."""
    commit_every_s: float = 2.0
    """How long a page read may wait before it can be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soft404Settings:
    """Pages that only pretend to be there: `[soft404]`."""

    enabled: bool = True
    """Answer error pages that claim to be fine, and parked domains, with a repair page."""
    probe: str = "auto"
    """auto (in doubt, ask the site about an address that cannot be there) or off; never off the line."""
    budget_s: float = 0.8
    """How long a reader may wait for the site's answer; a later one serves the next reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """What a repair page offers: `[repair]`."""

    alternatives: int = 8
    """How many alternatives are listed."""
    deadline_s: float = 2.0
    """The page goes out with what is known after this."""
    at_once: int = 64
    """Repairs that may wait or be under way; past it pages go out at once, without alternatives."""
    ranking: str = "learned"
    """learned (the model), plain (fixed weights) or decision (Martinez-Romo's procedure)."""
    stop_anchors: tuple[str, ...] = ()
    """Anchor texts that say nothing, besides the ones built in ("click here")."""
    stop_titles: tuple[str, ...] = ()
    """Titles that say nothing of their page, besides the ones built in ("Home")."""
    search_template: str = ""
    """An outside search engine to link to, by OpenSearch template (https://search.example/?q={searchTerms})."""
    school: str = ""
    """Who we are to other schools in what `linkmend repairs export` writes; "" for a name made up by chance."""


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
    """Web archives that are asked for lost pages: `[archives]`."""

    enabled: bool = True
    """Ask web archives for copies of lost pages; personal addresses are never sent to them."""
    list: tuple[str, ...] = ARCHIVES
    """The archives, one line each: NAME [private] KIND=TEMPLATE ... [hosts=HOST,...], see docs/archives.md."""
    archive_deadline_s: float = 10.0
    """How long one archive may take to list what it has, or to show a page."""
    deadline_s: float = 15.0
    """How long all of them together may take; what comes later is kept for the next reader."""
    at_once: int = 4
    """Archives asked at the same time for one address, the most promising first."""
    lists_per_minute: int = 20
    """Lists asked of one archive by all of linkmend; the Internet Archive blocks schools at more than 30."""
    pages_per_minute: int = 60
    """Archived pages asked of one archive."""
    looks: int = 6
    """Archived pages looked into to find one that is no error, parked domain or soft 404."""
    max_mementos: int = 5_000
    """Captures of one address kept of one archive, the latest."""
    max_page_bytes: int = 3 * 1024**2
    """Archived pages larger than this are not read."""
    max_redirects: int = 5
    """Redirects followed inside an archive."""
    remember_s: int = 30 * 86_400
    """How long it is remembered what an archive has of an address."""
    remember_nothing_s: int = 86_400
    """How long it is remembered that an archive has nothing of it."""
    max_bytes: int = 256 * 1024**2
    """Size of what is remembered, past which the oldest goes."""
