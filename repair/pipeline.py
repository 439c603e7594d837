"""Repair: a broken link in, ranked alternatives out, stage by stage.

    BrokenLink -> gather -> Evidence -> formulate -> Query -> propose -> rank -> RankedAlternatives

All that blocks runs in the executor given, a whole repair as one piece of work; the event loop only waits. Whatever a
stage cannot find, the others do without: an empty answer is an answer.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import ParamSpec, TypeVar

from repair import urls, words
from repair.collection import Collection
from repair.experience import prefer
from repair.find import addresses, finder, stop_anchors
from repair.gather import gather, gather_local
from repair.hints import Hints
from repair.model import Alternative, BrokenLink, Click, Evidence, Link, Query, RankedAlternatives
from repair.neighbourhood import LinkNeighbourhood
from repair.pins import REASON, Pins
from repair.pointers import Kind
from repair.query import formulate, keywords, texts
from repair.rank import Ranked
from repair.secreturls import has_secret
from repair.settings import RepairSettings
from repair.snippets import snippet
from repair.sources import LocalSource, Source
from repair.sources.anchors import ClickedAnchor, OtherAnchors
from repair.sources.context import LinkContext
from repair.sources.copy import OwnCopy
from repair.sources.referrer import SourcePage
from repair.sources.tags import Tags
from repair.sources.urlwords import UrlWords
from repair.titles import is_stop_title

_EVIDENCE_SHARE = 0.5  # of the deadline; ranking needs some of it too
_RECENT = 20
_INLINKS = 100
_SEARCH_LIMIT = 100
_SNIPPET_CHARACTERS = 8_000  # a snippet from further down a long page is not worth the time to find it

P = ParamSpec("P")
T = TypeVar("T")


class Repairer:
    """The stages in a line, over one collection."""

    def __init__(
        self,
        collection: Collection,
        settings: RepairSettings,
        executor: Executor,
        *,
        further_sources: Sequence[Source] = (),
        hints: Hints | None = None,
    ) -> None:
        self._collection = collection
        self._settings = settings
        self._executor = executor
        self._find = finder(collection, settings, hints)
        self._hints = hints
        self._pins = Pins(collection.database)
        self._local = local_sources(collection, settings, hints)
        self._further = tuple(further_sources)

    async def repair(
        self, link: BrokenLink, *, within_s: float | None = None, click: Click | None = None
    ) -> RankedAlternatives:
        """What to offer instead of a link's target, best first; never the target itself nor the page it is on.

        `within_s` is how long the caller waits, if not as long as the settings say. With a `click`, the page it came
        from is inferred first, and stands in the link that is returned.
        """
        evidence_s = (self._settings.deadline_s if within_s is None else within_s) * _EVIDENCE_SHARE
        further = await gather(link, self._further, deadline_s=evidence_s)
        return await self._run(self._repaired, link, click, further, evidence_s)

    async def search(self, text: str, limit: int = 10) -> tuple[Alternative, ...]:
        """Held pages for words that a person typed, best first."""
        return await self._run(self._search, text, limit)

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: work(*args, **kwargs))

    def _repaired(
        self, link: BrokenLink, click: Click | None, further: Sequence[Evidence], evidence_s: float
    ) -> RankedAlternatives:
        if click is not None:
            link = _placed(link, *self._source(link.url, click.referrer, click.recent))
        link = self._completed(link)
        evidence = (*gather_local(link, self._local, deadline_s=evidence_s), *further)
        return self._answer(link, formulate(link, evidence))

    def _completed(self, link: BrokenLink) -> BrokenLink:
        """The link with the words that its author put on it, looked up in the link graph when the click told none."""
        if link.anchor or link.before or link.after:
            return link
        found = self._collection.link_between(link.source_url, link.url) if link.source_url else None
        if found is None:
            inlink = next(iter(self._collection.inlinks(link.url, 1)), None)
            found = inlink.link if inlink else None
        if found is None:
            return link
        return replace(link, anchor=found.anchor, before=found.before, after=found.after)

    def _answer(self, link: BrokenLink, query: Query) -> RankedAlternatives:
        ranked = self._preferred(link, self._find(link, query))
        held = self._collection.get(link.url)
        told = keywords(query)
        pinned = self._pinned(link, told)
        unlike = addresses(link) | {item.url for item in pinned}
        offered = islice(_distinct(ranked, unlike=unlike), max(0, self._settings.alternatives - len(pinned)))
        return RankedAlternatives(
            link=link,
            alternatives=(*pinned, *(self._alternative(choice, told) for choice in offered)),
            copy_at=held.fetched_at if held and held.has_copy else None,
            shortened=tuple(url for url in urls.shortened(link.url) if self._collection.holds(url)),
            query=query.text,
            queries=texts(query),
            keywords=told,
        )

    def _preferred(self, link: BrokenLink, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
        """What users chose before decides between pages that the text supports as much."""
        return prefer(ranked, self._hints.favourites(link.url)) if self._hints else ranked

    def _pinned(self, link: BrokenLink, shown: Sequence[str]) -> tuple[Alternative, ...]:
        """What an admin chose for the link's target: certain, and offered whether we hold it or not."""
        pin = self._pins.of(link.url)
        if pin is None:
            return ()
        chosen = Alternative(
            url=pin.target, title="", score=1.0, confidence=1.0, reasons=(REASON,), held=False
        )
        page = self._collection.get(pin.target)
        if page is None:
            return (chosen,)
        text = snippet(page.text[:_SNIPPET_CHARACTERS], shown, language=page.language)
        return (replace(chosen, title=page.title, snippet=text, held=True),)

    def _search(self, text: str, limit: int) -> tuple[Alternative, ...]:
        terms = words.terms(text)
        found = self._collection.search([(term, 1.0) for term in terms], limit=_SEARCH_LIMIT)
        top = found[0].score if found else 1.0
        ranked = [
            Ranked(page=hit.page, score=hit.score, confidence=hit.score / top, reasons=()) for hit in found
        ]
        shown = words.tokens(text)
        return tuple(self._alternative(choice, shown) for choice in islice(_distinct(ranked), limit))

    def _alternative(self, ranked: Ranked, shown: Sequence[str]) -> Alternative:
        page = self._collection.get(ranked.page.url)
        text = page.text if page else ""
        return Alternative(
            url=ranked.page.url,
            title=ranked.page.title,
            snippet=snippet(text[:_SNIPPET_CHARACTERS], shown, language=ranked.page.language),
            score=ranked.score,
            confidence=ranked.confidence,
            source="shared" if Kind.SHARED.value in ranked.reasons else "local",
            reasons=ranked.reasons,
        )

    def _source(
        self, url: str, referrer: str | None, recent: Sequence[str]
    ) -> tuple[str | None, Link | None]:
        """The page a click on a URL came from, and the link there.

        An exact Referer that holds the link; else the first of the client's `recent` pages (latest first) that holds
        it; else any held page that does. When no page is known to have the link, the Referer, if it names a page.
        """
        for page in ((referrer,) if referrer else ()) + tuple(recent[:_RECENT]):
            link = self._collection.link_between(page, url)
            if link is not None:
                return page, link
        # Across sites browsers send the origin alone; a page of that origin is the likelier one.
        inlinks = self._collection.inlinks(url, _INLINKS)
        there = [inlink for inlink in inlinks if referrer and _origin(inlink.source_url) == _origin(referrer)]
        for inlink in (*there, *inlinks):
            return inlink.source_url, inlink.link
        return (referrer, None) if referrer and _names_a_page(referrer, url) else (None, None)


