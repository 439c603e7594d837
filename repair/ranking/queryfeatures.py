"""Query features: what is known of the lost page, as weighted terms per source, to compare with candidates.

    anchor   the words of the link itself
    slug     the words of the page's own name in its URL, weighted by how rare they are in the site's URLs
    dirs     the words of the directories above it, likewise
    inlinks  the words with which other pages link to the URL, weighted by how many pages do
    around   the words around those links
    context  the words around the link itself; nearer words weigh more
    source   what the page with the link is about: its title and most frequent terms
    copy     what a saved or archived copy of the lost page says: its title and its most distinctive terms
    tags     tags that users and saved pages attach to the URL or its directory

A source that knows nothing is left out.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote

from repair.knowntargets import FindKnownTargets, KnownTarget
from repair.model import BrokenLink, Evidence, HeldPage, InLink
from repair.text import urls, words
from repair.text.languages import address_language, same_language
from repair.text.urlstructure import normalise_name, normalise_part
from repair.text.urlterms import UrlTermCounts, address_terms
from repair.text.wordsplitting import WordSplitter

NAMES = ("anchor", "slug", "dirs", "inlinks", "around", "context", "source", "copy", "tags")
_FROM_EVIDENCE = ("copy", "tags")  # given by evidence sources; this module reads the others
_INLINKS = 40
_CONTEXTS = 8  # more contexts add little, and terms cost time
_TERMS: Mapping[str, int] = {"around": 24, "context": 24, "source": 15, "copy": 40}
_MOST_TERMS = 16
_BACKLINKS = 10  # pages whose texts show what the lost page was about
_HALF_AT = 5.0
_MAX_TARGETS = 8
_SOURCE_CHARACTERS = 3_000
_MAX_NAME = 200

Directories = Callable[[str], Mapping[str, float]]
"""The directories to which the pages of a URL's directory moved, with their shares."""


class FeatureSource(Protocol):
    """What the query features are read from."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links of saved pages that lead to a URL."""

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known URLs with a prefix."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFeatures:
    """All that is known of a lost page: weighted terms by source, and names of the page.

    `names` are normalised anchors of other links with the share of links that use them, most common first;
    `language` is that of the page of the click, "" when unknown, and `source_title` the terms of its title;
    `backlinks` are pages that link to the URL; `directories` are where pages of its directory moved, with their
    shares; `editions` are those of its site that name a language. Without `compare_addresses` only the words of URLs
    count, not their structure nor co-citation: in an evaluation the lost page may be saved under its own URL, and
    comparing would look it up.
    """

    link: BrokenLink
    terms: Mapping[str, Mapping[str, float]]
    anchor_name: str = ""
    slug_name: str = ""
    tail_name: str = ""
    copy_name: str = ""
    language: str = ""
    source_title: Sequence[str] = ()
    names: Sequence[tuple[str, float]] = ()
    inlink_count: int = 0
    backlinks: Sequence[str] = ()
    known_targets: Sequence[KnownTarget] = ()
    directories: Mapping[str, float] = field(default_factory=dict)
    editions: Mapping[str, str] = field(default_factory=dict)
    compare_addresses: bool = True

    def edition_directories(self) -> tuple[str, ...]:
        """Those of the site's editions that are directories or hosts."""
        return tuple(edition for edition in self.editions if edition.endswith("/"))

    def page_names(self) -> tuple[str, ...]:
        """The names that the link, its URL and a copy give the page, each once, none empty."""
        names = (self.copy_name, self.anchor_name, self.slug_name, self.tail_name)
        return tuple(dict.fromkeys(filter(None, names)))


