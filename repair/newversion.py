"""Ways to the new version of a lost page: queries a person can edit, in the order that studies found best.

Klein's order: the title of an archived copy, unless it is a stop title; the lexical signature of the copy; tags; the
lexical signature of the link neighbourhood. Last come words of the address. What there is no query for is left out.
"""

from dataclasses import dataclass

from repair import selection, words
from repair.collection import Collection
from repair.find import stop_anchors
from repair.hints import Hints
from repair.model import BrokenLink, Document, Evidence
from repair.neighbourhood import LinkNeighbourhood, Reach
from repair.settings import RepairSettings
from repair.sources.tags import Tags
from repair.sources.urlwords import UrlWords
from repair.titles import is_stop_title

WEIGHTINGS = ("tfidf", "frequency", "divergence")
_CHARACTERS = 20_000
_TERMS_OF_A_PAGE = 200
_MAX_QUERY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """How many keywords of a copy, weighed how, and how far to look among links."""

    terms: int = 7
    weighting: str = WEIGHTINGS[0]
    reach: Reach = Reach()  # noqa: RUF009  (frozen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A query and what it is made of: title, keywords, tags, extended or address; `doubtful` for a stop title."""

    kind: str
    query: str
    doubtful: bool = False


class NewVersion:
    """Makes the queries out of a collection and its hints; every method blocks."""

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
        self, link: BrokenLink, copy: Document | None, choices: Choices
    ) -> tuple[Suggestion, ...]:
        """The queries there are for a lost page, of which `copy` is what an archive has."""
        title = copy.title[:_MAX_QUERY] if copy else ""
        neighbourhood = LinkNeighbourhood(self._collection, choices.reach, self._is_stop_anchor)
        found = [
            Suggestion(kind="title", query=title, doubtful=self.is_stop_title(title)),
            Suggestion(kind="keywords", query=" ".join(self.keywords(copy, choices)) if copy else ""),
            Suggestion(kind="tags", query=_said(self._tags.find(link)) if self._tags else ""),
            Suggestion(kind="extended", query=_said(neighbourhood.find(link))),
            Suggestion(kind="address", query=_said(self._url_words.find(link))),
        ]
        return tuple(each for each in found if each.query.strip())

    def keywords(self, copy: Document, choices: Choices) -> tuple[str, ...]:
        """The words of a copy by which it can be found again, as they stand in it."""
        text = f"{copy.title}\n{copy.text}"[:_CHARACTERS]
        terms = words.terms(text, copy.language)
        wanted = dict.fromkeys((term for term, _ in self._weighed(terms, choices)), "")
        for start, end, term in words.located_terms(text):
            if wanted.get(term) == "":
                wanted[term] = text[start:end].lower()
        return tuple(filter(None, wanted.values()))

    def _weighed(self, terms: list[str], choices: Choices) -> selection.Weighted:
        frequency, pages = self._collection.document_frequency, self._collection.size()
        found: selection.Weighted = ()
        if choices.weighting == "tfidf":
            found = selection.lexical_signature(terms, frequency, pages, choices.terms)
        elif choices.weighting == "divergence":
            background = selection.background_of(frequency, max(1, pages) * _TERMS_OF_A_PAGE)
            found = selection.by_divergence(terms, background, choices.terms)
        return found or selection.by_frequency(terms, choices.terms)


def _said(found: Evidence | None) -> str:
    return found.text[:_MAX_QUERY] if found else ""
