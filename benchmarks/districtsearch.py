"""How the cost of candidates grows with the pages: a school's own tantivy beside a district's OpenSearch.

    python -m benchmarks.districtsearch COLLECTIONS --base FOLDER --pages N [N ...] --engine NAME --work DIR

COLLECTIONS holds collection folders, whose links are asked; FOLDER is a work folder of `benchmarks.ranking`, a
collection of variations of them. It is grown to each number of pages in turn (`districtload`), as tantivy or as
OpenSearch with each node in a JVM of its own; then the same links are asked: query features, candidates, and all that
ranking loads of them. The index is first on one node in one shard, then split into three on three nodes, merged into
one segment a shard both times. Of the node that has no shard no time is counted.
"""

import argparse
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.districtload import count_terms, grow_collection, grow_district, pages_of
from benchmarks.variations import Variations
from repair.collection.collection import Collection
from repair.model import BrokenLink
from repair.opensearch import counting, publishing
from repair.opensearch.census import EMPTY
from repair.opensearch.client import Json, OpenSearchClient
from repair.opensearch.pagedocument import INDEX, SharedPage
from repair.opensearch.sharedpages import SharedPages
from repair.ranking import rankmodel
from repair.ranking.learned import LearnedRanker, RankableCollection
from repair.settings import CollectionSettings
from tests.integration.opensearch.cluster import Cluster

_SEED = 7
_WARM = 200
_WITHIN_S = 60.0
_MERGING_S = 3_600.0
_SETTINGS = CollectionSettings(max_pages=10_000_000)
_SPLIT = f"{INDEX}-split"


