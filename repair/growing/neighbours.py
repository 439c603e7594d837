"""Links that stand beside a lost one on the pages that readers came from: what their author thought of as related."""

from collections.abc import Callable, Iterable, Sequence

from repair.crawling.traps import trap_in
from repair.growing.termvectors import TermWeights, cosine
from repair.growing.wants import WantedMiss, miss_terms
from repair.model import Link
from repair.text import words

_AROUND = 5  # links before and after the lost one on the page
_LEAST = 0.2
_BESIDE = 0.1


def related_links(
    miss: WantedMiss,
    outlinks: Callable[[str], Sequence[Link]],
    weights: TermWeights,
    *,
    most: int,
) -> tuple[str, ...]:
    """Addresses that source pages of a miss link to and whose link says the same, the likest first."""
    wanted = weights.vector(miss_terms(miss))
    found: dict[str, float] = {}
    for source in miss.sources:
        links = [link for link in outlinks(source) if not link.nav]
        for link, is_beside in _with_places(links, miss.url):
            if link.target_url == miss.url or trap_in(link.target_url):
                continue
            said = weights.vector(words.terms(f"{link.anchor} {link.before} {link.after}"))
            score = cosine(wanted, said) + (_BESIDE if is_beside else 0.0)
            found[link.target_url] = max(score, found.get(link.target_url, 0.0))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return tuple(url for url, score in ordered if score >= _LEAST)[:most]


def _with_places(links: Sequence[Link], lost: str) -> Iterable[tuple[Link, bool]]:
    places = [place for place, link in enumerate(links) if link.target_url == lost]
    return ((link, any(abs(place - at) <= _AROUND for at in places)) for place, link in enumerate(links))