class QueryFeatureReader:
    """Reads the query features of broken links from a collection."""

    def __init__(
        self,
        collection: FeatureSource,
        *,
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
        known_targets: FindKnownTargets = lambda _: (),
        directories: Directories = lambda _: {},
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._compare_addresses = compare_addresses
        self._known_targets = known_targets
        self._directories = directories
        self._is_stop_anchor = is_stop_anchor
        self._address_words = UrlTermCounts(collection)
        self._splitter = WordSplitter(collection.document_frequency, collection.size)

    def read(self, link: BrokenLink, evidence: Iterable[Evidence] = ()) -> QueryFeatures:
        """What is known of the target of a link."""
        has_anchor = bool(link.anchor) and not self._is_stop_anchor(link.anchor)
        inlinks = self._inlinks(link)
        slug, dirs = self._address(link.url)
        source = self._collection.get(link.source_url) if link.source_url else None
        language = _language(*_of_source(source)) if source else ""
        # Only stop words depend on it. Pages lost those of their own language, so in a query they would be rare words
        # that only pages in other languages have.
        spoken = language or address_language(link.url)
        found: dict[str, Mapping[str, float]] = {
            "anchor": dict.fromkeys(words.terms(link.anchor, spoken), 1.0) if has_anchor else {},
            "slug": slug,
            "dirs": dirs,
            "inlinks": _document_shares([words.terms(inlink.link.anchor, spoken) for inlink in inlinks]),
            "around": _mean_context(
                [inlink for inlink in inlinks if inlink.link.before or inlink.link.after], spoken
            ),
            "context": _context_weights(link.before, link.after, spoken),
            "source": _source_terms(*_of_source(source)) if source else {},
        }
        evidence_by_source = {each.source: each for each in evidence if each.source in _FROM_EVIDENCE}
        found |= {name: dict(each.terms) for name, each in evidence_by_source.items()}
        pieces = [piece for piece in urls.parse(link.url).path.split("/") if piece]
        return QueryFeatures(
            link=link,
            terms={
                name: _heaviest_terms(terms, _TERMS.get(name, _MOST_TERMS))
                for name, terms in found.items()
                if terms
            },
            anchor_name=normalise_name(link.anchor) if has_anchor else "",
            slug_name=normalise_part(_last_name(pieces)),
            tail_name=normalise_part(_last_name(pieces[:-1])) + normalise_part(_last_name(pieces)),
            copy_name=normalise_name(evidence_by_source["copy"].text) if "copy" in evidence_by_source else "",
            language=language,
            source_title=tuple(words.terms(source.title[:_MAX_NAME], language)) if source else (),
            names=_names(inlinks),
            inlink_count=len(inlinks),
            backlinks=tuple(dict.fromkeys(inlink.source_url for inlink in inlinks))[:_BACKLINKS],
            known_targets=tuple(self._known_targets(link))[:_MAX_TARGETS],
            directories=self._directories(link.url),
            editions=self._address_words.of_site(link.url).editions,
            compare_addresses=self._compare_addresses,
        )

    def _inlinks(self, link: BrokenLink) -> list[InLink]:
        return [
            inlink
            for inlink in self._collection.inlinks(link.url, _INLINKS)
            if not inlink.link.nav
            and inlink.source_url != link.source_url
            and not self._is_stop_anchor(inlink.link.anchor)
        ]

    def _address(self, url: str) -> tuple[dict[str, float], dict[str, float]]:
        own, above = address_terms(url, self._splitter.split)
        site = self._address_words.of_site(url)
        slug = {term: max(0.05, site.rarity(term)) for term in own}
        return slug, {term: max(0.02, site.rarity(term)) for term in above if term not in slug}


# A class follows the dead links of one worksheet one after the other.
@lru_cache(maxsize=64)
def _source_terms(title: str, text: str, language: str) -> Mapping[str, float]:
    counts = Counter(words.terms(text, language))
    for term in words.terms(title, language):
        counts[term] += 5
    return {term: math.log1p(count) for term, count in counts.most_common(_TERMS["source"])}


@lru_cache(maxsize=64)
def _language(title: str, text: str, stated: str) -> str:
    return same_language(stated or words.language_of(f"{title}\n{text}"))


def _of_source(page: HeldPage) -> tuple[str, str, str]:
    """What is read of the page of the click: title, the beginning of its text, and language if that is known."""
    return page.title, page.text[:_SOURCE_CHARACTERS], page.language


def _last_name(pieces: Sequence[str]) -> str:
    return unquote(pieces[-1])[:_MAX_NAME] if pieces else ""


def _names(inlinks: Sequence[InLink]) -> tuple[tuple[str, float], ...]:
    counts = Counter(normalise_name(inlink.link.anchor) for inlink in inlinks)
    return tuple((name, count / len(inlinks)) for name, count in counts.most_common(6))


def _document_shares(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    counts = Counter(term for text in texts for term in set(text))
    return {term: count / len(texts) for term, count in counts.items()}


def _mean_context(inlinks: Sequence[InLink], language: str) -> dict[str, float]:
    contexts = [
        _context_weights(inlink.link.before, inlink.link.after, language) for inlink in inlinks[:_CONTEXTS]
    ]
    weights: Counter[str] = Counter()
    for context in contexts:
        for term, weight in context.items():
            weights[term] += weight / len(contexts)  # type: ignore[assignment]
    return dict(weights)


def _context_weights(before: str, after: str, language: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for side in (words.terms(before, language)[::-1], words.terms(after, language)):
        for distance, term in enumerate(side):
            weights[term] = max(weights.get(term, 0.0), 1.0 / (1.0 + distance / _HALF_AT))
    return weights


def _heaviest_terms(terms: Mapping[str, float], count: int) -> dict[str, float]:
    return dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))[:count])
