"""tantivy alone, as whoever takes it from its documentation writes it: title and text, and a query parsed from words.

It cuts texts into English stems, scores by BM25, and knows nothing of links, addresses or anything learnt.
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
    """An index of pages in a folder of its own."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._searcher = index.searcher()

    @classmethod
    def made(cls, directory: Path, pages: Iterable[HeldPage]) -> Self:
        """One that an earlier run left is taken as it is, and the pages are not read."""
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
        # What the query language would read as more than a word is left out.
        query = self._index.parse_query(" ".join(_SAID.findall(" ".join(words))), _FIELDS)
        return self._searcher.search(query, limit).hits
