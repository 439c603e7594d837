"""Clues: what is known of the lost page, as weighted terms per source, ready to be held against many candidates.

    anchor   the words of the link itself
    slug     the words of the page's own name in its address, by how rare they are in the site's addresses
    dirs     the words of the directories above it, likewise
    inlinks  the words with which other pages link to the address, by how many do
    around   the words around those links
    context  the words around the link itself, the nearer the heavier
    source   what the page with the link is about: its title and most frequent terms
    copy     what a copy of the lost page says, held or archived: its title and its most telling terms
    tags     what people and held pages attach to the address or its directory

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
from repair.gluedwords import Splitter
from repair.model import BrokenLink, Evidence, HeldPage, InLink
from repair.pointers import Pointer, Pointers
from repair.structure import plain, squeezed

NAMES = ("anchor", "slug", "dirs", "inlinks", "around", "context", "source", "copy", "tags")
_TOLD = ("copy", "tags")  # by sources of evidence; the others are read here
_INLINKS = 40
_CONTEXTS = 8  # so many contexts say what there is to say, and terms cost time
_TERMS: Mapping[str, int] = {"around": 24, "context": 24, "source": 15, "copy": 40}
_MOST_TERMS = 16
_BACKLINKS = 10  # pages whose texts say what the lost page was about
_HALF_AT = 5.0
_POINTERS = 8
_SOURCE_CHARACTERS = 3_000
_MAX_NAME = 200

Directories = Callable[[str], Mapping[str, float]]
"""Where the pages of an address's directory went, as directories with their shares."""


class Knowledge(Protocol):
    """What clues are read from."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links of held pages that lead to a URL."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""

    def addresses(self, beginning: str, limit: int) -> tuple[str, ...]:
        """Known addresses with a beginning."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""

    def size(self) -> int:
        """How many pages there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """All that is known of a lost page: terms with weights by source, and names it goes by.

    `names` are squeezed anchors of other links with the share of links that use them, commonest first; `backlinks`
    are pages that link to the address; `directories` are where pages of its directory went, with their shares.
    Without `compare_addresses` only the words of addresses count, not their build nor who links to both: where the
    lost page may be held under its own address, comparing would be looking it up.
    """

    link: BrokenLink
    terms: Mapping[str, Mapping[str, float]]
    anchor_name: str = ""
    slug_name: str = ""
    tail_name: str = ""
    copy_name: str = ""
    names: Sequence[tuple[str, float]] = ()
    inlink_count: int = 0
    backlinks: Sequence[str] = ()
    pointers: Sequence[Pointer] = ()
    directories: Mapping[str, float] = field(default_factory=dict)
    compare_addresses: bool = True

    def calls(self) -> tuple[str, ...]:
        """The names that the link, its address and a copy call the page by, each once, none empty."""
        names = (self.copy_name, self.anchor_name, self.slug_name, self.tail_name)
        return tuple(dict.fromkeys(filter(None, names)))


class ClueReader:
    """Reads the clues of broken links out of a collection."""

    def __init__(
        self,
        collection: Knowledge,
        *,
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
        pointers: Pointers = lambda _: (),
        directories: Directories = lambda _: {},
        compare_addresses: bool = True,
    ) -> None:
        self._collection = collection
        self._compare_addresses = compare_addresses
        self._pointers = pointers
        self._directories = directories
        self._is_stop_anchor = is_stop_anchor
        self._address_words = AddressWords(collection)
        self._splitter = Splitter(collection.document_frequency, collection.size)

    def clues(self, link: BrokenLink, evidence: Iterable[Evidence] = ()) -> Clues:
        """What is known of the target of a link."""
        telling = bool(link.anchor) and not self._is_stop_anchor(link.anchor)
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
        told = {each.source: each for each in evidence if each.source in _TOLD}
        found |= {name: dict(each.terms) for name, each in told.items()}
        pieces = [piece for piece in urls.parse(link.url).path.split("/") if piece]
        return Clues(
            link=link,
            terms={
                name: _heaviest(terms, _TERMS.get(name, _MOST_TERMS))
                for name, terms in found.items()
                if terms
            },
            anchor_name=squeezed(link.anchor) if telling else "",
            slug_name=plain(_last(pieces)),
            tail_name=plain(_last(pieces[:-1])) + plain(_last(pieces)),
            copy_name=squeezed(told["copy"].text) if "copy" in told else "",
            names=_names(inlinks),
            inlink_count=len(inlinks),
            backlinks=tuple(dict.fromkeys(inlink.source_url for inlink in inlinks))[:_BACKLINKS],
            pointers=tuple(self._pointers(link))[:_POINTERS],
            directories=self._directories(link.url),
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

    def _source(self, link: BrokenLink) -> dict[str, float]:
        page = self._collection.get(link.source_url) if link.source_url else None
        if page is None:
            return {}
        counts = Counter(words.terms(page.text[:_SOURCE_CHARACTERS], page.language))
        for term in words.terms(page.title, page.language):
            counts[term] += 5
        return {term: math.log1p(count) for term, count in counts.most_common(_TERMS["source"])}


def _last(pieces: Sequence[str]) -> str:
    return unquote(pieces[-1])[:_MAX_NAME] if pieces else ""


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
