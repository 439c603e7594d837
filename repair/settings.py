"""The sections of linkmend.toml that `repair` reads; the rest is in `proxy.settings`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSettings:
    """The pages held locally: `[collection]`."""

    max_pages: int = 200_000
    """Harvested pages beyond this are dropped, least recently seen first; pinned ones never."""
    keep_copies: bool = True
    """Keep the HTML of held pages, so that a copy can be shown when the page is gone."""
    max_document_bytes: int = 5 * 1024 * 1024
    """Documents larger than this, once decompressed, are not read."""
    max_links: int = 2_000
    """Links of one page beyond this are ignored."""
    queue_length: int = 256
    """Pages waiting to be read; past it new ones are passed over, never delayed."""
    commit_every_s: float = 2.0
    """How long a page read may wait before it can be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """What a repair page offers: `[repair]`."""

    alternatives: int = 8
    """How many alternatives are listed."""
    deadline_s: float = 2.0
    """The page goes out with what is known after this."""
    ranking: str = "learned"
    """learned (the model), plain (fixed weights) or decision (Martinez-Romo's procedure)."""
    stop_anchors: tuple[str, ...] = ()
    """Anchor texts that say nothing, besides the ones built in ("click here")."""
    stop_titles: tuple[str, ...] = ()
    """Titles that say nothing of their page, besides the ones built in ("Home")."""