def local_sources(
    collection: Collection, settings: RepairSettings, hints: Hints | None
) -> tuple[LocalSource, ...]:
    """The sources that need nothing but the collection, and those that go by what is known beside its words."""
    is_stop_anchor = stop_anchors(settings, hints)
    words_alone = (
        ClickedAnchor(is_stop_anchor),
        OtherAnchors(collection, is_stop_anchor),
        UrlWords(collection),
        LinkContext(),
        SourcePage(collection),
        OwnCopy(collection, partial(is_stop_title, extra=settings.stop_titles)),
        LinkNeighbourhood(collection, is_stop_anchor=is_stop_anchor),
    )
    if hints is None:
        return words_alone
    tags = Tags(hints.tags, collection, is_stop_anchor)
    return (*words_alone, tags)


def _placed(link: BrokenLink, source_url: str | None, stated: Link | None) -> BrokenLink:
    """The link with the page it stands on and the words its author gave it, as far as these are known."""
    if stated is None:
        return replace(link, source_url=source_url)
    return replace(
        link, source_url=source_url, anchor=stated.anchor, before=stated.before, after=stated.after
    )


def _distinct(ranked: Iterable[Ranked], *, unlike: frozenset[str] = frozenset()) -> Iterator[Ranked]:
    """The pages without those at the given addresses, without the second of two that say the same, and without those
    whose address carries a secret: an older linkmend may have taken them in."""
    seen: set[bytes] = set()
    for choice in ranked:
        if choice.page.url in unlike or choice.page.digest in seen or has_secret(choice.page.url):
            continue
        seen.add(choice.page.digest)
        yield choice


def _names_a_page(referrer: str, url: str) -> bool:
    """Whether a Referer is a page; a bare origin is one only for links within that origin."""
    origin = _origin(referrer)
    return bool(origin) and (referrer != origin or _origin(url) == origin)


def _origin(url: str) -> str:
    """Scheme and host with a slash behind, as browsers send it for a Referer across sites."""
    try:
        parts = urls.parse(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.authority}/"
