"""How held pages are found and ranked for a broken link: three ways, of which `repair.ranking` names one.

    learned     a model over all evidence, the school's own or the one that ships; in a small collection it has a
                say in the order, but not the last word on whether anything is worth offering
    plain       fixed weights over names and texts
    decision    the procedure of Martinez-Romo and Araujo, figure 8

Pages that are pointed at (`repair.pointers`) are found by all three, whatever their words.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from repair import urls, words
from repair.collection import Collection
from repair.errors import ModelMismatch
from repair.hints import Hints
from repair.learnedrank import LearnedRanker
from repair.model import BrokenLink, Query
from repair.ownmodel import NAME, OwnModel
from repair.pages import Brief
from repair.pointers import Pointer, Pointers
from repair.propose import Proposal, propose
from repair.rank import PlainRanker, Ranked, by_confidence, pointed
from repair.rankmodel import RankModel
from repair.settings import RepairSettings
from repair.sources.tags import Tags
from repair.strategy import DecisionProcedure

Find = Callable[[BrokenLink, Query], tuple[Ranked, ...]]
"""Who is asked: the pages worth offering for a link, best first."""

_LEARNED_FROM = 20  # pages
_REFUSES_FROM = (
    1_000  # pages; among fewer, weak matches that the model knows for noise may be all there is to offer
)

log = logging.getLogger(__name__)


def finder(collection: Collection, settings: RepairSettings, hints: Hints | None) -> Find:
    """How pages are found, as the settings say."""
    if settings.ranking == "decision":
        return _by_decision(collection, settings, hints)
    by_weights = _by_weights(collection, hints)
    return _by_model(collection, settings, hints, by_weights) if settings.ranking == "learned" else by_weights


def stop_anchors(settings: RepairSettings, hints: Hints | None) -> Callable[[str], bool]:
    """Who says which anchors say nothing."""
    return hints.is_stop_anchor if hints else partial(words.is_stop_anchor, extra=settings.stop_anchors)


def _pointers(hints: Hints | None) -> Pointers:
    return hints.pointers if hints else lambda _: ()


def _by_weights(collection: Collection, hints: Hints | None) -> Find:
    ranker, pointers_to = PlainRanker(collection), _pointers(hints)

    def find(link: BrokenLink, query: Query) -> tuple[Ranked, ...]:
        pointers = pointers_to(link)
        found = propose(collection, query)
        more = _named(collection, pointers, but=frozenset(proposal.page.page for proposal in found))
        return ranker.rank(link, query, (*found, *(Proposal(page=page) for page in more)), pointers)

    return find


def _by_decision(collection: Collection, settings: RepairSettings, hints: Hints | None) -> Find:
    is_stop_anchor, pointers_to = stop_anchors(settings, hints), _pointers(hints)
    tags = Tags(hints.tags, collection, is_stop_anchor) if hints else None
    procedure = DecisionProcedure(
        collection,
        tags=lambda link: [tag for tag, _ in tags.tags(link)] if tags else (),
        is_stop_anchor=is_stop_anchor,
    )

    def find(link: BrokenLink, query: Query) -> tuple[Ranked, ...]:
        recommended = {each.url: each for each in procedure.recommend(link)}
        pointers = pointers_to(link)
        pages = _held(collection, dict.fromkeys((*recommended, *(pointer.url for pointer in pointers))))
        ranked = []
        for page in pages:
            each = recommended.get(page.url)
            score, confidence = (each.score, each.confidence) if each else (0.0, 0.0)
            ranked.append(Ranked(page=page, score=score, confidence=confidence, reasons=()))
        return tuple(by_confidence(pointed(ranked, pointers)))

    return find


def _by_model(collection: Collection, settings: RepairSettings, hints: Hints | None, otherwise: Find) -> Find:
    def made(model: RankModel) -> LearnedRanker:
        return LearnedRanker(
            collection,
            model,
            is_stop_anchor=stop_anchors(settings, hints),
            pointers=_pointers(hints),
            directories=hints.directories if hints else lambda _: {},
        )

    latest = _Latest(OwnModel(collection.database.path.parent / NAME), made)
    latest.ranker()  # the model is read now, not while the first reader waits

    def find(link: BrokenLink, query: Query) -> tuple[Ranked, ...]:
        ranker = latest.ranker() if collection.size() >= _LEARNED_FROM else None
        if ranker is None:
            return otherwise(link, query)
        # They are never offered, and beside them the others would look poorer than they are.
        found = ranker.find(link, query.evidence, hidden=addresses(link))
        return found or (otherwise(link, query) if collection.size() < _REFUSES_FROM else ())

    return find


def addresses(link: BrokenLink) -> frozenset[str]:
    """The addresses of the lost page and of the page with the link, as pages are held under them."""
    known = (url for url in (link.url, link.source_url) if url is not None and urls.is_web_url(url))
    return frozenset(map(urls.normal, known))


class _Latest:
    """A ranker by the model in use, made anew when that is another one."""

    def __init__(self, own: OwnModel, make: Callable[[RankModel], LearnedRanker]) -> None:
        self._own = own
        self._make = make
        self._made: tuple[RankModel, LearnedRanker] | None = None  # one value: threads see both or neither
        self._refused = ""

    def ranker(self) -> LearnedRanker | None:
        """None when there is no model that fits."""
        try:
            model = self._own.current()
        except ModelMismatch as error:
            if str(error) != self._refused:
                self._refused = str(error)
                log.warning("ranking by plain weights: %s", error)
            return None
        made = self._made
        if made is None or made[0] is not model:
            made = self._made = (model, self._make(model))
        return made[1]


def _named(collection: Collection, pointers: Sequence[Pointer], *, but: frozenset[int]) -> list[Brief]:
    """The pages pointed at, without those that were found already."""
    return [
        page
        for page in _held(collection, dict.fromkeys(each.url for each in pointers))
        if page.page not in but
    ]


def _held(collection: Collection, addresses: dict[str, None]) -> list[Brief]:
    numbers = [number for number in map(collection.page_number, addresses) if number is not None]
    briefs = collection.briefs(numbers)
    return [briefs[number] for number in numbers if number in briefs]
