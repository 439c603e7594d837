"""How fast pages are indexed, candidates retrieved and links ranked, and how much memory and disk a collection takes.

    python -m benchmarks.ranking COLLECTIONS [--pages N ...] [--huge] [--repeat N] [--work DIR] [--json]

COLLECTIONS holds collection folders; they are joined and varied (`variations`) to the number of pages wanted. For
rank-bm25 and plain tantivy, the same queries run on the same pages alternately, in one process; rank-bm25 is left out
at 300,000 pages, where it would take six gigabytes and some minutes for a round. Every figure comes with its
processor time, which other programs disturb less than the clock. docs/performance.md explains each figure.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from rank_bm25 import BM25Okapi

from benchmarks.plaintantivy import PlainTantivy
from benchmarks.spending import Figure, Rate, Spending, Taken, figure, rate, rate_table, table, taken_table
from benchmarks.variations import Variations, render_html, write_folder
from repair.collection.collection import Collection
from repair.importer import CollectionImporter
from repair.model import BrokenLink, Document, HeldPage, Page
from repair.parse.load import load
from repair.ranking import rankmodel
from repair.ranking.candidates import pages_for
from repair.ranking.learned import LearnedRanker
from repair.ranking.queryfeatures import QueryFeatureReader, QueryFeatures
from repair.settings import CollectionSettings
from repair.text import words

_SETTINGS = CollectionSettings(max_pages=10_000_000)
_HUGE = 300_000
_LINKS = 200
_COMPARED = 20
"""Links asked of rank-bm25, which takes about a second for each among 70,000 pages."""
_TOP = 100
_BM25, _TANTIVY = "rank-bm25", "plain tantivy"
_SAMPLE = 3_000
_SEED = 7


def import_pages(directory: Path, items: Iterable[Page | Document]) -> None:
    """Add pages to a collection as `linkmend import` does."""
    with Collection.open(directory, _SETTINGS) as collection:
        intake = CollectionImporter(collection, _SETTINGS)
        for item in items:
            intake.add(item)
        intake.flush()
        collection.commit()


def indexing(variations: Variations, scratch: Path, *, sample: int, repeat: int) -> list[Rate]:
    """Pages indexed per second, from HTML and from a collection folder, into a new collection."""
    documents = list(variations.documents(sample))
    words.language_of(
        "The model of languages is read once, before anything is measured, and not with a page."
    )
    pages = [_page(document) for document in documents]
    write_folder(documents, scratch / "folder")
    ways: dict[str, Callable[[], Iterable[Page | Document]]] = {
        "from HTML": lambda: pages,
        "from a collection folder": lambda: load(scratch / "folder"),
    }
    spent = {name: Spending(process=True) for name in ways}
    for number in range(repeat):
        for name, items in ways.items():
            directory = scratch / f"indexed-{number}"
            with spent[name].one():
                import_pages(directory, items())
            shutil.rmtree(directory)
    return [rate(name, spending, sample) for name, spending in spent.items()]


def _page(document: Document) -> Page:
    headers = (("Content-Type", "text/html"),)
    return Page(
        url=document.url,
        status=200,
        headers=headers,
        body=render_html(document),
        fetched_at=datetime.now(UTC),
    )


def build_collection(variations: Variations, work: Path, count: int) -> Path:
    """A collection of `count` pages; one from an earlier run is used as it is."""
    directory = work / f"{count}-pages"
    done = directory / "complete"
    if not done.exists():
        shutil.rmtree(directory, ignore_errors=True)
        _tell(f"building {count} pages")
        import_pages(directory, variations.documents(count))
        done.touch()
    return directory


def ranking(collection: Collection, links: Sequence[BrokenLink], *, repeat: int) -> list[Figure]:
    """Time from a broken link to the ranked list; then the time of each step."""
    ranker, reader = _ranker(collection, links), QueryFeatureReader(collection)
    query_features = [reader.read(link) for link in links]
    found = [list(pages_for(collection, each)) for each in query_features]
    measured = partial(_time_each, repeat=repeat, pages=collection.page_count())
    return [
        measured("ranking, evidence to list", links, ranker.find),
        measured("- query features", links, reader.read),
        measured("- candidates", query_features, lambda each: pages_for(collection, each)),
        measured("- summaries of the candidates", found, collection.page_summaries),
        measured("- term vectors of the candidates", found, collection.vectors),
    ]


def _ranker(collection: Collection, links: Sequence[BrokenLink]) -> LearnedRanker:
    """A ranker that has ranked before, with warm caches as in a running proxy."""
    ranker = LearnedRanker(collection, rankmodel.default())
    for link in links[:_COMPARED]:
        ranker.find(link)
    return ranker


def retrieval(
    collection: Collection, links: Sequence[BrokenLink], plain: Path, *, repeat: int, bm25: bool
) -> list[Figure]:
    """Run the same queries on the others and the collection alternately; plain tantivy has its index in `plain`."""
    reader = QueryFeatureReader(collection)
    query_features = [reader.read(link) for link in links[:_COMPARED]]
    asked = [_terms(each) for each in query_features]
    _tell(f"others read {collection.page_count()} pages")
    tantivy = PlainTantivy.open_or_build(plain, _saved_pages(collection))
    ranker = _ranker(collection, links)
    ways: dict[str, Callable[[int], object]] = {
        _TANTIVY: lambda at: tantivy.top(asked[at], _TOP),
        "index, text alone": lambda at: _hits(collection, asked[at], {"body": 1.0}),
        "index, all fields": lambda at: _hits(collection, asked[at], None),
        "candidates, all ways of asking": lambda at: pages_for(collection, query_features[at]),
        "ranking, evidence to list": lambda at: ranker.find(links[at]),
    }
    if bm25:
        reference = BM25Okapi(
            [words.terms(f"{page.title} \n{page.text}", page.language) for page in _saved_pages(collection)]
        )
        ways = {_BM25: lambda at: _top(reference, asked[at]), **ways}
    return _in_turns(ways, len(asked), repeat=repeat, pages=collection.page_count())


def _in_turns(
    ways: dict[str, Callable[[int], object]], count: int, *, repeat: int, pages: int
) -> list[Figure]:
    rounds: dict[str, list[Spending]] = {name: [] for name in ways}
    for _ in range(repeat):
        turn = {name: Spending() for name in ways}
        for at in range(count):
            for name, way in ways.items():
                with turn[name].one():
                    way(at)
        for name, spending in turn.items():
            rounds[name].append(spending)
    against = {name: rounds[name] for name in (_BM25, _TANTIVY) if name in rounds}
    return [figure(f"in turns: {name}", rounds[name], pages=pages, against=against) for name in ways]


def _terms(query_features: QueryFeatures) -> list[str]:
    return list(dict.fromkeys(term for terms in query_features.terms.values() for term in terms))


def _saved_pages(collection: Collection) -> Iterator[HeldPage]:
    numbers = collection.numbers()
    for start in range(0, len(numbers), _TOP):
        for summary in collection.page_summaries(numbers[start : start + _TOP]).values():
            page = collection.get(summary.url)
            if page is not None:
                yield page


def _top(reference: BM25Okapi, terms: Sequence[str]) -> object:
    scores = reference.get_scores(list(terms))
    return scores.argpartition(-min(_TOP, len(scores)))[-_TOP:]


def _hits(collection: Collection, terms: Sequence[str], weights: dict[str, float] | None) -> object:
    pairs = [(term, 1.0) for term in terms]
    if weights is None:
        return collection.hits(pairs, limit=_TOP)
    return collection.hits(pairs, limit=_TOP, weights=weights)


def memory_mb(directory: Path, links: Sequence[BrokenLink]) -> float:
    """Peak memory of a process that only opens the collection and ranks; run this in a new process."""
    with Collection.open(directory, _SETTINGS) as collection:
        ranker = LearnedRanker(collection, rankmodel.default())
        for link in links:
            ranker.find(link)
    # Not ru_maxrss, which a process inherits from the one that started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def measure_footprint(directory: Path, pages: int, links: Sequence[BrokenLink]) -> Taken:
    disk = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        memory = pool.submit(memory_mb, directory, links).result()
    return Taken(pages=pages, disk_mb=disk / 1024**2, memory_mb=memory)


def _time_each(
    name: str, asked: Sequence[object], work: Callable[..., object], *, repeat: int, pages: int
) -> Figure:
    rounds = []
    for _ in range(repeat):
        spending = Spending()
        for each in asked:
            with spending.one():
                work(each)
        rounds.append(spending)
    return figure(name, rounds, pages=pages)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="indexing, retrieval and ranking")
    parser.add_argument("collections", type=Path, help="a folder of collection folders")
    parser.add_argument("--pages", type=int, nargs="*", default=[5_000, 70_000], help="sizes to measure at")
    parser.add_argument(
        "--huge", action="store_true", help=f"also at {_HUGE} pages, which takes half an hour"
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--sample", type=int, default=_SAMPLE, help="pages to measure indexing with; 0 for none"
    )
    parser.add_argument("--work", type=Path, help="where built collections are kept for the next run")
    parser.add_argument("--no-reference", action="store_true", help="without rank-bm25, which needs memory")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    folders = sorted(folder.parent for folder in asked.collections.glob("*/pages.jsonl.gz"))
    with ExitStack() as scratched:
        scratch = Path(scratched.enter_context(tempfile.TemporaryDirectory(prefix="linkmend-benchmark-")))
        work = asked.work or scratch
        variations = Variations(folders, _SEED, remembered=work)
        links = variations.links(_LINKS)
        rates = (
            indexing(variations, scratch, sample=asked.sample, repeat=asked.repeat) if asked.sample else []
        )
        told: list[Figure] = []
        taken: list[Taken] = []
        for count in (*asked.pages, *((_HUGE,) if asked.huge else ())):
            directory = build_collection(variations, work, count)
            taken.append(measure_footprint(directory, count, links))
            with Collection.open(directory, _SETTINGS) as collection:
                told += ranking(collection, links, repeat=asked.repeat)
                plain, bm25 = work / f"{count}-pages-plain", not asked.no_reference and count < _HUGE
                told += retrieval(collection, links, plain, repeat=asked.repeat, bm25=bm25)
    if asked.json:
        found = {"indexing": rates, "ranking": told, "taken": taken}
        lists = {name: [asdict(each) for each in lines] for name, lines in found.items()}
        print(json.dumps(lists, indent=2))
        return
    print(rate_table(rates), table(told, (_BM25, _TANTIVY)), taken_table(taken), sep="\n\n")
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
