"""How saved pages are found and ranked for a broken link: `repair.ranking` selects one of three rankers.

    learned     a model over all evidence, the school's own or the default one; in a small collection it helps to
                order pages, but does not decide alone whether anything is worth offering
    plain       fixed weights over names and texts
    decision    the procedure of Martinez-Romo and Araujo, figure 8

All three find the known targets (`repair.knowntargets`), whatever their words.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from repair.collection.collection import Collection
from repair.collection.pages import PageSummary
from repair.errors import ModelMismatch
from repair.evidence.hints import Hints
from repair.evidence.tags import Tags
from repair.knowntargets import FindKnownTargets, KnownTarget
from repair.model import BrokenLink, Query
from repair.ranking.candidates import Candidate, propose
from repair.ranking.decisionprocedure import DecisionProcedure
from repair.ranking.learned import LearnedRanker, RankableCollection
from repair.ranking.plain import PlainRanker, RankedPage, by_confidence, raise_known_targets
from repair.ranking.rankmodel import RankModel
from repair.ranking.schoolmodel import NAME, SchoolModel
from repair.ranking.tellingterms import telling_terms
from repair.settings import RepairSettings
from repair.text import urls, words

Find = Callable[[BrokenLink, Query], tuple[RankedPage, ...]]
"""Returns the pages worth offering for a link, best first."""

_LEARNED_MIN_PAGES = 20  # pages
_REFUSAL_MIN_PAGES = 1_000  # below, weak matches that the model takes for noise may be all there is

log = logging.getLogger(__name__)


def finder(
    collection: Collection,
    settings: RepairSettings,
    hints: Hints | None,
    *,
    among: RankableCollection | None = None,
) -> Find:
    """The ranker that the settings select; the learned one ranks the pages of `among`, if not the collection's."""
    if settings.ranking == "decision":
        return _decision_finder(collection, settings, hints)
    by_weights = _plain_finder(collection, hints)
    return (
        _learned_finder(collection, among or collection, settings, hints, by_weights)
        if settings.ranking == "learned"
        else by_weights
    )


def stop_anchors(settings: RepairSettings, hints: Hints | None) -> Callable[[str], bool]:
    """The predicate that tells stop anchors."""
    return hints.is_stop_anchor if hints else partial(words.is_stop_anchor, extra=settings.stop_anchors)


def _known_targets(hints: Hints | None) -> FindKnownTargets:
    return hints.known_targets if hints else lambda _: ()


def _plain_finder(collection: Collection, hints: Hints | None) -> Find:
    ranker, find_targets = PlainRanker(collection), _known_targets(hints)

    def find(link: BrokenLink, query: Query) -> tuple[RankedPage, ...]:
        known_targets = find_targets(link)
        found = propose(collection, query)
        more = _target_pages(
            collection, known_targets, but=frozenset(proposal.page.page for proposal in found)
        )
        return ranker.rank(link, query, (*found, *(Candidate(page=page) for page in more)), known_targets)

    return find


def _decision_finder(collection: Collection, settings: RepairSettings, hints: Hints | None) -> Find:
    is_stop_anchor, find_targets = stop_anchors(settings, hints), _known_targets(hints)
    tags = Tags(hints.tags, collection, is_stop_anchor) if hints else None
    procedure = DecisionProcedure(
        collection,
        tags=lambda link: [tag for tag, _ in tags.tags(link)] if tags else (),
        is_stop_anchor=is_stop_anchor,
    )

    def find(link: BrokenLink, query: Query) -> tuple[RankedPage, ...]:
        recommended = {each.url: each for each in procedure.recommend(link)}
        known_targets = find_targets(link)
        pages = _load_pages(
            collection, dict.fromkeys((*recommended, *(target.url for target in known_targets)))
        )
        ranked = []
        for page in pages:
            each = recommended.get(page.url)
            score, confidence = (each.score, each.confidence) if each else (0.0, 0.0)
            ranked.append(RankedPage(page=page, score=score, confidence=confidence, reasons=()))
        return tuple(by_confidence(raise_known_targets(ranked, known_targets)))

    return find


def _learned_finder(
    collection: Collection,
    among: RankableCollection,
    settings: RepairSettings,
    hints: Hints | None,
    fallback: Find,
) -> Find:
    def made(model: RankModel) -> LearnedRanker:
        return LearnedRanker(
            among,
            model,
            is_stop_anchor=stop_anchors(settings, hints),
            known_targets=_known_targets(hints),
            directories=hints.directories if hints else lambda _: {},
        )

    latest = _Latest(SchoolModel(collection.database.path.parent / NAME), made)
    latest.ranker()  # read the model now, not while the first user waits

    def find(link: BrokenLink, query: Query) -> tuple[RankedPage, ...]:
        ranker = latest.ranker() if among.size() >= _LEARNED_MIN_PAGES else None
        if ranker is None:
            return fallback(link, query)
        # They are never offered, and beside them the other candidates would look poorer than they are.
        found = ranker.find(link, query.evidence, hidden=addresses(link))
        if found or among.size() >= _REFUSAL_MIN_PAGES:
            return found
        # Fixed weights would offer pages for *index* and *page* too.
        return fallback(link, query) if telling_terms(collection, query) else ()

    return find


def addresses(link: BrokenLink) -> frozenset[str]:
    """The normal URLs of the lost page and of the page with the link."""
    web_urls = (url for url in (link.url, link.source_url) if url is not None and urls.is_web_url(url))
    return frozenset(map(urls.normal, web_urls))


class _Latest:
    """A ranker with the model in use, rebuilt when the model changes."""

    def __init__(self, own: SchoolModel, make: Callable[[RankModel], LearnedRanker]) -> None:
        self._own = own
        self._make = make
        self._made: tuple[RankModel, LearnedRanker] | None = None  # one value: threads see both or neither
        self._refused = ""

    def ranker(self) -> LearnedRanker | None:
        """None when no model fits."""
        try:
            model = self._own.current()
        except ModelMismatch as error:
            if str(error) != self._refused:
                self._refused = str(error)
                log.warning("ranking: no trained model, using fixed weights: %s", error)
            return None
        made = self._made
        if made is None or made[0] is not model:
            made = self._made = (model, self._make(model))
        return made[1]


def _target_pages(
    collection: Collection, known_targets: Sequence[KnownTarget], *, but: frozenset[int]
) -> list[PageSummary]:
    """The known targets, without pages that were found already."""
    return [
        page
        for page in _load_pages(collection, dict.fromkeys(each.url for each in known_targets))
        if page.page not in but
    ]


def _load_pages(collection: Collection, addresses: dict[str, None]) -> list[PageSummary]:
    numbers = [number for number in map(collection.page_number, addresses) if number is not None]
    page_summaries = collection.page_summaries(numbers)
    return [page_summaries[number] for number in numbers if number in page_summaries]
