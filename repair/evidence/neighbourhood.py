"""The link neighbourhood: a lexical signature of the lost page out of what the pages that link to it say.

After Klein, Ware and Nelson (2011): the first ten backlinks, their anchor texts alone and four terms by tf-idf did
best; second-level backlinks and words around the anchors only harm, but all four can be set. Where whole pages are
read, those in another language than most and those of fewer than fifty words are left out, as there; broken pages are
never held. The page whose link is being repaired says nothing here: it has its own sources.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from repair import urls, words
from repair.model import BrokenLink, Evidence, HeldPage, InLink, Link
from repair.selection import Weighted, lexical_signature, telling

WHOLE_PAGE = -1
"""As radius: all that the backlinking pages say."""
_LEAST_WORDS = 50
_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far to look: pages that link, terms in the signature, levels of backlinks, words around the anchor."""

    backlinks: int = 10
    terms: int = 4
    levels: int = 1
    radius: int = 0


class Neighbours(Protocol):
    """Who knows links, held pages and how common terms are."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL, the most telling first."""

    def get(self, url: str) -> HeldPage | None:
        """What is held under a URL."""

    def document_frequency(self, term: str, name: str = "body") -> int:
        """In how many pages a field has a term."""

    def size(self) -> int:
        """How many pages there are."""


class LinkNeighbourhood:
    """A source of evidence."""

    name = "neighbourhood"

    def __init__(
        self,
        collection: Neighbours,
        reach: Reach = Reach(),
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
    ) -> None:
        self._collection = collection
        self._reach = reach
        self._is_stop_anchor = is_stop_anchor

    def find(self, link: BrokenLink) -> Evidence | None:
        """The signature, weights of the first term 1; None when nobody else links there with telling words."""
        signature = self.signature(link.url, without=link.source_url)
        if not signature:
            return None
        top = signature[0][1]
        terms = tuple((term, weight / top) for term, weight in signature)
        return Evidence(source=self.name, terms=terms, text=" ".join(term for term, _ in terms))

    def signature(self, url: str, *, without: str | None = None) -> Weighted:
        """The terms of highest tf-idf in what backlinks say, those that are everywhere left out."""
        excluded = {url, urls.resolve(url, without) if without else None}
        sayings = self._sayings((url,), excluded, self._reach.levels)
        df, pages = self._collection.document_frequency, self._collection.size()
        terms = [term for saying in sayings for term in words.terms(saying)]
        return lexical_signature(telling(terms, df, pages), df, pages, self._reach.terms)

    def _sayings(self, targets: Sequence[str], excluded: set[str | None], levels: int) -> list[str]:
        """What pages say where they link to the targets, and, level by level, what is said where they are linked."""
        if levels < 1:
            return []
        sources: dict[str, list[Link]] = {}
        for target in targets:
            for inlink in self._collection.inlinks(target, 10 * self._reach.backlinks):
                known = inlink.source_url in sources
                if inlink.source_url not in excluded and (known or len(sources) < self._reach.backlinks):
                    sources.setdefault(inlink.source_url, []).append(inlink.link)
        further = self._sayings(tuple(sources), excluded | set(sources), levels - 1)
        if self._reach.radius == WHOLE_PAGE:
            return [*self._pages(sources), *further]
        said = (
            _around(link, self._reach.radius)
            for links in sources.values()
            for link in links
            if self._tells(link)
        )
        return [*said, *further]

    def _tells(self, link: Link) -> bool:
        return not link.nav and bool(link.anchor.strip()) and not self._is_stop_anchor(link.anchor)

    def _pages(self, sources: Iterable[str]) -> list[str]:
        """The texts of pages that are long enough and in the language of most."""
        held = [page for page in map(self._collection.get, sources) if page is not None]
        long = [page for page in held if len(words.segments(page.text[:_CHARACTERS])) >= _LEAST_WORDS]
        languages = Counter(page.language for page in long)
        usual = languages.most_common(1)[0][0] if languages else ""
        return [f"{page.title} {page.text[:_CHARACTERS]}" for page in long if page.language == usual]


def _around(link: Link, radius: int) -> str:
    """The anchor and so many words on either side of it."""
    if radius <= 0:
        return link.anchor
    before, after = link.before.split()[-radius:], link.after.split()[:radius]
    return " ".join((*before, link.anchor, *after))