def cpu_s(pids: Sequence[int]) -> float:
    """The processor time that processes have taken so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(
    name: str, collection: RankableCollection, links: Sequence[BrokenLink], pids: Sequence[int]
) -> str:
    """Time and processor time from a broken link to the features of its candidates; the first links warm up."""
    ranker = LearnedRanker(collection, rankmodel.default())
    prepare = collection.prepare if isinstance(collection, SharedPages) else lambda _: None
    for link in links[:_WARM]:
        prepare(link)
        ranker.matrix(link)
    taken, began = [], (time.process_time(), cpu_s(pids))
    for link in links[_WARM:]:
        start = time.perf_counter()
        prepare(link)
        ranker.matrix(link)
        taken.append(1_000 * (time.perf_counter() - start))
    count = len(taken)
    here, there = 1_000 * (time.process_time() - began[0]) / count, 1_000 * (cpu_s(pids) - began[1]) / count
    taken.sort()
    p50, p95 = taken[count // 2], taken[int(count * 0.95)]
    load = os.getloadavg()[0]
    return f"| {name} | {p50:.1f} | {p95:.1f} | {here:.1f} | {there:.1f} | load {load:.0f}"


class SplitClient(OpenSearchClient):
    """Asks the index that was split."""

    def ask(self, method: str, path: str, body: object = None, **more: Any) -> Json:
        """The answer of the other index."""
        return super().ask(method, path.replace(f"/{INDEX}/", f"/{_SPLIT}/"), body, **more)


class District:
    """A cluster whose pages are grown and asked."""

    def __init__(self, work: Path, heap: str) -> None:
        shutil.rmtree(work / "cluster", ignore_errors=True)
        self._cluster = Cluster(work / "cluster", nodes=3, apart=True, heap=heap)
        self._one, self._all = OpenSearchClient(self._cluster.urls[:1]), SplitClient(self._cluster.urls)
        self._pids = [jvm.process.pid for jvm in self._cluster.jvms]
        self._node = next(iter(self._one.ask("GET", "/_nodes/_local", within_s=_WITHIN_S)["nodes"]))
        self._sent = 0
        publishing.install(self._one, shards=1, replicas=0)
        own = {"index.routing.allocation.require._id": self._node}
        self._one.ask("PUT", f"/{INDEX}/_settings", own, within_s=_WITHIN_S)
        self._wait_for(INDEX)

    def stop(self) -> None:
        """End the nodes."""
        self._cluster.stop()

    def grow(self, pages: list[SharedPage], count: int) -> str:
        """Send more pages to the one node, and merge them."""
        before, began, here = cpu_s(self._pids[:1]), time.perf_counter(), time.process_time()
        found = grow_district(self._one, pages, self._sent, count)
        rate, own = (count - self._sent) / (time.perf_counter() - began), time.process_time() - here
        spent, sent = cpu_s(self._pids[:1]) - before, count - self._sent
        self._sent = count
        before = cpu_s(self._pids[:1])
        self._merge(INDEX)
        merging = cpu_s(self._pids[:1]) - before
        began = time.process_time()
        count_terms(self._one)
        disk = self._one.ask("GET", f"/{INDEX}/_stats/store", within_s=_WITHIN_S)["_all"]["primaries"][
            "store"
        ]
        return (
            f"{found} pages: {rate:.0f} pages/s; CPU a page: node {1000 * spent / sent:.2f} ms, sender"
            f" {1000 * own / sent:.2f} ms; merging {merging:.0f} s, census {time.process_time() - began:.0f} s;"
            f" {disk['size_in_bytes'] / found / 1024:.1f} KiB a page"
        )

    def _merge(self, index: str) -> None:
        self._one.ask("POST", f"/{index}/_forcemerge?max_num_segments=1", within_s=_MERGING_S)

    def ask_one(self, links: Sequence[BrokenLink]) -> str:
        """The links, of one node with one shard."""
        return measure(
            f"OpenSearch, 1 node, {self._sent} pages", self._shared(self._one), links, self._pids[:1]
        )

    def ask_three(self, links: Sequence[BrokenLink]) -> str:
        """The links, of three nodes with a shard each; afterwards all is as before."""
        self._one.ask("PUT", f"/{INDEX}/_settings", {"index.blocks.write": True}, within_s=_WITHIN_S)
        settings = {
            "index.number_of_shards": 3,
            "index.number_of_replicas": 0,
            "index.routing.allocation.total_shards_per_node": 3,
        }
        self._one.ask("POST", f"/{INDEX}/_split/{_SPLIT}", {"settings": settings}, within_s=_MERGING_S)
        self._wait_for(_SPLIT)
        self._merge(_SPLIT)
        spread = {
            "index.routing.allocation.require._id": None,
            "index.routing.allocation.total_shards_per_node": 1,
        }
        self._one.ask("PUT", f"/{_SPLIT}/_settings", spread, within_s=_WITHIN_S)
        time.sleep(1)
        self._wait_for(_SPLIT)
        name = f"OpenSearch, 3 nodes, {self._sent} pages"
        asked = measure(name, self._shared(self._all), links, self._pids)
        where = self._one.ask("GET", f"/_cluster/state/routing_nodes/{_SPLIT}", within_s=_WITHIN_S)
        shards = {node: len(its) for node, its in where["routing_nodes"]["nodes"].items()}
        self._one.ask("DELETE", f"/{_SPLIT}", within_s=_WITHIN_S)
        self._one.ask("PUT", f"/{INDEX}/_settings", {"index.blocks.write": None}, within_s=_WITHIN_S)
        return f"{asked}, shards {sorted(shards.values())}"

    def _wait_for(self, index: str) -> None:
        query = (
            "wait_for_status=green&wait_for_no_relocating_shards=true&wait_for_no_initializing_shards=true"
        )
        self._one.ask("GET", f"/_cluster/health/{index}?{query}&timeout=1800s", within_s=_MERGING_S)

    def _shared(self, client: OpenSearchClient) -> SharedPages:
        return SharedPages(client, deadline_s=_WITHIN_S, census=counting.fetch_census(self._one) or EMPTY)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--pages", nargs="+", type=int, required=True)
    parser.add_argument("--engine", choices=("tantivy", "opensearch"), required=True)
    parser.add_argument("--links", type=int, default=400)
    parser.add_argument("--heap", default="2g")
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    links = Variations(arguments.collections, _SEED, remembered=arguments.base.parent).links(arguments.links)
    with Collection.open(arguments.base, _SETTINGS) as collection:
        pages = pages_of(collection, arguments.work / "pages.pickle")
    if arguments.engine == "tantivy":
        grow_and_ask_tantivy(arguments, pages, links)
    else:
        grow_and_ask_opensearch(arguments, pages, links)


def grow_and_ask_tantivy(
    arguments: argparse.Namespace, pages: list[SharedPage], links: Sequence[BrokenLink]
) -> None:
    """Each number of pages in a copy of the base."""
    folder = arguments.work / "tantivy"
    if not folder.exists():
        shutil.copytree(arguments.base, folder)
    for count in arguments.pages:
        with Collection.open(folder, _SETTINGS) as collection:
            began, clock = time.process_time(), time.perf_counter()
            added = grow_collection(collection, pages, count)
            if added > 0:
                spent = 1_000 * (time.process_time() - began) / added
                print(
                    f"{added} added: {spent:.2f} ms CPU a page, {added / (time.perf_counter() - clock):.0f} a second"
                )
        with Collection.open(folder, _SETTINGS) as collection:
            print(measure(f"tantivy, {collection.page_count()} pages", collection, links, ()), flush=True)


def grow_and_ask_opensearch(
    arguments: argparse.Namespace, pages: list[SharedPage], links: Sequence[BrokenLink]
) -> None:
    """Each number of pages, on one node and on three."""
    district = District(arguments.work, arguments.heap)
    try:
        for count in arguments.pages:
            print(district.grow(pages, count), flush=True)
            print(district.ask_one(links), flush=True)
            print(district.ask_three(links), flush=True)
    finally:
        district.stop()


if __name__ == "__main__":
    main()
