"""The full-text index: terms of pages in, page numbers by BM25 out.

tantivy stores and searches, but the terms are ours (`repair.text.words`), joined by spaces and split at spaces, so
that the index has exactly the terms that a query uses. Its BM25 is Lucene's (k1 1.2, b 0.75, idf `ln(1 + (N - df +
0.5) / (df + 0.5))`, which is never negative); it deviates only in rounding field lengths above 40 terms to one byte.
Deleted pages count in N and df until their segment is merged.

A `FullTextIndex` is one directory of one format. `repair.collection.index.writer` decides which process writes and
when to rebuild.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import tantivy

from repair.errors import CollectionError
from repair.model import Document
from repair.text import urls, words
from repair.text.urlstructure import normalise_name

FORMAT = "5"
"""Changes whenever the fields, or the terms of `repair.text.words`, change: an older index is rebuilt."""

NOTHING = "//"
"""A term of each field of a page that would be empty, and of no text: so every field has a length in every page, and
its mean is the same in any index of the same pages. Lucene counts only the pages that have a field."""

DEEPER = 20
"""So many more hits are fetched than are wanted: which of equal ones are the last is not left to the engine."""

LINK = "//"
"""A term that the field `links` has once for each link."""

FIELDS = ("title", "headings", "url", "anchors", "names", "body")
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"title": 3.0, "headings": 0.5, "url": 1.0, "anchors": 1.5, "body": 1.0}
)

_MAX_CHARACTERS = 400_000  # of a page's text; the rest of a huge page adds cost, hardly meaning
_MAX_TERMS = 64
_MAX_ANCESTORS = 8
_MAX_TERM_BYTES = 255
_MAX_NAME = 60
_LONG_TERM = 6
_CACHED_FREQUENCIES = 100_000  # until the next commit; a page has a few hundred terms, most common
_HEAP_BYTES = 256_000_000  # a commit takes only what it needs; a full heap would make one more segment


class IndexDamaged(CollectionError):
    """The index directory cannot be read; it must be rebuilt from the pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """A page's index entry: its terms by field; without any the page is deleted from the index.

    `number` is the same in every collection: by it pages with equal scores are ordered.
    """

    page: int
    number: int = 0
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Weighted terms to search for, in which fields with which weights, and how many pages to find."""

    terms: Sequence[tuple[str, float]]
    limit: int
    weights: Mapping[str, float]


def entry_of(page: int, document: Document, anchors: Iterable[str], linked: Iterable[str] = ()) -> IndexEntry:
    """A page and the anchor texts of links to it, as terms by field; `linked` are the normal URLs it links to."""
    language = document.language
    headings = " \n".join((*document.headings, *document.keywords, document.description))
    return IndexEntry(
        page=page,
        number=urls.url_hash(document.url),
        fields={
            "title": words.terms(document.title, language),
            "headings": words.terms(headings[:_MAX_CHARACTERS], language),
            "url": words.terms(" ".join(urls.path_words(document.url)), language),
            **anchor_terms(document.title, tuple(anchors), language),
            "body": words.terms(document.text[:_MAX_CHARACTERS], language),
            "links": link_terms(linked),
        },
    )


def anchor_terms(title: str, anchors: Sequence[str], language: str) -> dict[str, list[str]]:
    """The fields of a page that depend on links of other pages to it."""
    silent = {anchor for anchor in set(anchors) if words.is_stop_anchor(anchor)}
    meaningful = " \n".join(anchor for anchor in anchors if anchor not in silent)
    return {
        "anchors": words.terms(meaningful[:_MAX_CHARACTERS], language),
        "names": _names(title, anchors),
    }


def link_terms(linked: Iterable[str]) -> list[str]:
    """The normal URLs that a page links to and the directories above them, each one term."""
    return [term for url in linked for term in (LINK, url, *ancestors(url))]


def ancestors(url: str) -> list[str]:
    """The directories above a normal URL, nearest first, up to its host; not parsed, since pages have many links.

    >>> ancestors("http://school.test/water/cycle.html?print=1")
    ['http://school.test/water/', 'http://school.test/']
    """
    path = url.partition("?")[0]
    start = path.find("//") + 2
    end = path.rfind("/", start)
    if end < 0:
        return [f"{path}/"]
    found: list[str] = []
    while end >= start:
        found.append(path[: end + 1])
        end = path.rfind("/", start, end)
    return found if len(found) <= _MAX_ANCESTORS else [*found[: _MAX_ANCESTORS - 1], found[-1]]


def _names(title: str, anchors: Iterable[str]) -> list[str]:
    """The names of a page, each one term: `Window.open()` and `window open` are the same."""
    return [name for text in (title, *anchors) if (name := normalise_name(text)) and len(name) <= _MAX_NAME]


class FullTextIndex:
    """One index directory. Any number of processes may read it, one may write."""

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        """Open the index in a directory, or `create` one; raises IndexDamaged when there is none to read."""
        self.directory = directory
        self._schema = _schema()
        self._writer: tantivy.IndexWriter | None = None
        self._frequencies: dict[tuple[str, str], int] = {}
        with self._translate_errors():
            if create:
                directory.mkdir(parents=True, exist_ok=True)
            elif not tantivy.Index.exists(str(directory)):
                raise IndexDamaged(f"{directory}: no index found")
            self._index = tantivy.Index(self._schema, path=str(directory))
            self._index.config_reader("manual")
            self._reload()

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[tuple[int, float], ...]:
        """Page numbers and scores, best first, for weighted terms; any string is a term, most find nothing."""
        clauses = [
            (tantivy.Occur.Should, self._clause(name, term, weight * boost))
            for term, weight in valid_terms(terms)
            for name, boost in weights.items()
            if boost > 0
        ]
        if not clauses or limit < 1:
            return ()
        with self._translate_errors():
            searcher = self._index.searcher()
            hits = searcher.search(tantivy.Query.boolean_query(clauses), limit + DEEPER, count=False).hits
            addresses = [address for _, address in hits]
            pages = searcher.fast_field_values("page", addresses)
            numbers = searcher.fast_field_values("number", addresses)
        if None in pages:  # a damaged column
            raise IndexDamaged(f"{self.directory}: entries without a page number")
        ordered = sorted(
            (rank_key(score, int(number or 0)), int(page), score)
            for page, number, (score, _) in zip(pages, numbers, hits, strict=True)
            if page is not None
        )
        return tuple((page, score) for _, page, score in ordered[:limit])

    def similar(self, term: str, *, limit: int) -> tuple[int, ...]:
        """Numbers of pages that have a term like this one: one letter changed, two in long terms."""
        distance = 1 if len(term) < _LONG_TERM else 2
        clauses = [
            (
                tantivy.Occur.Should,
                tantivy.Query.fuzzy_term_query(self._schema, name, term, distance, True, False),
            )
            for name in ("title", "headings", "anchors", "body")
        ]
        if not _is_valid(term):
            return ()
        with self._translate_errors():
            searcher = self._index.searcher()
            hits = searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False).hits
            pages = searcher.fast_field_values("page", [address for _, address in hits])
        return tuple(int(page) for page in pages if page is not None)

    def document_frequency(self, term: str, name: str) -> int:
        """How many pages have a term in a field."""
        known, key = self._frequencies, (name, term)  # this very dict: a commit replaces it
        found = known.get(key)
        if found is None:
            with self._translate_errors():
                found = int(self._index.searcher().doc_freq(name, term))
            if len(known) < _CACHED_FREQUENCIES:
                known[key] = found
        return found

    def size(self) -> int:
        """How many pages the index has."""
        with self._translate_errors():
            return int(self._index.searcher().num_docs)

    def update(self, entries: Iterable[IndexEntry]) -> None:
        """Replace the index entries of these pages in one commit, visible to all.

        Raises IndexDamaged also when another process is writing.
        """
        with self._translate_errors():
            if self._writer is None:
                # One thread: fewer segments to search, and the proxy keeps the other core.
                self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
            try:
                for entry in entries:
                    self._writer.delete_documents_by_term("page", entry.page)
                    if entry.fields:
                        self._writer.add_document(_document(entry))
                self._writer.commit()
            except BaseException:
                # A failed commit, on a full disk, leaves a writer without its thread: the next commit would
                # drop its input and report success.
                self._writer = None
                raise
            self._reload()

    def settle(self) -> None:
        """Wait until tantivy has merged the small segments of many updates: a search visits each of them."""
        with self._translate_errors():
            if self._writer is not None:
                self._writer.wait_merging_threads()  # this ends the writer; the next update opens another
                self._writer = None
                self._reload()

    def reload(self) -> None:
        """Load what another process has committed."""
        with self._translate_errors():
            self._reload()

    def _reload(self) -> None:
        self._index.reload()
        self._frequencies = {}

    def close(self) -> None:
        """Let another process write; uncommitted changes are lost."""
        self._writer = None

    def _clause(self, name: str, term: str, boost: float) -> tantivy.Query:
        query = tantivy.Query.term_query(self._schema, name, term, index_option="freq")
        return tantivy.Query.boost_query(query, boost)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, OSError) as error:
            raise IndexDamaged(f"{self.directory}: {_first_line(error)}") from error
        except BaseException as error:
            # A flipped byte can make the Rust code panic; its exception class derives from BaseException and
            # cannot be imported.
            if type(error).__name__ != "PanicException":
                raise
            raise IndexDamaged(f"{self.directory}: {_first_line(error)}") from error


def rank_key(score: float, number: int) -> tuple[float, int]:
    """Sorts best first, and equal scores by page number; those that differ by rounding alone are equal.

    >>> rank_key(20.000001, 5) < rank_key(20.000002, 4)
    False
    >>> rank_key(20.1, 5) < rank_key(20.0, 4)
    True
    """
    return (-round(math.log(score), 5) if score > 0 else math.inf, number)


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # Signed: tantivy-py deletes by an unsigned term without finding it (0.27).
    builder.add_integer_field("page", indexed=True, fast=True, stored=False)
    builder.add_integer_field("number", indexed=False, fast=True, stored=False)
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _document(entry: IndexEntry) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer("page", entry.page)
    document.add_integer("number", entry.number)
    for name in FIELDS:
        terms = entry.fields.get(name, ())
        document.add_text(name, " ".join(terms).encode("utf-8", "replace").decode() or NOTHING)
    return document


def valid_terms(terms: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Terms that an index could have, each once with its weights added, the heaviest first."""
    weights: dict[str, float] = {}
    for term, weight in terms:
        if _is_valid(term) and math.isfinite(weight) and weight > 0:
            weights[term] = weights.get(term, 0.0) + weight
    heaviest = sorted(weights.items(), key=lambda pair: -pair[1])
    return [(term, min(weight, 1e6)) for term, weight in heaviest[:_MAX_TERMS]]


def _is_valid(term: str) -> bool:
    if term.isascii():
        return 0 < len(term) <= _MAX_TERM_BYTES
    try:
        return len(term.encode()) <= _MAX_TERM_BYTES
    except UnicodeEncodeError:  # a lone surrogate, from a broken page
        return False


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
