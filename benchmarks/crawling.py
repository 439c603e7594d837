"""Harvest rate of crawlers on a simulated web: breadth-first, Fish-Search and ours, as a table in Markdown.

    python -m benchmarks.crawling FOLDER [--topics N] [--pages 100 500] [--ceiling]

FOLDER is a collection folder with a subject index (the 2007 schools selection). Each crawler gets the same twenty
seeds, pages of the topic drawn at random; the classifiers learn from them and from held pages drawn at random (twenty
for Fish-Search, as in the paper, 300 for ours). Seeds count neither as fetched nor as found. `--ceiling` crawls
nothing of ours, but shows how many pages of each topic links lead to at all.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from repair.crawling.classifier import learn_topic
from repair.crawling.pagejudge import BELONGS, LEAST_EXAMPLES, document_terms
from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.evaluation.crawlers import crawl_breadth_first, crawl_fish_search, crawl_knowingly, crawl_topic
from repair.evaluation.simulatedweb import SimulatedTopic, SimulatedWeb

SEEDS = 20
HELD = 300


def crawl_all(
    web: SimulatedWeb, topic: SimulatedTopic, terms: Callable[[str], Terms], pages: int, chance: random.Random
) -> dict[str, list[str]]:
    """What each crawler fetched beyond the seeds, in order."""
    seeds = chance.sample(sorted(topic.pages), SEEDS)
    held = chance.sample(sorted(web.documents.keys() - set(seeds)), HELD)

    model = learn_topic([terms(url) for url in seeds], [terms(url) for url in held[:LEAST_EXAMPLES]])

    @cache
    def is_relevant(url: str) -> bool:
        return model.probability(terms(url)) >= BELONGS

    budget = pages + SEEDS
    fetched = {
        "breadth-first": crawl_breadth_first(web.documents, seeds, pages=budget),
        "Fish-Search": crawl_fish_search(web.documents, seeds, is_relevant, pages=budget),
        "ours": crawl_topic(
            web.documents,
            Topic(name=topic.name, seeds=tuple(seeds)),
            seeds,
            terms,
            background=[terms(url) for url in held],
            pages=budget,
        ),
    }
    return {name: [url for url in found if url not in seeds] for name, found in fetched.items()}


def show_ceilings(web: SimulatedWeb, topics: Sequence[SimulatedTopic], pages: int) -> None:
    """How many pages of each topic a crawler finds that knows what is behind every link."""
    print("| topic | pages | found at most | after pages |\n|---|---|---|---|")
    for number, topic in enumerate(topics):
        seeds = random.Random(number).sample(sorted(topic.pages), SEEDS)
        fetched = crawl_knowingly(web.documents, seeds, topic.pages, pages=pages + SEEDS)[SEEDS:]
        found = len(topic.pages.intersection(fetched))
        print(f"| {topic.name} | {len(topic.pages) - SEEDS} | {found} | {len(fetched)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--topics", type=int, default=24, help="how many, the largest first")
    parser.add_argument("--pages", type=int, nargs="+", default=[100, 500])
    parser.add_argument("--ceiling", action="store_true", help="show what any crawler could find at most")
    arguments = parser.parse_args()
    web = SimulatedWeb.load(arguments.folder)
    if arguments.ceiling:
        show_ceilings(web, largest_topics(web, arguments.topics), max(arguments.pages))
    else:
        compare(web, arguments.topics, arguments.pages)


def largest_topics(web: SimulatedWeb, count: int) -> Sequence[SimulatedTopic]:
    """The topics with most pages."""
    return sorted(web.topics, key=lambda topic: (-len(topic.pages), topic.name))[:count]


def compare(web: SimulatedWeb, topics: int, budgets: Sequence[int]) -> None:
    """Crawl each of the largest topics with each crawler, and print how many of its pages each has found."""
    largest = largest_topics(web, topics)
    budgets, crawlers = sorted(budgets), ("breadth-first", "Fish-Search", "ours")
    print(f"| topic | pages | {' | '.join(f'{name} @{pages}' for pages in budgets for name in crawlers)} |")
    print("|---" * (2 + len(budgets) * len(crawlers)) + "|", flush=True)
    rates: dict[tuple[str, int], list[float]] = {}
    found: dict[tuple[str, int], list[float]] = {}
    started = time.process_time()

    @cache
    def terms(url: str) -> tuple[str, ...]:
        return tuple(document_terms(web.documents[url]))

    for number, topic in enumerate(largest):
        fetched = crawl_all(web, topic, terms, budgets[-1], random.Random(number))
        cells = []
        for pages in budgets:
            for name in crawlers:
                first = fetched[name][:pages]
                wanted = len(topic.pages) - SEEDS
                hits = len(topic.pages.intersection(first))
                rates.setdefault((name, pages), []).append(hits / max(1, len(first)))
                found.setdefault((name, pages), []).append(hits / wanted)
                cells.append(f"{hits / max(1, len(first)):.3f} ({hits / wanted:.2f})")
        print(f"| {topic.name} | {len(topic.pages) - SEEDS} | {' | '.join(cells)} |", flush=True)
    medians = [
        f"{statistics.median(rates[name, pages]):.3f} ({statistics.median(found[name, pages]):.2f})"
        for pages in budgets
        for name in crawlers
    ]
    print(f"| **median** | | {' | '.join(medians)} |")
    for pages in budgets:
        ours, fish, plain = (rates[name, pages] for name in ("ours", "Fish-Search", "breadth-first"))
        ratio = statistics.median(
            mine / max(theirs, 1 / pages) for mine, theirs in zip(ours, fish, strict=True)
        )
        below = sum(mine < theirs for mine, theirs in zip(ours, plain, strict=True))
        print(
            f"\nBudget {pages}: ours to Fish-Search, median of the ratios {ratio:.2f},"
            f" ratio of the medians {statistics.median(ours) / statistics.median(fish):.2f};"
            f" below breadth-first for {below} of {len(ours)} topics."
        )
    print(f"\n{(time.process_time() - started) / len(largest):.1f} s of CPU for a topic.", file=sys.stderr)


if __name__ == "__main__":
    main()
