"""How fast pages go into the district's OpenSearch and candidates come out, beside a school's own tantivy.

    python -m benchmarks.districtsearch COLLECTIONS [--pages N ...] [--nodes N ...] [--links N] --work DIR

COLLECTIONS holds collection folders, joined and varied (`variations`) to the number of pages wanted. For each number
of nodes a cluster is started, each node in its own JVM, and gets the pages as a school sends them. Then the same
links are asked of both: query features, candidates, and all that ranking loads of them. The processor time of a
district is that of its JVMs and the school's together. Nothing else should run meanwhile; say so where it did.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.districtanswers import send
from benchmarks.ranking import build_collection
from benchmarks.variations import Variations
from repair.collection.collection import Collection
from repair.model import BrokenLink
from repair.opensearch import counting
from repair.opensearch.census import EMPTY
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.pagedocument import INDEX
from repair.opensearch.sharedpages import SharedPages
from repair.ranking import rankmodel
from repair.ranking.learned import LearnedRanker, RankableCollection
from repair.settings import CollectionSettings
from tests.integration.opensearch.cluster import Cluster

_SEED = 7
_WARM = 20
_WITHIN_S = 60.0


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
    """Time and processor time from a broken link to the features of its candidates."""
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
    return f"| {name} | {p50:.1f} | {p95:.1f} | {here:.1f} | {there:.1f} |"


@contextmanager
def _cluster(nodes: int, heap: str) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), nodes=nodes, apart=True, heap=heap)
        try:
            yield cluster
        finally:
            cluster.stop()


def district(collection: Collection, links: Sequence[BrokenLink], nodes: int, heap: str) -> list[str]:
    """Indexing and asking, with so many nodes."""
    with _cluster(nodes, heap) as cluster:
        client, pids = OpenSearchClient(cluster.urls), [jvm.process.pid for jvm in cluster.jvms]
        before, began, here = cpu_s(pids), time.perf_counter(), time.process_time()
        sent = send(collection, client, replicas=min(1, nodes - 1), shards=nodes)
        rate, spent = sent / (time.perf_counter() - began), cpu_s(pids) - before
        own = 1_000 * (time.process_time() - here) / sent
        disk = client.ask("GET", f"/{INDEX}/_stats/store", within_s=_WITHIN_S)["_all"]["primaries"]["store"]
        shared = SharedPages(client, deadline_s=_WITHIN_S, census=counting.fetch_census(client) or EMPTY)
        asked = measure(f"OpenSearch, {nodes} node(s), {sent} pages", shared, links, pids)
        indexed = (
            f"{nodes} node(s): {rate:.0f} pages/s; CPU a page: nodes {1000 * spent / sent:.1f}, school {own:.1f};"
            f" {disk['size_in_bytes'] / sent / 1024:.1f} KiB a page without replicas"
        )
        return [indexed, asked]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--pages", nargs="+", type=int, default=[0], help="0 for the pages of the folders")
    parser.add_argument("--nodes", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--links", type=int, default=220)
    parser.add_argument("--heap", default="1g")
    parser.add_argument("--work", type=Path, required=True)
    arguments = parser.parse_args()
    variations = Variations(arguments.collections, _SEED, remembered=arguments.work)
    links = variations.links(arguments.links)
    print("| | p50 ms | p95 ms | CPU of the school, ms | CPU of the nodes, ms |\n|---|---|---|---|---|")
    for count in arguments.pages:
        directory = build_collection(variations, arguments.work, count or variations.size)
        with Collection.open(directory, CollectionSettings(max_pages=10_000_000)) as collection:
            print(measure(f"tantivy, {collection.page_count()} pages", collection, links, ()), flush=True)
            for nodes in arguments.nodes:
                print(*district(collection, links, nodes, arguments.heap), sep="\n", flush=True)


if __name__ == "__main__":
    main()
