"""Ranking: proposals in, the pages worth offering out, best first, each with a confidence and reasons.

Plain and fixed weights: how alike the names are (our copy's title, the anchor, other pages' anchors and URL words
against the candidate's title and address, as cosines of idf-weighted terms), how well the text matches, and how near
the addresses lie. Each part is between 0 and 1, so their weighted mean over the evidence there is can be read as a
confidence, and a page that matches nothing well is not offered at all.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

from repair import urls, words
from repair.model import BrokenLink, Query
from repair.pages import Brief
from repair.pointers import Pointer
from repair.propose import Proposal
from repair.query import NAMING, STRONG

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "copy": 1.5,
        "anchor": 1.2,
        "inlinks": 1.5,
        "url": 1.0,
        "names": 0.8,
        "body": 0.5,
        "context": 0.2,
        "same_name": 0.4,
        "same_site": 0.05,
    }
)
_REASON_AT = 0.35  # a part that is this strong is worth telling
# 95 of 100 right answers have 0.5 or more; 77 of 100 links on subjects not held have no page above this.
_OFFER_AT = 0.25
_OFFER_RATIO = 0.35  # and so are pages that are this much weaker than the best
_FULL_MATCH = 1.6  # BM25 of one matching term, in idf, that counts as a full match: between 1 and k1 + 1
_MAX_KNOWN = 200_000  # frequencies remembered
_ADDRESS_WORTH = 0.8  # words in an address, against words in a title
_GENERIC_NAMES = frozenset({"", "index", "default", "home", "main"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A page worth offering; `reasons` are codes, the strongest first.

    `confidence` is how likely it is the lost page, `likeness` how much it would say of the same, where that is known.
    """

    page: Brief
    score: float
    confidence: float
    reasons: tuple[str, ...]
    likeness: float = 0.0


