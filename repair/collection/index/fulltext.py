"""The full-text index: terms of pages in, page numbers by BM25 out.

tantivy does the work but none of the thinking: the terms are ours (`repair.words`), joined by spaces
and cut at spaces, so that the index holds exactly the terms that a query asks for. Its BM25 is Lucene's (k1 1.2,
b 0.75, idf `ln(1 + (N - df + 0.5) / (df + 0.5))`, which is never negative); the only liberty it takes is that field
lengths above 40 terms are rounded to what one byte can say. Deleted pages count in N and df until their
segment is merged.

An `Index` is one directory of one format. Who may write, and when all is made anew, is `repair.indexing`'s affair.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import tantivy

from repair import urls, words
from repair.errors import CollectionError
from repair.model import Document
from repair.structure import squeezed

FORMAT = "3"
"""Changes whenever the fields, or what `repair.words` makes of a text, change: an older index is made anew."""

FIELDS = ("title", "headings", "url", "anchors", "names", "body")
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"title": 3.0, "headings": 0.5, "url": 1.0, "anchors": 1.5, "body": 1.0}
)

_MAX_CHARACTERS = 400_000  # of a page's text; the rest of a huge page adds cost, hardly meaning
_MAX_TERMS = 64
_MAX_TERM_BYTES = 255
_MAX_NAME = 60
_FREQUENCIES = (
    100_000  # remembered until the next commit; a page has a few hundred terms, most of them common
)
_HEAP_BYTES = 256_000_000  # only as much is taken as a commit needs; a full heap would make one more segment


class IndexDamaged(CollectionError):
    """The index directory cannot be read; it is to be made anew from the pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page as it is indexed: its terms by field; without any it is taken out."""

    page: int
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)


def entry_of(page: int, document: Document, anchors: Iterable[str], linked: Iterable[str] = ()) -> Entry:
    """A page and the words others link to it with, as terms by field; `linked` are the addresses it links to,
    in normal form."""
    language = document.language
    anchors = tuple(anchors)
    silent = {anchor for anchor in set(anchors) if words.is_stop_anchor(anchor)}
    headings = " \n".join((*document.headings, *document.keywords, document.description))
    telling = " \n".join(anchor for anchor in anchors if anchor not in silent)
    return Entry(
        page=page,
        fields={
            "title": words.terms(document.title, language),
            "headings": words.terms(headings[:_MAX_CHARACTERS], language),
            "url": words.terms(" ".join(urls.path_words(document.url)), language),
            "anchors": words.terms(telling[:_MAX_CHARACTERS], language),
            "names": _names(document.title, anchors),
            "body": words.terms(document.text[:_MAX_CHARACTERS], language),
            "links": [term for url in linked for term in (url, _directory(url))],
        },
    )


def _directory(url: str) -> str:
    """What `urls.directory` says of an address in normal form, without taking it apart: pages have many links."""
    return url[: url.partition("?")[0].rindex("/") + 1]


def _names(title: str, anchors: Iterable[str]) -> list[str]:
    """What the page is called, each name one term: `Window.open()` and `window open` are the same."""
    return [name for text in (title, *anchors) if (name := squeezed(text)) and len(name) <= _MAX_NAME]


class Index:
    """One index directory. Any number of processes may read it, one may write."""

    def __init__(self, directory: Path, *, create: bool = False) -> None:
        """Open the index in a directory, or `create` one; raises IndexDamaged when there is none to be read."""
        self.directory = directory
        self._schema = _schema()
        self._writer: tantivy.IndexWriter | None = None
        self._frequencies: dict[tuple[str, str], int] = {}
        with self._guarded():
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
            for term, weight in _sound(terms)
            for name, boost in weights.items()
            if boost > 0
        ]
        if not clauses or limit < 1:
            return ()
        with self._guarded():
            searcher = self._index.searcher()
            hits = searcher.search(tantivy.Query.boolean_query(clauses), limit, count=False).hits
            pages = searcher.fast_field_values("page", [address for _, address in hits])
        if None in pages:  # a damaged column
            raise IndexDamaged(f"{self.directory}: entries without a page number")
        return tuple(
            (int(page), score) for page, (score, _) in zip(pages, hits, strict=True) if page is not None
        )

    def document_frequency(self, term: str, name: str) -> int:
        """In how many pages a field has a term."""
        known, key = self._frequencies, (name, term)  # this very dict: after a commit there is another one
        found = known.get(key)
        if found is None:
            with self._guarded():
                found = int(self._index.searcher().doc_freq(name, term))
            if len(known) < _FREQUENCIES:
                known[key] = found
        return found

    def size(self) -> int:
        """How many pages the index holds."""
        with self._guarded():
            return int(self._index.searcher().num_docs)

    def update(self, entries: Iterable[Entry]) -> None:
        """Put entries in the place of what the index had of these pages, all at once, for good and for all to see.

        Raises IndexDamaged also when another process is writing.
        """
        with self._guarded():
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
                # A commit that failed, on a full disk, leaves a writer without its thread: the next commit would
                # drop what it was given and say that all is well.
                self._writer = None
                raise
            self._reload()

    def settle(self) -> None:
        """Wait until tantivy has joined the small segments of many updates: a search looks into each of them."""
        with self._guarded():
            if self._writer is not None:
                self._writer.wait_merging_threads()  # which ends the writer; the next update takes another
                self._writer = None
                self._reload()

    def reload(self) -> None:
        """See what another process has committed."""
        with self._guarded():
            self._reload()

    def _reload(self) -> None:
        self._index.reload()
        self._frequencies = {}

    def close(self) -> None:
        """Let another process write; what was not committed is lost."""
        self._writer = None

    def _clause(self, name: str, term: str, boost: float) -> tantivy.Query:
        query = tantivy.Query.term_query(self._schema, name, term, index_option="freq")
        return tantivy.Query.boost_query(query, boost)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, OSError) as error:
            raise IndexDamaged(f"{self.directory}: {_first_line(error)}") from error
        except BaseException as error:
            # A flipped byte can make the Rust code panic; that class derives from BaseException and has no address.
            if type(error).__name__ != "PanicException":
                raise
            raise IndexDamaged(f"{self.directory}: {_first_line(error)}") from error


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    # Signed: tantivy-py deletes by an unsigned term without finding it (0.27).
    builder.add_integer_field("page", indexed=True, fast=True, stored=False)
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _document(entry: Entry) -> tantivy.Document:
    document = tantivy.Document()
    document.add_integer("page", entry.page)
    for name in FIELDS:
        terms = entry.fields.get(name, ())
        document.add_text(name, " ".join(terms).encode("utf-8", "replace").decode())
    return document


def _sound(terms: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Terms that the index could hold, each once with its weights added, the heaviest first."""
    weights: dict[str, float] = {}
    for term, weight in terms:
        if _is_sound(term) and math.isfinite(weight) and weight > 0:
            weights[term] = weights.get(term, 0.0) + weight
    heaviest = sorted(weights.items(), key=lambda pair: -pair[1])
    return [(term, min(weight, 1e6)) for term, weight in heaviest[:_MAX_TERMS]]


def _is_sound(term: str) -> bool:
    if term.isascii():
        return 0 < len(term) <= _MAX_TERM_BYTES
    try:
        return len(term.encode()) <= _MAX_TERM_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair, out of a broken page
        return False


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
