"""Queries for the new version of a lost page, which a person can edit, in the order that studies found best.

Klein's order: the title of an archived copy, unless it is a stop title; the lexical signature of the copy; tags;
the lexical signature of the link neighbourhood. Last come words of the URL. Empty queries are left out.
"""

from dataclasses import dataclass

from repair.collection.collection import Collection
from repair.evidence.hints import Hints
from repair.evidence.neighbourhood import LinkNeighbourhood, NeighbourhoodLimits
from repair.evidence.tags import Tags
from repair.evidence.url import UrlWords
from repair.model import BrokenLink, Document, Evidence
from repair.ranking.rankers import stop_anchors
from repair.settings import RepairSettings
from repair.text import termselection, words
from repair.text.stoptitles import is_stop_title

WEIGHTINGS = ("tfidf", "frequency", "divergence")
_CHARACTERS = 20_000
_TERMS_OF_A_PAGE = 200
_MAX_QUERY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersionOptions:
    """How many keywords of a copy, which weighting, and the limits of the link neighbourhood."""

    terms: int = 7
    weighting: str = WEIGHTINGS[0]
    reach: NeighbourhoodLimits = NeighbourhoodLimits()  # noqa: RUF009  (frozen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A query and its origin: title, keywords, tags, extended or address; `doubtful` for a stop title."""

    kind: str
    query: str
    doubtful: bool = False


class NewVersionQueries:
    """Builds the queries from a collection and its hints; every method blocks."""

    def __init__(self, collection: Collection, settings: RepairSettings, hints: Hints | None = None) -> None:
        self._collection = collection
        self._stop_titles = settings.stop_titles
        self._is_stop_anchor = stop_anchors(settings, hints)
        self._url_words = UrlWords(collection)
        self._tags = Tags(hints.tags, collection, self._is_stop_anchor) if hints else None

    def is_stop_title(self, title: str) -> bool:
        """Whether a title says nothing of its page."""
        return is_stop_title(title, self._stop_titles)

    def suggestions(
        self, link: BrokenLink, copy: Document | None, choices: NewVersionOptions
    ) -> tuple[Suggestion, ...]:
        """The queries for a lost page; `copy` is an archived copy of it."""
        title = copy.title[:_MAX_QUERY] if copy else ""
        neighbourhood = LinkNeighbourhood(self._collection, choices.reach, self._is_stop_anchor)
        found = [
            Suggestion(kind="title", query=title, doubtful=self.is_stop_title(title)),
            Suggestion(kind="keywords", query=" ".join(self.keywords(copy, choices)) if copy else ""),
            Suggestion(kind="tags", query=_query_text(self._tags.find(link)) if self._tags else ""),
            Suggestion(kind="extended", query=_query_text(neighbourhood.find(link))),
            Suggestion(kind="address", query=_query_text(self._url_words.find(link))),
        ]
        return tuple(each for each in found if each.query.strip())

    def keywords(self, copy: Document, choices: NewVersionOptions) -> tuple[str, ...]:
        """The words of a copy by which it can be found again, as written in it."""
        text = f"{copy.title}\n{copy.text}"[:_CHARACTERS]
        terms = words.terms(text, copy.language)
        words_by_term = dict.fromkeys((term for term, _ in self._select_terms(terms, choices)), "")
        for start, end, term in words.located_terms(text):
            if words_by_term.get(term) == "":
                words_by_term[term] = text[start:end].lower()
        return tuple(filter(None, words_by_term.values()))

    def _select_terms(self, terms: list[str], choices: NewVersionOptions) -> termselection.Weighted:
        frequency, pages = self._collection.document_frequency, self._collection.size()
        found: termselection.Weighted = ()
        if choices.weighting == "tfidf":
            found = termselection.lexical_signature(terms, frequency, pages, choices.terms)
        elif choices.weighting == "divergence":
            background = termselection.background_of(frequency, max(1, pages) * _TERMS_OF_A_PAGE)
            found = termselection.by_divergence(terms, background, choices.terms)
        return found or termselection.by_frequency(terms, choices.terms)


def _query_text(found: Evidence | None) -> str:
    return found.text[:_MAX_QUERY] if found else ""
