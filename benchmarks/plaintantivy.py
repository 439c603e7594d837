"""tantivy alone, used as in its documentation: title and text are indexed, and queries parsed from words.

It uses English stems and BM25, without links, addresses or a trained model.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import tantivy

from repair.model import HeldPage

_FIELDS = ["title", "body"]
_HEAP_BYTES = 256 * 1024**2
_DONE = "complete"
_SAID = re.compile(r"\w+")


class PlainTantivy:
    """An index of pages in its own folder."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._searcher = index.searcher()

    @classmethod
    def open_or_build(cls, directory: Path, pages: Iterable[HeldPage]) -> Self:
        """Open the index of an earlier run, or build it; only then are the pages read."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("url", stored=True, tokenizer_name="raw")
        for name in _FIELDS:
            builder.add_text_field(name, tokenizer_name="en_stem")
        directory.mkdir(parents=True, exist_ok=True)
        index = tantivy.Index(builder.build(), path=str(directory))
        if not (directory / _DONE).exists():
            writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
            writer.delete_all_documents()
            for page in pages:
                writer.add_document(tantivy.Document(url=page.url, title=page.title, body=page.text))
            writer.commit()
            writer.wait_merging_threads()
            (directory / _DONE).touch()
        index.reload()
        return cls(index)

    def top(self, words: Sequence[str], limit: int) -> object:
        # Leave out what has a meaning in the query language.
        query = self._index.parse_query(" ".join(_SAID.findall(" ".join(words))), _FIELDS)
        return self._searcher.search(query, limit).hits
