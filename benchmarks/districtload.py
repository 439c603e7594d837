"""Fills a district's index with more pages than there are, fast: documents are built once, and sent to any cluster.

    python -m benchmarks.districtload COLLECTION --pages N --file BULK [--nodes URL... [--shards N] [--replicas N]]

COLLECTION is the data folder of a collection, whose pages come first and unchanged; then come variations of them, as
in `variations`, made of terms instead of words: nothing is parsed. The file is written unless it is there, as
requests to `_bulk`; with --nodes it is sent to an empty cluster, without refreshes and replicas until all is there.
"""

import argparse
import json
import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from repair.collection.collection import Collection
from repair.collection.index.fulltext import link_terms
from repair.opensearch import counting, publishing
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.outgoing import known_addresses, shared_page
from repair.opensearch.pagedocument import INDEX, SharedPage, body_of, document_id, site_of
from repair.opensearch.sitesheets import SAMPLE, sheet
from repair.settings import CollectionSettings
from repair.text.urls import even_sample

_HOST = re.compile(r"^(https?://)([^/]+)")
_REQUEST_BYTES = 4_000_000
_WITHIN_S = 600.0
_SEPARATOR = b"\x1e\n"  # between requests; JSON has it escaped


def documents(collection: Collection, count: int) -> Iterator[dict[str, Any]]:
    """`count` documents: the pages of a collection, each followed by its variations."""
    numbers = collection.numbers()
    times, more = divmod(count, len(numbers))
    other: SharedPage | None = None
    sites: defaultdict[str, set[str]] = defaultdict(set)
    for at, number in enumerate(numbers):
        page = shared_page(collection, number)
        if page is None:
            continue
        for variation in range(times + (at < more)):
            written = page if not variation else _vary(page, other or page, variation)
            yield body_of(written)
            for url in known_addresses([written]):
                known = sites[site_of(url)]
                known.add(url)
                if len(known) > 4 * SAMPLE:
                    known.intersection_update(even_sample(known, SAMPLE))
        other = page
    yield from (sheet(site, known) for site, known in sites.items() if site)


def _vary(page: SharedPage, other: SharedPage, variation: int) -> SharedPage:
    document, fields = page.document, page.entry.fields
    links = tuple(replace(link, target_url=_elsewhere(link.target_url, variation)) for link in document.links)
    marks = other.entry.fields["title"] or ["page"]
    mark = marks[zlib.crc32(f"{variation} {document.url}".encode()) % len(marks)]
    own, foreign = fields["body"], other.entry.fields["body"]
    half = len(document.text) // 2
    varied = {
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
        entry=replace(page.entry, fields=varied),
    )


def _elsewhere(url: str, variation: int) -> str:
    return _HOST.sub(rf"\g<1>v{variation}.\g<2>", url)


def write(collection: Collection, count: int, file: Path) -> None:
    """The requests that bring so many documents into an index."""
    partial = file.with_suffix(".partial")
    with partial.open("wb") as requests:
        size = 0
        for body in documents(collection, count):
            action = json.dumps({"index": {"_id": document_id(body["number"])}})
            lines = f"{action}\n{json.dumps(body, ensure_ascii=False)}\n".encode("utf-8", "replace")
            size += requests.write(lines)
            if size > _REQUEST_BYTES:
                requests.write(_SEPARATOR)
                size = 0
    partial.rename(file)


def _requests(file: Path) -> Iterator[str]:
    with file.open("rb") as lines:
        waiting: list[bytes] = []
        for line in lines:
            if line == _SEPARATOR:
                yield b"".join(waiting).decode()
                waiting = []
            else:
                waiting.append(line)
        if waiting:
            yield b"".join(waiting).decode()


def load(client: OpenSearchClient, file: Path, *, shards: int, replicas: int) -> int:
    """Send a file to an empty cluster, then take the census; returns how many pages there are."""
    publishing.install(client, shards=shards, replicas=0)
    _set(client, {"refresh_interval": "-1", "translog.durability": "async"})
    for request in _requests(file):
        answer = client.ask("POST", f"/{INDEX}/_bulk?filter_path=errors", request, within_s=_WITHIN_S)
        if answer["errors"]:
            raise SystemExit("a document was refused")
    _set(client, {"refresh_interval": "5s", "translog.durability": "request", "number_of_replicas": replicas})
    counting.store_census(client, counting.take_census(client))
    return counting.count_pages(client)


def _set(client: OpenSearchClient, settings: dict[str, object]) -> None:
    client.ask("PUT", f"/{INDEX}/_settings", {"index": settings}, within_s=_WITHIN_S)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", type=Path)
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--nodes", nargs="+")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=0)
    told = parser.parse_args(arguments)
    if not told.file.exists():
        with Collection.open(told.collection, CollectionSettings(max_pages=10_000_000)) as collection:
            began = time.process_time()
            write(collection, told.pages, told.file)
            spent = 1_000 * (time.process_time() - began) / told.pages
            print(f"written: {spent:.2f} ms of processor a page, {told.file.stat().st_size / 1e6:.0f} MB")
    if told.nodes:
        began = time.monotonic()
        count = load(OpenSearchClient(told.nodes), told.file, shards=told.shards, replicas=told.replicas)
        print(f"{count} pages sent, {count / (time.monotonic() - began):.0f} a second")


if __name__ == "__main__":
    main()
