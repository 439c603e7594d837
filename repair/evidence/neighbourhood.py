"""The link neighbourhood: a lexical signature of the lost page from the pages that link to it.

After Klein, Ware and Nelson (2011): the first ten backlinks, their anchor texts alone and four terms by tf-idf did
best; second-level backlinks and words around the anchors only harm, but all four can be set. Where whole pages are
read, those in another language than most and those of fewer than fifty words are left out, as in the paper; broken
pages are never saved. The page whose link is being repaired is excluded: it has its own evidence sources.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from repair.model import BrokenLink, Evidence, HeldPage, InLink, Link
from repair.text import urls, words
from repair.text.termselection import Weighted, drop_common, lexical_signature

WHOLE_PAGE = -1
"""As radius: the whole text of the backlinking pages."""
_LEAST_WORDS = 50
_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourhoodLimits:
    """Limits: pages that link, terms in the signature, levels of backlinks, words around the anchor."""

    backlinks: int = 10
    terms: int = 4
    levels: int = 1
    radius: int = 0


class NeighbourLookup(Protocol):
    """Knows links, saved pages and how common terms are."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL, the most informative first."""

    def get(self, url: str) -> HeldPage | None:
        """The page saved under a URL."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """How many pages have a term in a field."""

    def size(self) -> int:
        """How many pages there are."""


class LinkNeighbourhood:
    """An evidence source."""

    name = "neighbourhood"

    def __init__(
        self,
        collection: NeighbourLookup,
        reach: NeighbourhoodLimits = NeighbourhoodLimits(),
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
    ) -> None:
        self._collection = collection
        self._reach = reach
        self._is_stop_anchor = is_stop_anchor

    def find(self, link: BrokenLink) -> Evidence | None:
        """The signature; its first term weighs 1. None when no other page links there with meaningful words."""
        signature = self.signature(link.url, without=link.source_url)
        if not signature:
            return None
        top = signature[0][1]
        terms = tuple((term, weight / top) for term, weight in signature)
        return Evidence(source=self.name, terms=terms, text=" ".join(term for term, _ in terms))

    def signature(self, url: str, *, without: str | None = None) -> Weighted:
        """The terms of highest tf-idf in the backlinks, without those that most pages have."""
        excluded = {url, urls.resolve(url, without) if without else None}
        texts = self._link_texts((url,), excluded, self._reach.levels)
        df, pages = self._collection.document_frequency, self._collection.size()
        terms = [term for text in texts for term in words.terms(text)]
        return lexical_signature(drop_common(terms, df, pages), df, pages, self._reach.terms)

    def _link_texts(self, targets: Sequence[str], excluded: set[str | None], levels: int) -> list[str]:
        """The texts of links to the targets, and, level by level, of links to the pages that link."""
        if levels < 1:
            return []
        sources: dict[str, list[Link]] = {}
        for target in targets:
            for inlink in self._collection.inlinks(target, 10 * self._reach.backlinks):
                known = inlink.source_url in sources
                if inlink.source_url not in excluded and (known or len(sources) < self._reach.backlinks):
                    sources.setdefault(inlink.source_url, []).append(inlink.link)
        further = self._link_texts(tuple(sources), excluded | set(sources), levels - 1)
        if self._reach.radius == WHOLE_PAGE:
            return [*self._pages(sources), *further]
        anchors = (
            _around(link, self._reach.radius)
            for links in sources.values()
            for link in links
            if self._is_meaningful(link)
        )
        return [*anchors, *further]

    def _is_meaningful(self, link: Link) -> bool:
        return not link.nav and bool(link.anchor.strip()) and not self._is_stop_anchor(link.anchor)

    def _pages(self, sources: Iterable[str]) -> list[str]:
        """The texts of pages that are long enough and in the language of most."""
        saved = [page for page in map(self._collection.get, sources) if page is not None]
        long = [page for page in saved if len(words.segments(page.text[:_CHARACTERS])) >= _LEAST_WORDS]
        languages = Counter(page.language for page in long)
        usual = languages.most_common(1)[0][0] if languages else ""
        return [f"{page.title} {page.text[:_CHARACTERS]}" for page in long if page.language == usual]


def _around(link: Link, radius: int) -> str:
    """The anchor and `radius` words on either side of it."""
    if radius <= 0:
        return link.anchor
    before, after = link.before.split()[-radius:], link.after.split()[:radius]
    return " ".join((*before, link.anchor, *after))
