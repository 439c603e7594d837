"""Repairable or not: the paper's link classifier beside our model, on collection folders.

    python -m benchmarks.linkclassifier COLLECTION... [--variant kept] [--limit 300] [--work DIR]

The other collections are the world, of which document frequencies are taken. Each link is judged twice, as in
`repair.evaluation.repairable`: as it is, and with all pages about its subject hidden. Also told: of the links that
`proxy.portal.linkjudging` would lead straight to a replacement, how many lead to the right page, or to one like it.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from proxy.portal.linkjudging import GOOD
from repair.collection.collection import Collection
from repair.evaluation.papers.linkclassifier import JudgedLink, TermCounts, compare, features_of, link_words
from repair.ranking import rankmodel
from repair.simulation.pseudobroken import BreakagePlan, Variant
from repair.simulation.testbed import UNRELATED, RankingTestbed, build_testbed
from repair.text import words

_WORLD_PAGES = 2_000
_LEAST = (0.6, 0.8, 0.9, GOOD)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--variant", default="kept", choices=[each.value for each in Variant])
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    worlds = {folder: _sample(folder) for folder in given.collections}
    with tempfile.TemporaryDirectory() as folder:
        for collection in given.collections:
            world = TermCounts.of(text for other in worlds if other != collection for text in worlds[other])
            plan = BreakagePlan(folder=collection, variant=Variant(given.variant), limit=given.limit)
            with build_testbed(plan, given.work or Path(folder), rankmodel.default()) as bench:
                print(json.dumps({"collection": collection.name, **_measure(bench, world)}), flush=True)


def _measure(bench: RankingTestbed, world: TermCounts) -> dict[str, object]:
    texts = _PageTerms(bench.collection)
    local = TermCounts.of(texts.all())
    judged, led = list[JudgedLink](), Counter[str]()
    ranker = bench.ranker()
    for number, case in enumerate(bench.cases()):
        if not bench.collection.holds(case.truth) or case.truth in case.hidden:
            continue
        terms, source = link_words(case.link), texts.of(case.link.source_url or "")
        ranked, ours = ranker.rank_all(case.link, bench.evidence(case), hidden=case.hidden)
        if ranked and ranker.offers(ranked, ours):
            right = ranked[0].page.url in _same(bench, case.truth)
            alike = right or _is_alike(bench, case.truth, ranked[0].page.page)
            for least in _reached(ranked[0].confidence):
                led[f"{least}: led"] += 1
                led[f"{least}: right"] += right
                led[f"{least}: alike"] += alike
        subject = bench.of_subject(case)
        judged.append(
            JudgedLink(
                link=number, features=features_of(terms, local, world, source), ours=ours, repairable=True
            )
        )
        bench.view.show(case, gone=True, copied=bench.copied)
        ranked, ours = ranker.rank_all(case.link, bench.evidence(case), hidden=case.hidden | subject)
        if ranked and ranker.offers(ranked, ours):
            led.update(f"{least}: led though gone" for least in _reached(ranked[0].confidence))
        hidden = [texts.of(url) for url in subject]
        features = features_of(terms, local, world, source, hidden=hidden)
        judged.append(JudgedLink(link=number, features=features, ours=ours, repairable=False))
    return {"links": len(judged) // 2, "accuracy": compare(judged), "led_straight": dict(led)}


def _reached(confidence: float) -> list[float]:
    return [least for least in _LEAST if confidence >= least]


def _same(bench: RankingTestbed, truth: str) -> tuple[str, ...]:
    number = bench.collection.page_number(truth)
    return bench.collection.same(number) if number is not None else ()


def _is_alike(bench: RankingTestbed, truth: str, page: int) -> bool:
    number = bench.collection.page_number(truth)
    if number is None:
        return False
    place = bench.likeness.places((page,))
    return bool(bench.likeness.to_all(number)[place][0] >= UNRELATED)


def _sample(folder: Path) -> list[Counter[str]]:
    with gzip.open(folder / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        pages = [json.loads(line) for line in islice(lines, _WORLD_PAGES)]
    return [Counter(words.terms(f"{page['title']} \n{page['text']}"[:20_000])) for page in pages]


class _PageTerms:
    """The terms of saved pages, each read once."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._known: dict[str, Counter[str]] = {}

    def of(self, url: str) -> Counter[str]:
        if url not in self._known:
            page = self._collection.get(url) if url else None
            text = f"{page.title} \n{page.text}"[:20_000] if page else ""
            self._known[url] = Counter(words.terms(text, page.language if page else ""))
        return self._known[url]

    def all(self) -> Iterator[Counter[str]]:
        summaries = self._collection.page_summaries(self._collection.numbers())
        return (self.of(page.url) for page in summaries.values())


if __name__ == "__main__":
    sys.exit(main())
