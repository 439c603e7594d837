"""Crawlers to compare on a simulated web: breadth-first, Fish-Search as in the paper, ours, and one that knows all.

Fish-Search (De Bra and Post 1994; the algorithm as Hersovici et al. 1998 state it, which the paper used): children of
a relevant page come first, of an irrelevant one later, and only `width` of them; a line of irrelevant pages dies
after `depth` steps. Whether a page is relevant says the classifier learnt from the first examples, yes or no.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count

from repair.crawling.classifier import learn_topic
from repair.crawling.pagejudge import PageJudge
from repair.crawling.topiccrawl import CrawlPolicy, TopicCrawl
from repair.crawling.topicmodel import Terms
from repair.crawling.topics import Topic
from repair.model import Document

DEPTH = 3
WIDTH = 5
RELEVANT_FACTOR = 1.5

Web = Mapping[str, Document]


def crawl_breadth_first(web: Web, seeds: Sequence[str], *, pages: int) -> list[str]:
    """The pages fetched, in order."""
    waiting, known, fetched = deque(seeds), set(seeds), list[str]()
    while waiting and len(fetched) < pages:
        url = waiting.popleft()
        if (document := web.get(url)) is None:
            continue
        fetched.append(url)
        for link in document.links:
            if link.target_url not in known:
                known.add(link.target_url)
                waiting.append(link.target_url)
    return fetched


def crawl_knowingly(web: Web, seeds: Sequence[str], wanted: Collection[str], *, pages: int) -> list[str]:
    """The pages that a crawler fetches which knows what is behind every link: wanted pages as soon as a link leads
    there, else the shortest way to the next one. Where it ends before its budget, no crawler can find more."""
    fetched = list(seeds[:pages])
    while len(fetched) < pages and (way := _way_to_next(web, fetched, wanted)):
        fetched += way[: pages - len(fetched)]
    return fetched


def _way_to_next(web: Web, fetched: Sequence[str], wanted: Collection[str]) -> list[str]:
    """The pages to fetch to get to the nearest wanted page; none when no link leads to another."""
    before: dict[str, str] = dict.fromkeys(fetched, "")
    waiting = deque(fetched)
    while waiting:
        url = waiting.popleft()
        for target in (link.target_url for link in web[url].links):
            if target in before or target not in web:
                continue
            before[target] = url
            waiting.append(target)
            if target in wanted:
                way = [target]
                while before[way[-1]] not in fetched:
                    way.append(before[way[-1]])
                return way[::-1]
    return []


def crawl_fish_search(
    web: Web,
    seeds: Sequence[str],
    is_relevant: Callable[[str], bool],
    *,
    pages: int,
    depth: int = DEPTH,
    width: int = WIDTH,
) -> list[str]:
    """The pages fetched, in order."""
    number = count()
    scores: dict[str, tuple[float, int]] = {}
    queue: list[tuple[float, int, str]] = []
    fetched: list[str] = []
    done: set[str] = set()

    def put(url: str, score: float, left: int) -> None:
        before = scores.get(url)
        if before is None or score > before[0]:
            heapq.heappush(queue, (-score, next(number), url))
        scores[url] = (score, left) if before is None else (max(score, before[0]), max(left, before[1]))

    for seed in seeds:
        put(seed, 1.0, depth)
    while queue and len(fetched) < pages:
        _, _, url = heapq.heappop(queue)
        if url in done or url not in web:
            continue
        done.add(url)
        fetched.append(url)
        left = scores[url][1]
        if left <= 0:
            continue
        relevant = is_relevant(url)
        first = int(width * RELEVANT_FACTOR) if relevant else width
        children = dict.fromkeys(link.target_url for link in web[url].links if link.target_url not in done)
        for place, child in enumerate(children):
            score = (1.0 if relevant else 0.5) if place < first else 0.0
            put(child, score, depth if relevant else left - 1)
    return fetched


def crawl_topic(
    web: Web,
    topic: Topic,
    seeds: Sequence[str],
    terms: Callable[[str], Terms],
    *,
    background: Sequence[Terms],
    pages: int,
) -> list[str]:
    """The pages that our crawler fetches, in order, with the whole budget spent."""
    judge = PageJudge(topic, learn_topic, positives=[terms(url) for url in seeds], background=background)
    judge.learn()
    policy = CrawlPolicy(max_pages=pages, max_bytes=1 << 60, stop_early=False)
    crawl = TopicCrawl(topic, judge, policy)
    crawl.add_seeds(seeds)
    fetched: list[str] = []
    while not crawl.reason_to_stop() and (link := crawl.choose()) is not None:
        if (document := web.get(link.url)) is None:
            crawl.note_failure(link)
            continue
        fetched.append(link.url)
        page = crawl.read(terms(link.url), title=document.title)
        crawl.note_page(link, page, document.links, final_url=link.url)
    return fetched