class Frequencies(Protocol):
    """Who knows how common terms are."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""

    def size(self) -> int:
        """How many pages there are."""


class PlainRanker:
    """Fixed weights over a handful of likenesses."""

    def __init__(self, collection: Frequencies, *, offer_at: float = _OFFER_AT) -> None:
        self._collection = collection
        self._offer_at = offer_at
        self._idf = _Idf(collection)

    def rank(
        self,
        link: BrokenLink,
        query: Query,
        proposals: Sequence[Proposal],
        pointers: Iterable[Pointer] = (),
    ) -> tuple[Ranked, ...]:
        """The proposals worth offering, best first."""
        case = Case(link, query, self._fresh_idf())
        found = (_ranked(proposal, case.parts(proposal)) for proposal in proposals)
        scored = by_confidence(pointed(found, pointers))
        least = max(self._offer_at, scored[0].confidence * _OFFER_RATIO) if scored else 0.0
        return tuple(ranked for ranked in scored if ranked.confidence >= least)

    def _fresh_idf(self) -> "_Idf":
        """Frequencies are looked up once and kept until the collection has grown or shrunk by a hundredth."""
        known = self._idf
        if abs(self._collection.size() - known.size) * 100 > known.size or len(known) > _MAX_KNOWN:
            self._idf = known = _Idf(self._collection)
        return known


def pointed(ranked: Iterable[Ranked], pointers: Iterable[Pointer]) -> list[Ranked]:
    """The pages with what pointers say of them: either may be right where the other is wrong."""
    named: dict[str, list[Pointer]] = {}
    for pointer in pointers:
        named.setdefault(pointer.url, []).append(pointer)
    return [_lifted(choice, named.get(choice.page.url, ())) for choice in ranked]


def _lifted(choice: Ranked, pointers: Sequence[Pointer]) -> Ranked:
    if not pointers:
        return choice
    doubt = math.prod((1 - pointer.confidence for pointer in pointers), start=1 - choice.confidence)
    told = dict.fromkeys(pointer.kind.value for pointer in pointers if pointer.confidence >= _REASON_AT)
    score = choice.score + 1 - doubt - choice.confidence
    return replace(choice, confidence=1 - doubt, score=score, reasons=(*told, *choice.reasons))


def by_confidence(ranked: Iterable[Ranked]) -> list[Ranked]:
    """The surest first; ties by score, then by URL, so that the order is the same every time."""
    return sorted(ranked, key=lambda choice: (-choice.confidence, -choice.score, choice.page.url))


class Case:
    """What is known of the lost page, made ready to be held against many candidates."""

    def __init__(self, link: BrokenLink, query: Query, idf: "_Idf") -> None:
        self._idf = idf
        pieces = {piece.source: piece for piece in query.evidence}
        self._names = {name: _Vector(pieces[name].terms, idf) for name in STRONG if name in pieces}
        strong = [pair for name in STRONG if name in pieces for pair in pieces[name].terms]
        if "copy" in pieces:
            self._names["copy"] = _Vector(_title_terms(pieces["copy"].text, ""), idf)
        context = pieces["context"].terms if "context" in pieces else ()
        # The BM25 score of a page that has every term in abundance, by way of asking.
        full = sum(weight * idf[term] for term, weight in strong) * _FULL_MATCH
        near = sum(weight * idf[term] for term, weight in context) * _FULL_MATCH
        self._full = {
            way: value for way, value in (("names", 2 * full), ("body", full), ("context", near)) if value
        }
        self._site = urls.site(link.url)
        self._name = _name(link.url)

    def parts(self, proposal: Proposal) -> dict[str, float]:
        """What speaks for a page, each between 0 and 1; parts for which there is no evidence are left out."""
        page = proposal.page
        title = _Vector(_title_terms(page.title, page.language), self._idf)
        address = _Vector(_address_terms(page.url), self._idf)
        found = {
            name: max(vector.cosine(title), _ADDRESS_WORTH * vector.cosine(address))
            for name, vector in self._names.items()
        }
        for way, full in self._full.items():
            found[way] = min(1.0, proposal.scores.get(way, 0.0) / full)
        found["same_name"] = float(_name(page.url) == self._name not in _GENERIC_NAMES)
        found["same_site"] = float(urls.site(page.url) == self._site)
        return found


def _ranked(proposal: Proposal, found: Mapping[str, float]) -> Ranked:
    score = sum(WEIGHTS[name] * value for name, value in found.items())
    # An address that differs says nothing against a page: it may have moved. So bonuses are not expected.
    expected = sum(WEIGHTS[name] for name in found if not name.startswith("same_"))
    confidence = min(1.0, score / expected) if expected else 0.0
    return Ranked(page=proposal.page, score=score, confidence=confidence, reasons=_reasons(found))


def _reasons(found: Mapping[str, float]) -> tuple[str, ...]:
    strong = {
        name: value for name, value in found.items() if value >= _REASON_AT and name not in ("names", "body")
    }
    likest = max((found.get(name, 0.0) for name in NAMING), default=0.0)
    if likest >= 2 * _REASON_AT:
        strong["title"] = likest
    elif not strong and found.get("body", 0.0) >= _REASON_AT:
        strong["title" if found.get("names", 0.0) >= _REASON_AT else "context"] = found["body"]
    order = sorted(strong, key=lambda name: (-strong[name] * WEIGHTS.get(name, 1.0), name))
    return tuple(order)


class _Idf(dict[str, float]):
    """Inverse document frequencies in a collection of a certain size, looked up once each."""

    def __init__(self, collection: Frequencies) -> None:
        super().__init__()
        self._collection = collection
        self.size = collection.size()

    def __missing__(self, term: str) -> float:
        frequency = min(self._collection.document_frequency(term), self.size)
        # A number that no page has is an address's, not a subject's: it says nothing for or against a page.
        unheard = frequency == 0 and term.isdecimal()
        value = 0.0 if unheard else math.log(1 + (self.size - frequency + 0.5) / (frequency + 0.5))
        self[term] = value
        return value


class _Vector:
    """Terms by weight and idf, for cosines."""

    def __init__(self, terms: Iterable[tuple[str, float]], idf: _Idf) -> None:
        self._weights: dict[str, float] = {}
        for term, weight in terms:
            self._weights[term] = max(self._weights.get(term, 0.0), weight * idf[term])
        self._norm = math.sqrt(sum(weight * weight for weight in self._weights.values()))

    def cosine(self, other: "_Vector") -> float:
        """1 for the same words in the same proportions, 0 for none in common."""
        if not self._norm or not other._norm:
            return 0.0
        shared = self._weights.keys() & other._weights.keys()
        dot = sum(self._weights[term] * other._weights[term] for term in shared)
        return min(1.0, dot / (self._norm * other._norm))


@lru_cache(maxsize=16_384)
def _title_terms(title: str, language: str) -> tuple[tuple[str, float], ...]:
    return tuple((term, 1.0) for term in words.terms(title, language))


@lru_cache(maxsize=16_384)
def _address_terms(url: str) -> tuple[tuple[str, float], ...]:
    return tuple((term, 1.0) for term in words.terms(" ".join(urls.path_words(url))))


def _name(url: str) -> str:
    """The last part of the path without its suffix, in lower case."""
    path = url.partition("?")[0].rstrip("/")
    return path.rpartition("/")[2].rpartition(".")[0].lower() or path.rpartition("/")[2].lower()
