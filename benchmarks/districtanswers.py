"""Whether ranking over the district's OpenSearch gives the same first answer as over a school's own collection.

    python -m benchmarks.districtanswers COLLECTION_FOLDER... --nodes URL... [--links N] [--gone] --work DIR

The folders are joined into one local collection, which is sent to an empty cluster as a school sends its pages. Both
are asked the same links, with the same model. *kept*: the lost page may be found, by its words only. *gone*: it may
not, but its saved copy is evidence; the first answer is then one of many that are alike. Every difference is printed
with its reason.
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.ranking import build_collection
from benchmarks.variations import Variations
from repair.collection.collection import Collection
from repair.evidence.savedcopy import SavedCopy
from repair.model import BrokenLink, Evidence
from repair.opensearch import counting, publishing
from repair.opensearch.census import EMPTY
from repair.opensearch.client import OpenSearchClient
from repair.opensearch.outgoing import known_addresses, shared_page
from repair.opensearch.pagedocument import INDEX
from repair.opensearch.sharedpages import SharedPages
from repair.opensearch.sitesheets import NewAddresses
from repair.ranking import rankmodel
from repair.ranking.candidates import pages_for
from repair.ranking.features import FEATURES
from repair.ranking.learned import LearnedRanker
from repair.ranking.queryfeatures import QueryFeatureReader
from repair.ranking.rankers import addresses
from repair.settings import CollectionSettings
from repair.text import urls

Row = npt.NDArray[np.float32]

_SEED = 7
_BATCH = 500
_WITHIN_S = 60.0


def send(collection: Collection, client: OpenSearchClient, *, shards: int = 3, replicas: int = 1) -> int:
    """Send a whole collection, then count its terms."""
    publishing.install(client, shards=shards, replicas=replicas)
    sent, numbers, new = 0, collection.numbers(), NewAddresses()
    for start in range(0, len(numbers), _BATCH):
        pages = (shared_page(collection, number) for number in numbers[start : start + _BATCH])
        shared = [page for page in pages if page is not None]
        sent += publishing.publish(client, shared)
        added = new.by_site(known_addresses(shared))
        publishing.note_addresses(client, added, {})
        new.told(url for addresses in added.values() for url in addresses)
    client.ask("POST", f"/{INDEX}/_refresh", within_s=_WITHIN_S)
    counting.store_census(client, counting.take_census(client))
    return sent


class Comparison:
    """The same links asked of both."""

    def __init__(self, local: Collection, shared: SharedPages, *, gone: bool) -> None:
        self._local, self._shared, self._gone = local, shared, gone
        model = rankmodel.default()
        self._rankers = [LearnedRanker(each, model, compare_addresses=gone) for each in (local, shared)]
        self._copies = [SavedCopy(each) for each in (local, shared)]
        self._readers = [QueryFeatureReader(each, compare_addresses=gone) for each in (local, shared)]
        self.cpu_s = [0.0, 0.0]

    def _evidence(self, link: BrokenLink, which: int) -> tuple[Evidence, ...]:
        copy = self._copies[which].find(link) if self._gone else None
        return (copy,) if copy else ()

    def _hidden(self, link: BrokenLink) -> frozenset[str]:
        return addresses(link) if self._gone else addresses(link) - {urls.normal(link.url)}

    def first(self, link: BrokenLink, which: int) -> tuple[str, float] | None:
        """The first answer and its score."""
        began = time.process_time()
        if which:
            self._shared.prepare(link)
        evidence = self._evidence(link, which)
        ranked, _ = self._rankers[which].rank_all(link, evidence, hidden=self._hidden(link))
        self.cpu_s[which] += time.process_time() - began
        return (ranked[0].page.url, ranked[0].score) if ranked else None

    def reason(self, link: BrokenLink, one: str, other: str) -> str:
        """What differs first: the evidence, the candidates or the features."""
        features = [reader.read(link, self._evidence(link, at)) for at, reader in enumerate(self._readers)]
        uneven = [
            name
            for name in ("terms", "names", "backlinks", "inlink_count", "language")
            if getattr(features[0], name) != getattr(features[1], name)
        ]
        if uneven:
            apart = [
                name
                for name in features[0].terms
                if features[0].terms.get(name) != features[1].terms.get(name)
            ]
            return f"evidence differs: {', '.join(uneven)} ({', '.join(apart)})"
        found = [
            {page.url for page in collection.page_summaries(list(pages_for(collection, each))).values()}
            for collection, each in zip((self._local, self._shared), features, strict=True)
        ]
        if not (one in found[1] and other in found[0]):
            return "one was not among the other's candidates (a tie at the end of the list)"
        rows = [self._rows(which, link) for which in (0, 1)]
        apart = [
            FEATURES[at]
            for at in range(len(FEATURES))
            if any(abs(rows[0][url][at] - rows[1][url][at]) > 1e-4 for url in (one, other))
        ]
        return f"features differ: {', '.join(apart[:6])}; candidates differ by {len(found[0] ^ found[1])}"

    def _rows(self, which: int, link: BrokenLink) -> dict[str, Row]:
        evidence = self._evidence(link, which)
        pages, rows, _ = self._rankers[which].matrix(link, evidence, hidden=self._hidden(link))
        return {page.url: rows[at] for at, page in enumerate(pages)}


def compare(
    local: Collection, shared: SharedPages, links: Sequence[BrokenLink], *, gone: bool = False
) -> tuple[int, list[str], Comparison]:
    """How many first answers are the same, and the reason for each that is not."""
    both, same, reasons = Comparison(local, shared, gone=gone), 0, list[str]()
    for link in links:
        answers = [both.first(link, which) for which in (0, 1)]
        firsts = [answer[0] if answer else "" for answer in answers]
        if firsts[0] == firsts[1]:
            same += 1
        else:
            scores = " / ".join(f"{answer[1]:.4f}" if answer else "none" for answer in answers)
            reasons.append(
                f"{both.reason(link, *firsts)}: {firsts[0]} / {firsts[1]} ({scores}) for {link.url}"
            )
    return same, reasons, both


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--nodes", nargs="+", required=True)
    parser.add_argument("--links", type=int, default=500)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--gone", action="store_true", help="the lost page may not be found")
    parser.add_argument("--sent", action="store_true", help="the cluster has the pages already")
    arguments = parser.parse_args()
    variations = Variations(arguments.folders, _SEED, remembered=arguments.work)
    directory = build_collection(variations, arguments.work, variations.size)
    client = OpenSearchClient(arguments.nodes)
    with Collection.open(directory, CollectionSettings(max_pages=10_000_000)) as local:
        if not arguments.sent:
            print(f"sent {send(local, client)} pages")
        shared = SharedPages(client, deadline_s=_WITHIN_S, census=counting.fetch_census(client) or EMPTY)
        same, reasons, both = compare(local, shared, variations.links(arguments.links), gone=arguments.gone)
    print(*reasons, sep="\n")
    print(Counter(reason.partition(":")[0] for reason in reasons))
    print(f"same first answer: {same} of {arguments.links}; CPU of the school, s: {both.cpu_s}")


if __name__ == "__main__":
    main()
