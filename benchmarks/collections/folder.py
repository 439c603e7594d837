"""Writes a collection folder as docs/evaluation.md describes it, and chooses which of its links to break.

All draws are hashes of addresses, so the same pages give the same folder.
"""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.collections.sitepages import SitePages, duplicates
from repair.model import Link
from repair.text.words import is_stop_anchor

NAV_SHARE = 0.3
"""The same anchor to the same target on more of a host's pages than this is navigation."""
_LEAST_PAGES = 10  # of a host, for the share to mean anything
_ONE_TEST_IN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLimits:
    """How many links are broken at most; `test_a_language` keeps one large language from filling the test."""

    train: int = 3_000
    test: int = 1_000
    test_a_language: int = 110
    held_out: bool = False


def write_folder(folder: Path, site: SitePages, limits: FolderLimits) -> dict[str, int]:
    """Write pages, links, languages and the links to break; returns how many of each there are."""
    folder.mkdir(parents=True, exist_ok=True)
    nav = _boilerplate(site)
    train, test = _broken_links(site, nav, limits)
    counts = {
        "pages": write_lines(
            folder / "pages.jsonl.gz",
            ({"url": page.url, "title": page.title, "text": page.text} for page in site.pages.values()),
        ),
        "links": write_lines(
            folder / "links.jsonl.gz",
            (
                {**_record(page.url, link), "nav": link.nav or _key(page.url, link) in nav}
                for page in site.pages.values()
                for link in page.links
            ),
        ),
        "train": 0 if limits.held_out else write_lines(folder / "train.jsonl.gz", train),
        "test": write_lines(folder / "test.jsonl.gz", test),
    }
    moved = {record["target_url"]: record["truth_moved"] for record in test}
    (folder / "moved_test.json").write_text(json.dumps(moved, ensure_ascii=False, indent=0), "utf-8")
    with gzip.GzipFile(folder / "languages.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(dict(site.languages), ensure_ascii=False, indent=0).encode())
    return counts


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write records as JSON lines, the same bytes for the same records; returns how many."""
    count = 0
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            count += 1
    return count


def draw(text: str) -> int:
    """A number that looks random and is always the same for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


def opaque_address(url: str) -> str:
    """Where the variant *moved* puts a page."""
    return f"http://moved.invalid/{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def _broken_links(
    site: SitePages, nav: frozenset[tuple[str, str, str]], limits: FolderLimits
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One link to each page that others link to with telling words; a page is in train or in test, never in both."""
    best: dict[str, tuple[int, str, Link]] = {}
    for source, link in _telling_links(site, nav):
        lot = (draw(f"{source} {link.target_url} {link.anchor}"), source, link)
        best[link.target_url] = min(best.get(link.target_url, lot), lot, key=lambda each: each[:2])
    train: list[dict[str, Any]] = []
    test: list[dict[str, Any]] = []
    of_language: Counter[str] = Counter()
    for target in sorted(best, key=draw):
        _, source, link = best[target]
        record = {**_record(source, link), "truth_kept": target, "truth_moved": opaque_address(target)}
        language = site.languages[target]
        if draw(f"test {target}") % _ONE_TEST_IN == 0:
            if of_language[language] < limits.test_a_language and len(test) < limits.test:
                of_language[language] += 1
                test.append({"id": f"t{len(test):05}", **record})
        elif len(train) < limits.train:
            train.append({"id": f"r{len(train):05}", **record})
    return train, test


def _telling_links(site: SitePages, nav: frozenset[tuple[str, str, str]]) -> Iterator[tuple[str, Link]]:
    doubled = duplicates(site.pages)
    for source, page in site.pages.items():
        for link in page.links:
            target = link.target_url
            held = target in site.pages and target not in doubled and target != source
            if held and not link.nav and _key(source, link) not in nav and not is_stop_anchor(link.anchor):
                yield source, link


def _boilerplate(site: SitePages) -> frozenset[tuple[str, str, str]]:
    pages = Counter(urlsplit(url).netloc for url in site.pages)
    seen = Counter(
        key for url, page in site.pages.items() for key in {_key(url, link) for link in page.links}
    )
    return frozenset(
        key
        for key, count in seen.items()
        if pages[key[0]] >= _LEAST_PAGES and count > NAV_SHARE * pages[key[0]]
    )


def _key(source: str, link: Link) -> tuple[str, str, str]:
    return urlsplit(source).netloc, link.anchor, link.target_url


def _record(source: str, link: Link) -> dict[str, Any]:
    return {
        "source_url": source,
        "target_url": link.target_url,
        "anchor": link.anchor,
        "context_before": link.before,
        "context_after": link.after,
    }
