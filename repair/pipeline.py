"""Repair: a broken link in, ranked alternatives out, stage by stage.

    BrokenLink -> gather -> Evidence -> formulate -> Query -> propose -> rank -> RankedAlternatives

All that blocks runs in the given executor, a whole repair as one task; the event loop only waits. A stage that
finds nothing does not stop the others: an empty answer is an answer.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar

from repair.collection.collection import Collection
from repair.collection.elsewhere import REASON as ELSEWHERE
from repair.collection.elsewhere import ConfirmedElsewhere, ElsewhereOffer
from repair.collection.pins import DISTRICT_REASON, REASON, Pins
from repair.errors import RepairError
from repair.evidence import LocalSource, Source
from repair.evidence.anchor import ClickedAnchor, OtherAnchors
from repair.evidence.context import LinkContext
from repair.evidence.gather import gather, gather_local
from repair.evidence.hints import Hints
from repair.evidence.neighbourhood import LinkNeighbourhood
from repair.evidence.savedcopy import SavedCopy
from repair.evidence.sourcepage import SourcePage
from repair.evidence.tags import Tags
from repair.evidence.url import UrlWords
from repair.files import stamp_of
from repair.knowntargets import TargetKind
from repair.model import (
    Alternative,
    BrokenLink,
    Click,
    Evidence,
    HeldPage,
    Link,
    PlacedLink,
    Query,
    RankedAlternatives,
    RankingOutcome,
)
from repair.ranking.plain import RankedPage
from repair.ranking.preference import prefer
from repair.ranking.query import formulate, keywords, texts
from repair.ranking.rankers import Find, addresses, finder, stop_anchors
from repair.ranking.schoolmodel import NAME
from repair.ranking.tellingterms import telling_terms
from repair.secrets.addresses import has_secret
from repair.settings import RepairSettings
from repair.text import urls, words
from repair.text.fingerprints import NEAR, distance
from repair.text.snippets import snippet
from repair.text.stoptitles import is_stop_title
from repair.text.urlstructure import normalise_name

_EVIDENCE_SHARE = 0.5  # of the deadline; ranking needs some of it too
_RECENT = 20
_INLINKS = 100
_SEARCH_LIMIT = 100
_SEARCHED = 5
_COMPARED = 60  # ranked pages, more than a list ever shows
_LIKELY = 0.6  # another school's offer stands behind pages of this confidence
_OFFER_CONFIDENCE = 0.5
_SNIPPET_CHARACTERS = 8_000  # a snippet from further down a long page is not worth the time to find it

P = ParamSpec("P")
T = TypeVar("T")


class Repairer:
    """The pipeline over one collection."""

    def __init__(
        self,
        collection: Collection,
        settings: RepairSettings,
        executor: Executor,
        *,
        further_sources: Sequence[Source] = (),
        hints: Hints | None = None,
        find: Find | None = None,
        text_of: Callable[[str], HeldPage | None] | None = None,
    ) -> None:
        """`find` finds more pages than the collection's own, `text_of` has the text of those it found. Where it fails
        or finds none, the collection's own are ranked."""
        self._collection = collection
        self._settings = settings
        self._executor = executor
        self._find_own = finder(collection, settings, hints)
        self._find_more = find
        self._text_of = text_of or collection.get
        self._hints = hints
        self._pins = Pins(collection.database)
        self._elsewhere = ConfirmedElsewhere(collection.database)
        self._model = collection.database.path.parent / NAME
        self._local = local_sources(collection, settings, hints)
        self._further = tuple(further_sources)

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives:
        """Alternatives to a link's target, best first; never the target itself nor the page with the link.

        `within_s` is the caller's time limit, if not that of the settings. With a `click`, its source page is
        inferred first, and the returned link contains it.
        """
        return (await self._gather_and_rank(link, click, within_s)).found

    def place(self, link: BrokenLink, click: Click) -> PlacedLink:
        """The link with the page that a click came from and its anchor text there: all that ranking sees of a click.

        Blocks, for a millisecond or less.
        """
        state = self._state()  # first: what is found may be newer, never older
        if not click.typed:
            link = _place_link(link, *self._infer_source(link.url, click.referrer, click.recent))
        return PlacedLink(link=self._add_anchor(link), state=state)

    async def rank(self, link: BrokenLink, *, within_s: float | None = None) -> RankingOutcome:
        """The alternatives to a placed link's target; the same for everybody who comes from the same page."""
        return await self._gather_and_rank(link, None, within_s)

    async def _gather_and_rank(
        self, link: BrokenLink, click: Click | None, within_s: float | None
    ) -> RankingOutcome:
        losses: list[None] = []
        on_loss = partial(losses.append, None)
        evidence_s = (self._settings.deadline_s if within_s is None else within_s) * _EVIDENCE_SHARE
        further = await gather(link, self._further, deadline_s=evidence_s, on_loss=on_loss)
        found = await self._run(self._rank, link, click, further, evidence_s, on_loss)
        return RankingOutcome(found=found, is_whole=not losses)

    def _state(self) -> Hashable:
        """Differs whenever a page, a link, a choice, a pin, a move, a tag or the model may have changed."""
        return self._collection.database.version(), stamp_of(self._model)

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        """Saved pages for words that a person typed, best first."""
        return await self._run(self._search, text, limit)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: work(*args, **kwargs))

    def _rank(
        self,
        link: BrokenLink,
        click: Click | None,
        further: Sequence[Evidence],
        evidence_s: float,
        on_loss: Callable[[], None],
    ) -> RankedAlternatives:
        link = self._add_anchor(link) if click is None else self.place(link, click).link
        local = gather_local(link, self._local, deadline_s=evidence_s, on_loss=on_loss)
        query = formulate(link, (*local, *further))
        return self._answer(link, query, self._find(link, query, on_loss))

    def _find(self, link: BrokenLink, query: Query, on_loss: Callable[[], None]) -> Sequence[RankedPage]:
        """The pages worth offering. Among more pages the same ones may look less sure: then those that the
        collection's own ranking offers."""
        if self._find_more is not None:
            try:
                if found := self._find_more(link, query):
                    return found
            except RepairError:
                on_loss()
        return self._find_own(link, query)

    def _add_anchor(self, link: BrokenLink) -> BrokenLink:
        """The link with its anchor text, looked up in the link graph when the click has none."""
        if link.anchor or link.before or link.after:
            return link
        found = self._collection.link_between(link.source_url, link.url) if link.source_url else None
        if found is None:
            inlink = next(iter(self._collection.inlinks(link.url, 1)), None)
            found = inlink.link if inlink else None
        if found is None:
            return link
        return replace(link, anchor=found.anchor, before=found.before, after=found.after)

    def _answer(self, link: BrokenLink, query: Query, found: Sequence[RankedPage]) -> RankedAlternatives:
        ranked = self._apply_choices(link, found)
        saved = self._collection.get(link.url)
        shown_keywords = keywords(query)
        elsewhere = self._elsewhere.offers(link.url)
        pinned = self._pinned_alternative(link, elsewhere, shown_keywords)
        unlike = addresses(link) | {item.url for item in pinned}
        offered = islice(
            _without_duplicates(ranked, self._fingerprints(ranked), unlike=unlike),
            max(0, self._settings.alternatives - len(pinned)),
        )
        ranked_alternatives = (self._alternative(choice, shown_keywords) for choice in offered)
        alternatives = self._add_elsewhere(link, (*pinned, *ranked_alternatives), elsewhere, shown_keywords)
        searched = () if alternatives else self._search_link(link, query)
        return RankedAlternatives(
            link=link,
            alternatives=_with_safe_translations(alternatives, addresses(link)),
            searched=_with_safe_translations(searched, addresses(link)),
            copy_at=saved.fetched_at if saved and saved.has_copy else None,
            shortened=tuple(url for url in urls.shorter_urls(link.url) if self._collection.holds(url)),
            query=query.text,
            queries=texts(query),
            keywords=shown_keywords,
        )

    def _apply_choices(self, link: BrokenLink, ranked: Sequence[RankedPage]) -> Sequence[RankedPage]:
        """Users' earlier choices decide between pages that the text supports equally."""
        return prefer(ranked, self._hints.favourites(link.url)) if self._hints else ranked

    def _fingerprints(self, ranked: Sequence[RankedPage]) -> Mapping[int, int]:
        first = [choice.page.page for choice in ranked[:_COMPARED]]
        return self._hints.fingerprints(first) if self._hints and first else {}

    def _pinned_alternative(
        self, link: BrokenLink, elsewhere: Sequence[ElsewhereOffer], shown: Sequence[str]
    ) -> tuple[Alternative, ...]:
        """The page that an admin pinned for the link's target: certain, and offered whether it is saved or not.

        Where this school has pinned none, the one that the district has.
        """
        pin = self._pins.of(link.url)
        if pin is not None:
            return (self._named_page(pin.target, 1.0, (REASON,), shown),)
        of_district = (offer.target for offer in elsewhere if offer.is_pinned)
        return tuple(
            replace(self._named_page(target, 1.0, (DISTRICT_REASON,), shown), source="shared")
            for target in islice(of_district, 1)
        )

    def _named_page(
        self, url: str, confidence: float, reasons: tuple[str, ...], shown: Sequence[str]
    ) -> Alternative:
        """A page that somebody named, saved or not."""
        chosen = Alternative(
            url=url, title="", score=confidence, confidence=confidence, reasons=reasons, held=False
        )
        page = self._collection.get(url)
        if page is None:
            return chosen
        text = snippet(page.text[:_SNIPPET_CHARACTERS], shown, language=page.language)
        return replace(chosen, title=page.title, snippet=text, held=True)

    def _add_elsewhere(
        self,
        link: BrokenLink,
        alternatives: tuple[Alternative, ...],
        elsewhere: Sequence[ElsewhereOffer],
        shown: Sequence[str],
    ) -> tuple[Alternative, ...]:
        """What other schools confirmed: named where the page is in the list, else added behind what is likely."""
        found = list(alternatives)
        for offer in elsewhere:
            at = next((at for at, each in enumerate(found) if each.url == offer.target), None)
            if at is not None:
                if DISTRICT_REASON not in found[at].reasons:
                    reasons = (ELSEWHERE, *found[at].reasons)
                    found[at] = replace(found[at], source="shared", reasons=reasons, told_by=offer.schools)
                continue
            likely = sum(each.confidence >= _LIKELY for each in found)
            if offer.target not in addresses(link) and likely < self._settings.alternatives:
                added = self._named_page(offer.target, _OFFER_CONFIDENCE, (ELSEWHERE,), shown)
                del found[self._settings.alternatives - 1 :]
                found.insert(likely, replace(added, source="shared", told_by=offer.schools))
        return tuple(found)

    def _search_link(self, link: BrokenLink, query: Query) -> tuple[Alternative, ...]:
        """Search results for the words of a link, if they say anything."""
        telling = telling_terms(self._collection, query)
        terms = [
            term for term in words.terms(query.text) if term in telling
        ]  # what the page says it searched for
        found = self._search_terms(terms, keywords(query), _SEARCHED + len(addresses(link)))
        return tuple(page for page in found if page.url not in addresses(link))[:_SEARCHED]

    def _search(self, text: str, limit: int) -> tuple[Alternative, ...]:
        return self._search_terms(words.terms(text), words.tokens(text), limit)

    def _search_terms(
        self, terms: Sequence[str], shown: Sequence[str], limit: int
    ) -> tuple[Alternative, ...]:
        found = self._collection.search([(term, 1.0) for term in terms], limit=_SEARCH_LIMIT)
        top = found[0].score if found else 1.0
        ranked = [
            RankedPage(page=hit.page, score=hit.score, confidence=hit.score / top, reasons=())
            for hit in found
        ]
        return tuple(
            self._alternative(choice, shown)
            for choice in islice(_without_duplicates(ranked, self._fingerprints(ranked)), limit)
        )

    def _alternative(self, ranked: RankedPage, shown: Sequence[str]) -> Alternative:
        page = self._text_of(ranked.page.url)
        text = page.text if page else ""
        held = self._collection.holds(ranked.page.url)
        return Alternative(
            url=ranked.page.url,
            title=ranked.page.title,
            snippet=snippet(text[:_SNIPPET_CHARACTERS], shown, language=ranked.page.language),
            score=ranked.score,
            confidence=ranked.confidence,
            source="shared" if TargetKind.SHARED.value in ranked.reasons or not held else "local",
            reasons=ranked.reasons,
            held=held,
            translations=self._collection.translations(ranked.page) if held else (),
        )

    def _infer_source(
        self, url: str, referrer: str | None, recent: Sequence[str]
    ) -> tuple[str | None, Link | None, bool]:
        """The page a click on a URL came from, the link there, and whether the page is a guess.

        An exact Referer whose page has the link; else the first of the client's `recent` pages (latest first) that
        has it; else any saved page that does. When no page is known to have the link (a frame, or a link that a
        script made): the Referer, if it names a page, else the latest page of the Referer's site.
        """
        origin = _origin(referrer) if referrer else ""
        for page in ((referrer,) if referrer else ()) + tuple(recent[:_RECENT]):
            link = self._collection.link_between(page, url)
            if link is not None:
                return page, link, _origin(page) != origin
        # Across sites browsers send only the origin; a page of that origin is more likely.
        inlinks = self._collection.inlinks(url, _INLINKS)
        of_origin = [inlink for inlink in inlinks if origin and _origin(inlink.source_url) == origin]
        for inlink in (*of_origin, *inlinks):
            return inlink.source_url, inlink.link, True
        if referrer and _is_page_referrer(referrer, url):
            return referrer, None, False
        opened = [page for page in recent[:_RECENT] if origin and _origin(page) == origin and page != url]
        return (opened[0], None, True) if opened else (None, None, False)


