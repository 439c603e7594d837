"""Fills a school's collection or a district's index with more pages than there are, fast: nothing is parsed.

The pages of a collection come first and unchanged; then come variations of all of them, as in `variations`, made of
terms instead of words, so that half of each text is another page's. A larger number begins with the same pages, so
that both stores can be measured, grown and measured again. Schools send with versions, and look at the names that
pages give each other; that is not done here, and `districtanswers.send` measures it.
"""

import json
import pickle
import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any

from repair.collection.collection import Collection
from repair.collection.index.fulltext import IndexEntry, link_terms
from repair.collection.index.vectors import pack
from repair.opensearch import counting
from repair.opensearch.client import Json, OpenSearchClient, SearchUnavailable
from repair.opensearch.outgoing import known_addresses, shared_page
from repair.opensearch.pagedocument import INDEX, SharedPage, body_of, document_id, page_number, site_of
from repair.opensearch.sitesheets import SAMPLE, sheet
from repair.text.urls import even_sample

_HOST = re.compile(r"^(https?://)([^/]+)")
_REQUEST_BYTES = 4_000_000
_COMMIT = 35_000
_WITHIN_S = 1_800.0
_SAMPLED = 70_000
_TRIES, _PAUSE_S = 20, 6.0  # a node that failed rests for five seconds
_LOADING = {"refresh_interval": "-1", "translog.durability": "async", "merge.policy.segments_per_tier": 30}
_LOADED = {"refresh_interval": "5s", "translog.durability": "request", "merge.policy.segments_per_tier": 10}


def pages_of(collection: Collection, file: Path) -> list[SharedPage]:
    """The pages of a collection as a school shares them; kept in a file, since their words have to be split again."""
    if not file.exists():
        found = (shared_page(collection, number) for number in collection.numbers())
        with file.open("wb") as out:
            pickle.dump([_with_fields(page, " ".join) for page in found if page is not None], out)
    with file.open("rb") as saved:
        return [_with_fields(page, _split) for page in pickle.load(saved)]


def _split(terms: str) -> list[str]:
    return [intern(term) for term in terms.split(" ")] if terms else []  # else they would take gigabytes


def _with_fields(page: SharedPage, change: Any) -> SharedPage:
    fields = {name: change(terms) for name, terms in page.entry.fields.items()}
    return replace(page, entry=replace(page.entry, fields=fields))


def varied(pages: list[SharedPage], first: int, end: int) -> Iterator[SharedPage]:
    """The pages from `first` to `end`: all unchanged, then the first variation of all, and so on."""
    for at in range(first, end):
        variation, place = divmod(at, len(pages))
        page = pages[place]
        yield page if not variation else _vary(page, pages[(place * 7 + variation) % len(pages)], variation)


