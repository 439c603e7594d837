"""A web in memory, made from a collection folder, for comparing crawlers: what one fetches, and what it should find.

The subject index of the 2007 schools selection (pages `index/subject.*`) says which pages belong to which subject. It
is hidden from crawlers: its pages, links to them, and the line of each page that names its subjects.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from repair.errors import EvaluationFailed
from repair.model import Document, Link
from repair.parse import htmlpage
from repair.parse.collectionfolder import collection_folder, is_collection_folder
from repair.parse.problems import ImportProblems

_INDEX = "/index/"
_SUBJECT = "/index/subject."
_SUBJECT_LINE = re.compile(r"^.*Related subjects:.*$", re.MULTILINE)
_SUBJECT_WORDS = "Related subjects"
_MAX_BYTES = 2_000_000
_MAX_LINKS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTopic:
    """A topic whose pages are known."""

    name: str
    pages: frozenset[str]


class SimulatedWeb:
    """Pages by address, and the topics that they belong to."""

    def __init__(self, documents: Mapping[str, Document], topics: Sequence[SimulatedTopic]) -> None:
        self.documents = documents
        self.topics = tuple(topics)

    @classmethod
    def load(cls, folder: Path) -> "SimulatedWeb":
        """The web of a collection folder with a subject index. Raises EvaluationFailed."""
        if not is_collection_folder(folder):
            raise EvaluationFailed(f"{folder}: not a collection folder")
        items = collection_folder(folder, ImportProblems())
        read = (
            item
            if isinstance(item, Document)
            else htmlpage.document(item, max_bytes=_MAX_BYTES, max_links=_MAX_LINKS)
            for item in items
        )
        return cls.from_documents({document.url: document for document in read if document is not None})

    @classmethod
    def from_documents(cls, documents: Mapping[str, Document]) -> "SimulatedWeb":
        """Split the subject index from the pages that crawlers see."""
        seen = {url: _without_subjects(document) for url, document in documents.items() if _INDEX not in url}
        topics = [
            SimulatedTopic(
                name=document.title.rpartition(" / ")[2].rpartition(" : ")[2].strip(),
                pages=frozenset(link.target_url for link in document.links if link.target_url in seen),
            )
            for url, document in sorted(documents.items())
            if _SUBJECT in url
        ]
        return cls(seen, topics)


def _without_subjects(document: Document) -> Document:
    links = tuple(_without_context(link) for link in document.links if _INDEX not in link.target_url)
    return replace(document, text=_SUBJECT_LINE.sub("", document.text), links=links)


def _without_context(link: Link) -> Link:
    return replace(
        link,
        before="" if _SUBJECT_WORDS in link.before else link.before,
        after="" if _SUBJECT_WORDS in link.after else link.after,
    )
