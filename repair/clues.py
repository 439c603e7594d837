"""Clues: what is known of the lost page, as weighted terms per source, ready to be held against many candidates.

    anchor   the words of the link itself
    slug     the words of the page's own name in its address, by how rare they are in the site's addresses
    dirs     the words of the directories above it, likewise
    inlinks  the words with which other pages link to the address, by how many do
    around   the words around those links
    context  the words around the link itself, the nearer the heavier
    source   what the page with the link is about: its title and most frequent terms

    copy     what any further source says of the page itself, an archived copy first of all

A clue that is missing is simply not there.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote

from repair import urls, words
from repair.addresses import AddressWords, address_terms
from repair.model import BrokenLink, Evidence, HeldPage, InLink
from repair.moves import Guess
from repair.structure import squeezed

NAMES = ("anchor", "slug", "dirs", "inlinks", "around", "context", "source", "copy")
_READ_HERE = frozenset({"anchor", "url", "inlinks", "context", "source"})
_INLINKS = 40
_CONTEXTS = 8  # so many contexts say what there is to say, and terms cost time
_TERMS: Mapping[str, int] = {"around": 24, "context": 24, "source": 15, "copy": 40}
_MOST_TERMS = 16
_HALF_AT = 5.0
_GUESSES = 5
_SOURCE_CHARACTERS = 3_000


class Knowledge(Protocol):
    """What clues are read from."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links of held pages that lead to a URL."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known addresses with a beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """All that is known of a lost page: terms with weights by source, and names it goes by.

    `names` are squeezed anchors of other links with the share of links that use them, commonest first; `moves` are
    the addresses that known moves of the site lead to. Without `compare_addresses` only the words of addresses
    count, not their build: where the lost page may be held under its own address, comparing would be looking it up.
    """

    link: BrokenLink
    terms: Mapping[str, Mapping[str, float]]
    anchor_name: str = ""
    slug_name: str = ""
    tail_name: str = ""
    names: Sequence[tuple[str, float]] = ()
    inlink_count: int = 0
    moves: Mapping[str, Guess] = field(default_factory=dict)
    compare_addresses: bool = True

    def calls(self) -> tuple[str, ...]:
        """The names that the link and its address call the page by, each once, none empty."""
        return tuple(dict.fromkeys(filter(None, (self.anchor_name, self.slug_name, self.tail_name))))


class ClueReader:
    """Reads the clues of broken links out of a collection."""

    def __init__(
        self,
        collection: Knowledge,
        stop_anchors: Sequence[str] = (),
        *,
        guesses: Callable[[str], Sequence[Guess]] | None = None,
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._compare_addresses = compare_addresses
        self._guesses = guesses
        self._stop_anchors = tuple(stop_anchors)
        self._address_words = AddressWords(collection)

    def clues(self, link: BrokenLink, evidence: Iterable[Evidence] = ()) -> Clues:
        """What is known of the target of a link."""
        telling = bool(link.anchor) and not words.is_stop_anchor(link.anchor, self._stop_anchors)
        inlinks = self._inlinks(link)
        slug, dirs = self._address(link.url)
        found: dict[str, Mapping[str, float]] = {
            "anchor": dict.fromkeys(words.terms(link.anchor), 1.0) if telling else {},
            "slug": slug,
            "dirs": dirs,
            "inlinks": _shares([words.terms(inlink.link.anchor) for inlink in inlinks]),
            "around": _around([inlink for inlink in inlinks if inlink.link.before or inlink.link.after]),
            "context": _near(link.before, link.after),
            "source": self._source(link),
        }
        further = [pair for each in evidence if each.source not in _READ_HERE for pair in each.terms]
        found["copy"] = dict(sorted(further, key=lambda pair: pair[1]))
        pieces = [piece for piece in urls.parse(link.url).path.split("/") if piece]
        return Clues(
            link=link,
            terms={
                name: _heaviest(terms, _TERMS.get(name, _MOST_TERMS))
                for name, terms in found.items()
                if terms
            },
            anchor_name=squeezed(link.anchor) if telling else "",
            slug_name=squeezed(_last(pieces)),
            tail_name=squeezed(_last(pieces[:-1])) + squeezed(_last(pieces)),
            names=_names(inlinks),
            inlink_count=len(inlinks),
            compare_addresses=self._compare_addresses,
            moves={guess.url: guess for guess in self._guesses(link.url)[:_GUESSES]} if self._guesses else {},
        )

    def _inlinks(self, link: BrokenLink) -> list[InLink]:
        return [
            inlink
            for inlink in self._collection.inlinks(link.url, _INLINKS)
            if not inlink.link.nav
            and inlink.source_url != link.source_url
            and not words.is_stop_anchor(inlink.link.anchor, self._stop_anchors)
        ]

    def _address(self, url: str) -> tuple[dict[str, float], dict[str, float]]:
        own, above = address_terms(url)
        site = self._address_words.of_site(url)
        slug = {term: max(0.05, site.rarity(term)) for term in own}
        return slug, {term: max(0.02, site.rarity(term)) for term in above if term not in slug}

    def _source(self, link: BrokenLink) -> dict[str, float]:
        page = self._collection.get(link.source_url) if link.source_url else None
        if page is None:
            return {}
        counts = Counter(words.terms(page.text[:_SOURCE_CHARACTERS], page.language))
        for term in words.terms(page.title, page.language):
            counts[term] += 5
        return {term: math.log1p(count) for term, count in counts.most_common(_TERMS["source"])}


def _last(pieces: Sequence[str]) -> str:
    return unquote(pieces[-1]) if pieces else ""


def _names(inlinks: Sequence[InLink]) -> tuple[tuple[str, float], ...]:
    counts = Counter(squeezed(inlink.link.anchor) for inlink in inlinks)
    return tuple((name, count / len(inlinks)) for name, count in counts.most_common(6))


def _shares(texts: Sequence[Sequence[str]]) -> dict[str, float]:
    counts = Counter(term for text in texts for term in set(text))
    return {term: count / len(texts) for term, count in counts.items()}


def _around(inlinks: Sequence[InLink]) -> dict[str, float]:
    contexts = [_near(inlink.link.before, inlink.link.after) for inlink in inlinks[:_CONTEXTS]]
    weights: Counter[str] = Counter()
    for context in contexts:
        for term, weight in context.items():
            weights[term] += weight / len(contexts)  # type: ignore[assignment]
    return dict(weights)


def _near(before: str, after: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for side in (words.terms(before)[::-1], words.terms(after)):
        for distance, term in enumerate(side):
            weights[term] = max(weights.get(term, 0.0), 1.0 / (1.0 + distance / _HALF_AT))
    return weights


def _heaviest(terms: Mapping[str, float], count: int) -> dict[str, float]:
    return dict(sorted(terms.items(), key=lambda pair: (-pair[1], pair[0]))[:count])
