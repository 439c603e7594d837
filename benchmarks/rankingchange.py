"""Whether a change of code changed any ranking, and what one ranking costs, link by link beside another checkout.

    python -m benchmarks.rankingchange COLLECTION --links FOLDER [--before CHECKOUT] [--count N] [--json]

COLLECTION is the folder of a built collection (`benchmarks.ranking --work` makes them), `--links` a folder with
collection folders, whose links are ranked. A process of each checkout ranks one link after the other in turns, under
the same Python and packages; each says how much processor time it took. Then both rank every candidate, and all
features, scores and orders are compared. Exits with 1 when any page changed its place.
"""

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_SEED = 7
_WARM = 40
_RUN = f"import runpy; runpy.run_path({__file__!r}, run_name='__main__')"  # from the checkout, not from this folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far the rankings of one link are apart."""

    pages: bool
    order: bool
    scores: float
    features: float


def serve(directory: Path) -> None:
    """Rank the links that come on the standard input, in the checkout that PYTHONPATH names."""
    from repair.collection.collection import Collection
    from repair.ranking import rankmodel
    from repair.ranking.learned import LearnedRanker
    from repair.settings import CollectionSettings

    with Collection.open(directory, CollectionSettings(max_pages=10_000_000)) as collection:
        ranker = LearnedRanker(collection, rankmodel.default())
        while True:
            link, is_timed = pickle.load(sys.stdin.buffer)
            begun = time.thread_time()
            if is_timed:
                found: Any = [choice.page.url for choice in ranker.find(link)]
            else:
                pages, rows, _ = ranker.matrix(link)
                ranked, repairable = ranker.judge(pages, rows)
                found = (
                    [(each.page.url, each.score, each.confidence, each.reasons) for each in ranked],
                    repairable,
                    {page.url: row.tolist() for page, row in zip(pages, rows, strict=True)},
                )
            pickle.dump((1000 * (time.thread_time() - begun), found), sys.stdout.buffer)
            sys.stdout.buffer.flush()


class Ranking:
    """A process that ranks with the code of a checkout."""

    def __init__(self, checkout: Path, directory: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-O", "-c", _RUN, str(directory), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            cwd=checkout,
        )

    def ask(self, link: object, *, is_timed: bool) -> tuple[float, Any]:
        """Milliseconds of processor time, and what was found."""
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("a process without pipes")
        pickle.dump((link, is_timed), self._process.stdin)
        self._process.stdin.flush()
        answer: tuple[float, Any] = pickle.load(self._process.stdout)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def rankings(checkouts: dict[str, Path], directory: Path) -> Iterator[dict[str, Ranking]]:
    started = {who: Ranking(checkout, directory) for who, checkout in checkouts.items()}
    try:
        yield started
    finally:
        for each in started.values():
            each.close()


def compare(one: Any, other: Any) -> Difference:
    """Two answers to the same link: ranked candidates, whether any is worth offering, and features by page."""
    ranked, repairable, features = one
    ranked_before, repairable_before, features_before = other
    scores, scores_before = ({row[0]: row[1:3] for row in each} for each in (ranked, ranked_before))
    both = scores.keys() & scores_before.keys()
    apart = [abs(a - b) for url in both for a, b in zip(scores[url], scores_before[url], strict=True)]
    columns = [abs(a - b) for url in both for a, b in zip(features[url], features_before[url], strict=True)]
    return Difference(
        pages=scores.keys() != scores_before.keys(),
        order=[(row[0], row[3]) for row in ranked] != [(row[0], row[3]) for row in ranked_before],
        scores=max([*apart, abs(repairable - repairable_before)]),
        features=max(columns, default=0.0),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="rankings of two checkouts")
    parser.add_argument("collection", type=Path)
    parser.add_argument("--links", type=Path, help="a folder of collection folders")
    parser.add_argument("--before", type=Path, help="an earlier checkout of linkmend to compare with")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.collection)
        return
    from benchmarks.variations import Variations

    folders = sorted(folder.parent for folder in asked.links.glob("*/pages.jsonl.gz"))
    links = Variations(folders, _SEED, remembered=asked.collection.parent).links(_WARM + asked.count)
    checkouts = {"now": ROOT, **({"before": asked.before.resolve()} if asked.before else {})}
    spent: dict[str, list[float]] = defaultdict(list)
    differences: list[Difference] = []
    with rankings(checkouts, asked.collection.resolve()) as ranking:
        for number, link in enumerate(links):
            order = list(ranking.items())[:: -1 if number % 2 else 1]
            for who, each in order:
                milliseconds, _ = each.ask(link, is_timed=True)
                if number >= _WARM:
                    spent[who].append(milliseconds)
        if asked.before:
            differences = [
                compare(*(each.ask(link, is_timed=False)[1] for each in ranking.values())) for link in links
            ]
    changed = [number for number, each in enumerate(differences) if each.pages or each.order]
    told = {
        **{f"{who}, CPU p50 / p95, ms": _middle_and_high(values) for who, values in spent.items()},
        "ratio": _middle_and_high([one / other for one, other in zip(*spent.values(), strict=True)])
        if len(spent) > 1
        else (1.0, 1.0),
        "links": len(links),
        "other pages": sum(each.pages for each in differences),
        "another order or other reasons": sum(each.order for each in differences),
        "largest difference of a score": max((each.scores for each in differences), default=0.0),
        "largest difference of a feature": max((each.features for each in differences), default=0.0),
        "load average": os.getloadavg()[0],
    }
    print(
        json.dumps(told, indent=2)
        if asked.json
        else "\n".join(f"{name}: {value}" for name, value in told.items())
    )
    sys.exit(bool(changed))


def _middle_and_high(values: Sequence[float]) -> tuple[float, float]:
    return round(statistics.median(values), 2), round(sorted(values)[int(0.95 * len(values))], 2)


if __name__ == "__main__":
    main()
