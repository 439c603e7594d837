"""The decision procedure of Martinez-Romo and Araujo (2011, section 10, figure 8) as a ranker.

    the anchor is one term and names nothing: only with a copy of the lost page, and only if a candidate is like it
    else, with a copy:    query with terms of copy, URL, context and tags; rank by divergence from the copy
    else, without a copy: query with terms of source page, URL, context and tags; rank by likeness of anchor and title

Each expansion term is queried together with the anchor, ten hits each, and the anchor once alone: expansion finds
more pages, the anchor alone ranks better (section 6.4). It is a baseline for evaluation, and for small collections
without a learned model.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from repair.collection.collection import FoundPage
from repair.collection.index.fulltext import WEIGHTS
from repair.model import BrokenLink, HeldPage
from repair.text import urls, words
from repair.text.fingerprints import cosine, dice, vector
from repair.text.termselection import Background, background_of, by_divergence, by_frequency, drop_common

EXPANSIONS = 10
"""Terms taken from each source."""
HITS = 10
"""Pages taken from each query."""
SIMILAR = 0.9
"""The least similarity to the copy when the anchor says little."""
_SMOOTHING = 500.0  # terms of background mixed into a candidate's model, so that no term is impossible
_TERMS_OF_A_PAGE = 200  # different terms, roughly; a constant factor of all background probabilities
_TERMS_OF_AN_ADDRESS = 5
_CHARACTERS = 20_000
_RARE = 0.02  # a capitalised word in a smaller share of the pages is taken for a name
_NAME = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-ЯԱ-Ֆ][\w'’\-]*|[A-Z]{2,}")


class SearchableCollection(Protocol):
    """Finds pages by terms, loads them, and knows how common terms are."""

    def search(
        self, terms: Iterable[tuple[str, float]], *, limit: int, weights: Mapping[str, float] = WEIGHTS
    ) -> tuple[FoundPage, ...]:
        """Saved pages, best first."""

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A page to offer; a higher score is better, within one answer only. `confidence` is between 0 and 1."""

    url: str
    title: str
    score: float
    confidence: float


class DecisionProcedure:
    """Figure 8, over a collection; `tags` returns the tags of the lost page."""

    def __init__(
        self,
        collection: SearchableCollection,
        *,
        tags: Callable[[BrokenLink], Sequence[str]] = lambda _: (),
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
    ) -> None:
        self._collection = collection
        self._tags = tags
        self._is_stop_anchor = is_stop_anchor

    def recommend(self, link: BrokenLink) -> tuple[Recommendation, ...]:
        """Pages to offer, best first; none when there is too little evidence."""
        anchor = () if self._is_stop_anchor(link.anchor) else tuple(dict.fromkeys(words.terms(link.anchor)))
        copy = self._collection.get(link.url)
        says_little = len(anchor) < 2 and not self.names_something(link.anchor)
        if says_little and copy is None:
            return ()
        found = self._find_candidates(
            anchor, self._expansions(link, copy), unlike=(link.url, link.source_url or "")
        )
        if copy is None:
            return _sort_by_score(
                found, lambda page: dice(_shape(link.anchor), _shape(page.title)), lambda score: score
            )
        lost = words.terms(_text(copy), copy.language)
        ranked = _sort_by_score(
            found,
            lambda page: -self.divergence(lost, words.terms(_text(page), page.language)),
            _confidence_of,
        )
        if says_little and not any(_likeness(lost, page) > SIMILAR for page in found):
            return ()
        return ranked

    def names_something(self, anchor: str) -> bool:
        """Whether an anchor has a proper name: a capitalised word that is rare, or not the first, or all capitals."""
        rare = _RARE * self._collection.size()
        for at, word in enumerate(words.segments(anchor)):
            if not _NAME.fullmatch(word):
                continue
            term = words.terms(word)[0]
            if (
                at > 0
                or (word.isupper() and len(word) > 1)
                or self._collection.document_frequency(term) < rare
            ):
                return True
        return False

    def divergence(self, lost: Sequence[str], candidate: Sequence[str]) -> float:
        """Divergence of the lost page's terms from a candidate's (equation 5), the candidate's model smoothed."""
        wanted, candidate_counts = Counter(lost), Counter(candidate)
        texts = self._texts()
        total = 0.0
        for term, count in wanted.items():
            share = count / len(lost)
            other = (candidate_counts[term] + _SMOOTHING * texts(term)) / (len(candidate) + _SMOOTHING)
            total += share * math.log(share / other)
        return total

    def _expansions(self, link: BrokenLink, copy: HeldPage | None) -> list[str]:
        """The terms that are added to the anchor, one at a time."""
        texts, addresses = self._texts(), self._addresses()
        context = words.terms(f"{link.before} {link.after}")
        address = words.terms(" ".join(urls.path_words(link.url)))
        chosen = [
            *by_divergence(address, addresses, EXPANSIONS),
            *by_divergence(context, texts, EXPANSIONS),
        ]
        source = self._collection.get(link.source_url) if link.source_url else None
        if copy is not None:
            chosen += by_divergence(words.terms(_text(copy), copy.language), texts, EXPANSIONS)
        elif source is not None:
            df, size = self._collection.document_frequency, self._collection.size()
            chosen += by_frequency(
                drop_common(words.terms(_text(source), source.language), df, size), EXPANSIONS
            )
        tags = [term for tag in self._tags(link)[:EXPANSIONS] for term in words.terms(tag)]
        return list(dict.fromkeys((*(term for term, _ in chosen), *tags[:EXPANSIONS])))

    def _texts(self) -> Background:
        """Background probabilities of terms in texts, in the collection as it is now."""
        return background_of(
            self._collection.document_frequency, max(1, self._collection.size()) * _TERMS_OF_A_PAGE
        )

    def _addresses(self) -> Background:
        """Background probabilities of terms in URLs."""
        return background_of(
            lambda term: self._collection.document_frequency(term, "url"),
            max(1, self._collection.size()) * _TERMS_OF_AN_ADDRESS,
        )

    def _find_candidates(
        self, anchor: Sequence[str], expansions: Sequence[str], *, unlike: Sequence[str]
    ) -> list[HeldPage]:
        seen: dict[str, None] = {}
        for more in ((), *((term,) for term in expansions)):
            query = [(term, 1.0) for term in (*anchor, *more)]
            for hit in self._collection.search(query, limit=HITS) if query else ():
                seen[hit.page.url] = None
        wanted = (url for url in seen if url not in unlike)
        return [page for page in map(self._collection.get, wanted) if page is not None]


def _sort_by_score(
    pages: Iterable[HeldPage], score: Callable[[HeldPage], float], confidence: Callable[[float], float]
) -> tuple[Recommendation, ...]:
    """Best first; equal scores keep the order in which they were found."""
    scored = [
        Recommendation(url=page.url, title=page.title, score=points, confidence=confidence(points))
        for page, points in ((page, score(page)) for page in pages)
    ]
    return tuple(sorted(scored, key=lambda each: -each.score))


def _confidence_of(score: float) -> float:
    """The confidence for a divergence, as a score below 0: in the same order, 1 for no divergence."""
    return math.exp(min(0.0, score))


def _shape(text: str) -> Mapping[str, float]:
    return dict.fromkeys(words.terms(text), 1.0)


def _text(page: HeldPage) -> str:
    return f"{page.title} \n{page.text[:_CHARACTERS]}"


def _likeness(lost: Sequence[str], page: HeldPage) -> float:
    return cosine(vector(lost), vector(words.terms(_text(page), page.language)))