def local_sources(
    collection: Collection, settings: RepairSettings, hints: Hints | None
) -> tuple[LocalSource, ...]:
    """The evidence sources that need only the collection and its hints."""
    is_stop_anchor = stop_anchors(settings, hints)
    words_alone = (
        ClickedAnchor(is_stop_anchor),
        OtherAnchors(collection, is_stop_anchor),
        UrlWords(collection),
        LinkContext(),
        SourcePage(collection),
        SavedCopy(collection, partial(is_stop_title, extra=settings.stop_titles)),
        LinkNeighbourhood(collection, is_stop_anchor=is_stop_anchor),
    )
    if hints is None:
        return words_alone
    tags = Tags(hints.tags, collection, is_stop_anchor)
    return (*words_alone, tags)


def _place_link(link: BrokenLink, source_url: str | None, stated: Link | None, guessed: bool) -> BrokenLink:
    """The link with its source page and its anchor text, as far as these are known."""
    placed = replace(link, source_url=source_url, source_guessed=guessed)
    if stated is None:
        return placed
    return replace(placed, anchor=stated.anchor, before=stated.before, after=stated.after)


def _with_safe_translations(
    alternatives: Sequence[Alternative], lost: frozenset[str]
) -> tuple[Alternative, ...]:
    """The alternatives without translations that are the lost page, which may be saved still, or carry a secret."""
    return tuple(
        replace(
            each,
            translations=tuple(
                other for other in each.translations if other.url not in lost and not has_secret(other.url)
            ),
        )
        for each in alternatives
    )