def _vary(page: SharedPage, other: SharedPage, variation: int) -> SharedPage:
    document, fields = page.document, page.entry.fields
    links = tuple(replace(link, target_url=_elsewhere(link.target_url, variation)) for link in document.links)
    marks = other.entry.fields["title"] or ["page"]
    mark = marks[zlib.crc32(f"{variation} {document.url}".encode()) % len(marks)]
    own, foreign = fields["body"], other.entry.fields["body"]
    half = len(document.text) // 2
    its = {
        **fields,
        **{name: [*fields[name], mark] for name in ("title", "url", "anchors")},
        "names": [f"{name}{mark}" for name in fields["names"]],
        "body": [*own[: len(own) // 2], *foreign[len(foreign) // 2 :]],
        "links": link_terms(dict.fromkeys(link.target_url for link in links if not link.nav)),
    }
    return replace(
        page,
        document=replace(
            document,
            url=_elsewhere(document.url, variation),
            title=f"{document.title} {mark}",
            text=document.text[:half] + other.document.text[len(other.document.text) // 2 :],
            links=links,
        ),
        entry=replace(page.entry, fields=its),
    )


def _elsewhere(url: str, variation: int) -> str:
    return _HOST.sub(rf"\g<1>v{variation}.\g<2>", url)


def grow_collection(collection: Collection, pages: list[SharedPage], end: int) -> int:
    """Add the pages that a collection, which begins with `pages`, lacks to have `end`; returns how many."""
    first = collection.page_count()
    indexing, graph, saved = collection._indexing, collection._graph, collection._pages
    coming = varied(pages, first, end)
    while batch := list(islice(coming, _COMMIT)):
        entries: list[IndexEntry] = []
        with collection.database.write():
            for page in batch:
                moment = page.fetched_at
                number = saved.put(page.document, fetched_at=moment, seen_at=moment, copy=None)
                graph.replace(number, page.document.links)
                its_number = page_number(page.document.url)
                entries.append(replace(page.entry, page=number, number=its_number))
            indexing.vectors.put({entry.page: pack(entry) for entry in entries})
        index = indexing._writable_index()
        if index is None:
            raise SystemExit("another process writes this collection")
        index.update(entries)
    collection.commit()
    return end - first


def grow_district(client: OpenSearchClient, pages: list[SharedPage], first: int, end: int) -> int:
    """Add pages to an index that has the first ones, then the sheets of all sites; returns how many pages it has.

    Without refreshes, replicas and a flush after each request until all is there; then the census is taken.
    """
    _set(client, _LOADING)
    sites: defaultdict[str, set[str]] = defaultdict(set)
    for page in varied(pages, 0, first):
        _note(sites, page)
    _send(client, _bodies(varied(pages, first, end), sites))
    _send(client, (sheet(site, known) for site, known in sites.items() if site))
    _set(client, _LOADED)
    client.ask("POST", f"/{INDEX}/_refresh", within_s=_WITHIN_S)
    return counting.count_pages(client)


def count_terms(client: OpenSearchClient) -> None:
    """Take the census, of a sample."""
    counting.store_census(client, counting.take_census(client, sampled=_SAMPLED))


def _bodies(pages: Iterator[SharedPage], sites: defaultdict[str, set[str]]) -> Iterator[dict[str, Any]]:
    for page in pages:
        _note(sites, page)
        yield body_of(page)


def _note(sites: defaultdict[str, set[str]], page: SharedPage) -> None:
    for url in known_addresses([page]):
        known = sites[site_of(url)]
        known.add(url)
        if len(known) > 4 * SAMPLE:
            known.intersection_update(even_sample(known, SAMPLE))


def _send(client: OpenSearchClient, bodies: Iterator[dict[str, Any]]) -> None:
    lines: list[str] = []
    size = 0
    for body in bodies:
        lines += (
            json.dumps({"index": {"_id": document_id(body["number"])}}),
            json.dumps(body, ensure_ascii=False),
        )
        size += len(lines[-1])
        if size > _REQUEST_BYTES:
            _send_lines(client, lines)
            lines, size = [], 0
    _send_lines(client, lines)


def _send_lines(client: OpenSearchClient, lines: list[str]) -> None:
    if lines:
        text = "\n".join((*lines, "")).encode("utf-8", "replace").decode()
        if _ask_patiently(client, f"/{INDEX}/_bulk?filter_path=errors", text)["errors"]:
            raise SystemExit("a document was refused")


def _ask_patiently(client: OpenSearchClient, path: str, text: str) -> Json:
    """The answer, also of a node that has no memory left for a moment: what is sent again is there once."""
    for _ in range(_TRIES):
        with suppress(SearchUnavailable):
            return client.ask("POST", path, text, within_s=_WITHIN_S)
        time.sleep(_PAUSE_S)
    raise SystemExit("the node takes no more")


def _set(client: OpenSearchClient, settings: dict[str, object]) -> None:
    client.ask("PUT", f"/{INDEX}/_settings", {"index": settings}, within_s=_WITHIN_S)
