"""Links of a site's old pages whose target has moved since, with today's address of the target.

Where pages moved to is told by the site's own redirects, and by files that git saw renamed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.collections.folder import draw, write_lines
from benchmarks.collections.sitepages import Site, SiteFiles, SitePages, read_pages, route_address
from repair.model import Document, Link
from repair.text.urls import normal
from repair.text.words import is_stop_anchor

MOST_LINKS = 1_200
_ONE_TEST_IN = 3


def with_moves(site: Site, repository: SiteFiles, today: SitePages) -> tuple[SitePages, SitePages] | None:
    """Today's pages with the moves known since the day of the site, and the pages of that day."""
    since = repository.revision_before(site.moved_since) if site.moved_since else None
    if since is None:
        return None
    old = read_pages(site, repository, since)
    moves: dict[str, str] = {}
    if not site.redirects:
        for old_path, new_path in repository.renames(since).items():
            ends = (route_address(site, old_path), route_address(site, new_path))
            if ends[0] and ends[1] and ends[0][0] != ends[1][0]:
                moves[normal(ends[0][0])] = normal(ends[1][0])
    return replace(today, aliases={**moves, **today.aliases}), old


def write_really_moved(
    folder: Path, today: SitePages, old: Mapping[str, Document], *, held_out: bool
) -> dict[str, int]:
    """Write the links that really broke, in train and test, no target or truth in both; returns how many."""
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for source, link, truth in _moved_links(today, old):
        now = today.find(source)
        if now == truth:
            continue
        lot = draw(f"{source} {link.target_url}")
        record = {
            "source_url": source,
            "target_url": link.target_url,
            "anchor": link.anchor,
            "context_before": link.before,
            "context_after": link.after,
            "truth": truth,
            "source_url_now": now,
        }
        if truth not in found or lot < found[truth][0]:
            found[truth] = (lot, record)
    chosen = [found[truth][1] for truth in sorted(found, key=draw)]
    test = [each for each in chosen if held_out or draw(f"moved {each['truth']}") % _ONE_TEST_IN == 0]
    train = [each for each in chosen if not held_out and each not in test]
    counts: dict[str, int] = {}
    for stem, records in (("really_moved", test[:MOST_LINKS]), ("really_moved_train", train[:MOST_LINKS])):
        if not records:
            continue
        counts[stem] = write_lines(
            folder / f"{stem}.jsonl.gz",
            ({"id": f"m{number:05}", **record} for number, record in enumerate(records)),
        )
        sources = sorted({record["source_url"] for record in records})
        write_lines(
            folder / f"{stem}_sources.jsonl.gz",
            ({"url": url, "title": old[url].title, "text": old[url].text} for url in sources),
        )
    return counts


def _moved_links(today: SitePages, old: Mapping[str, Document]) -> Iterator[tuple[str, Link, str]]:
    for source, page in old.items():
        for link in page.links:
            if link.nav or link.target_url in today.pages or is_stop_anchor(link.anchor):
                continue
            truth = today.find(link.target_url)
            if truth is not None and _differ(truth, link.target_url):
                yield source, link, truth


def _differ(new: str, old: str) -> bool:
    """Whether more than a suffix, a slash or the case has changed."""
    return _plain(new) != _plain(old)


def _plain(url: str) -> str:
    bare = url.partition("?")[0].rstrip("/").lower()
    return bare.removesuffix(".html").removesuffix(".htm").removesuffix("/index")