def _without_duplicates(
    ranked: Iterable[RankedPage], fingerprints: Mapping[int, int], *, unlike: frozenset[str] = frozenset()
) -> Iterator[RankedPage]:
    """The pages without those at the given URLs, duplicates in content, and URLs that carry a secret.

    Of pages with the same content, or the same title and nearly the same content, the first remains: ranking put the
    best address first. The title must be the same since the parts of a series resemble each other too. An older
    linkmend may have saved URLs with secrets.
    """
    seen: set[bytes] = set()
    titled: dict[str, list[int]] = {}
    for choice in ranked:
        page = choice.page
        if page.url in unlike or page.digest in seen or has_secret(page.url):
            continue
        found, others = fingerprints.get(page.page), titled.setdefault(normalise_name(page.title), [])
        if found is not None and any(distance(found, other) <= NEAR for other in others):
            continue
        seen.add(page.digest)
        others += () if found is None else (found,)
        yield choice


def _is_page_referrer(referrer: str, url: str) -> bool:
    """Whether a Referer is a page; a bare origin is one only for links within that origin."""
    origin = _origin(referrer)
    return bool(origin) and (referrer != origin or _origin(url) == origin)


def _origin(url: str) -> str:
    """Scheme and host with a trailing slash, as browsers send it in a Referer across sites."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.authority}/"
