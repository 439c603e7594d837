"""Link context: the words around the link; nearer words weigh more."""

from collections.abc import Iterable

from repair.model import BrokenLink, Evidence
from repair.text import words

_HALF_AT = 5.0  # terms from the link at which a word weighs half
_TERMS = 20


class LinkContext:
    """The text before and after the link."""

    name = "context"

    def find(self, link: BrokenLink) -> Evidence | None:
        """Terms of both sides, weighted by nearness."""
        weights: dict[str, float] = {}
        for side in (reversed(words.terms(link.before)), words.terms(link.after)):
            _weigh(weights, side)
        heaviest = sorted(weights.items(), key=lambda pair: -pair[1])[:_TERMS]
        if not heaviest:
            return None
        text = " ".join(f"{link.before} {link.anchor} {link.after}".split())
        return Evidence(source=self.name, terms=tuple(heaviest), text=text)


def _weigh(weights: dict[str, float], terms: Iterable[str]) -> None:
    for distance, term in enumerate(terms):
        weights[term] = weights.get(term, 0.0) + 1.0 / (1.0 + distance / _HALF_AT)
