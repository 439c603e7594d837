"""RankedAlternatives to the repair page, as HTML for people or JSON for machines (pure).

The contract with scripts: `<ol id="alternatives">`, each `<li data-url data-source>`, its first link the target.
So links lead straight to their targets, and what a user clicked on is told to us on the side: by `ping`, or by a
beacon where a browser has no `ping`. In a frame it is not told: the site around it may have the user click on what
they do not see.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from proxy.archives.findings import Findings
from proxy.archives.findings import as_json as mementos_as_json
from proxy.pages import archivepage
from proxy.pages.archivepage import ArchiveContext
from proxy.pages.display import Address, address, clean, clean_spans, link_target
from proxy.pages.language import Catalogue, catalogue
from proxy.pages.render import NOTHING_POLICY, Headers, RenderedPage, html_page, page_headers
from proxy.portal.helper import anyway_path, chose_path, copy_path
from repair.experience import is_as_good
from repair.model import Alternative, BrokenLink, RankedAlternatives, Span
from repair.pins import REASON
from repair.pointers import Kind

MAX_BYTES = 60_000
SHOWN_FIRST = 3
LIKELY = 0.6
"""Confidence from which the first alternative is called the best match, unless there is a copy: that is the page."""

_MAX_TITLE = 140
_MAX_SNIPPET = 320
_MAX_REASONS = 2
_MAX_SHORTENED = 5
_MAX_SHORTENED_CHARS = 300
_SOURCES = ("copy", "local", "archive", "shared")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """What the page depends on besides what was found, as plain values: it may be drawn in another process.

    `language` is that of the page, `status` the one to answer with, `error_detail` a short word for technical readers
    (RFC 9209 error type), `fault` what is wrong with the site's certificate (`proxy.failures.Failure`);
    `miss_id` ties clicks to the miss log, empty for none; `portal` as in `render.html_page`; `anyway` when the page
    that was taken for missing can be shown all the same; `findings` are what is known of archived versions, None
    where archives may not be asked; `search_template` as in `archivepage.ArchiveContext`; `framed` when the page is
    shown in a frame of another; `at_portal` when it does not stand under the address that is missing.
    """

    language: str
    status: int
    as_json: bool = False
    miss_id: str = ""
    offline: bool = False
    error_detail: str = ""
    fault: str = ""
    portal: bool = True
    anyway: bool = False
    findings: Findings | None = None
    search_template: str = ""
    framed: bool = False
    at_portal: bool = False

    @property
    def texts(self) -> Catalogue:
        return catalogue(self.language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An alternative as the template shows it: everything cleaned, `ping`, `copy` and `reasons` possibly empty."""

    url: str
    title: str
    address: Address
    source: str = "local"
    snippet: tuple[Span, ...] = ()
    reasons: tuple[str, ...] = ()
    copy: str = ""
    ping: str = ""
    best: bool = False
    later: bool = False
    online: bool = False


def render(found: RankedAlternatives, context: PageContext) -> RenderedPage:
    """The repair page in the form the client asked for. Alternatives without a safe http(s) URL are left out."""
    miss: Headers = (("Linkmend-Miss", found.link.kind.value),)
    if context.as_json:
        return _json_page(found, context, miss)
    offers = _offers(found, context)
    page = _html_page(found, context, offers, miss)
    # Only markup-heavy hostile URLs get here; fewer alternatives are better than a page a slow line chokes on.
    while len(page.body) > MAX_BYTES and offers:
        offers = offers[:-1]
        page = _html_page(found, context, offers, miss)
    return page


def numbered(found: RankedAlternatives) -> tuple[tuple[int, Alternative], ...]:
    """All that is offered, with the number under which a choice is told: 0 the held copy, n the nth alternative.

    The held copy comes first, unless an admin has pinned another page.
    """
    ranked = tuple(
        (number, alternative)
        for number, alternative in enumerate(found.alternatives, start=1)
        if not _is_copy(alternative, found.link)
    )
    mentioned = [alternative for alternative in found.alternatives if _is_copy(alternative, found.link)]
    pinned = [each for each in ranked if REASON in each[1].reasons]
    others = [each for each in ranked if REASON not in each[1].reasons]
    if mentioned:
        return (*pinned, (0, replace(mentioned[0], url=found.link.url, source="copy")), *others)
    if found.copy_at is None:
        return ranked
    copy = Alternative(
        url=found.link.url,
        title=found.link.anchor,
        score=1.0,
        confidence=1.0,
        source="copy",
        reasons=("copy",),
    )
    return (*pinned, (0, copy), *others)


def auto_follow_target(found: RankedAlternatives, least: float | None) -> str | None:
    """Where to lead a user without asking: the first that is offered, when its confidence is at least this.

    Nobody is led where only other users' choices decided which of several pages comes first.
    """
    if least is None:
        return None
    for number, alternative in numbered(found):
        target = link_target(alternative.url)
        if target is None:
            continue
        if alternative.confidence < least or _was_preferred(alternative, found):
            return None
        return copy_path(target) if number == 0 else target
    return None


def _was_preferred(alternative: Alternative, found: RankedAlternatives) -> bool:
    """Whether other users' choices put a page before one that the text supports as much."""
    return Kind.SHARED.value in alternative.reasons and any(
        is_as_good(other, alternative) for other in found.alternatives if other.url != alternative.url
    )


def _is_copy(alternative: Alternative, link: BrokenLink) -> bool:
    return alternative.source == "copy" or (alternative.held and alternative.url == link.url)


def offer(alternative: Alternative, texts: Catalogue) -> Offer | None:
    """An alternative made fit to be shown; None when its URL may not become a link."""
    target = link_target(alternative.url)
    if target is None:
        return None
    shown = address(target)
    return Offer(
        url=target,
        title=clean(alternative.title, _MAX_TITLE) or shown.host + shown.path,
        address=shown,
        source=alternative.source if alternative.source in _SOURCES else "local",
        snippet=clean_spans(alternative.snippet, _MAX_SNIPPET),
        reasons=tuple(code for code in alternative.reasons if texts.has(f"reason.{code}"))[:_MAX_REASONS],
    )


def _offers(found: RankedAlternatives, context: PageContext) -> list[Offer]:
    offers: list[Offer] = []
    shown = 0
    for number, alternative in numbered(found):
        made = offer(alternative, context.texts)
        if made is None:
            continue
        if context.miss_id and not context.framed:
            made = replace(made, ping=chose_path(context.miss_id, number))
        if number == 0:
            offers.append(replace(made, copy=copy_path(made.url)))
            continue
        best = not offers and alternative.confidence >= LIKELY
        copy = copy_path(made.url) if context.offline and alternative.held else ""
        online = context.offline and not alternative.held
        offers.append(replace(made, best=best, copy=copy, online=online, later=shown >= SHOWN_FIRST))
        shown += 1
    return offers


def _html_page(
    found: RankedAlternatives, context: PageContext, offers: list[Offer], miss: Headers
) -> RenderedPage:
    shorter = [
        (target, address(target))
        for url in found.shortened
        if len(url) <= _MAX_SHORTENED_CHARS and (target := link_target(url))
    ]
    return html_page(
        "repair.html.jinja",
        context.texts,
        status=context.status,
        headers=miss,
        # A missing page may have its place in a frame, and the explanation belongs in that place.
        framable=True,
        portal=context.portal,
        kind=found.link.kind.value,
        anyway=anyway_path(context.miss_id) if context.anyway and context.miss_id else "",
        lost=address(found.link.url),
        again=link_target(found.link.url) or "" if context.at_portal else "",
        offers=offers,
        later=sum(item.later for item in offers),
        copy_date=context.texts.date(found.copy_at) if found.copy_at else "",
        query=clean(found.query, 200),
        shortened=[{"url": target, "address": shown} for target, shown in shorter[:_MAX_SHORTENED]],
        offline=context.offline,
        error_detail=clean(context.error_detail, 200),
        fault=context.fault if context.texts.has(f"fault.{context.fault}") else "",
        archive=_archive(context),
    )


def _archive(context: PageContext) -> Mapping[str, object] | None:
    if context.findings is None or not context.miss_id:
        return None
    about = ArchiveContext(
        texts=context.texts,
        miss_id=context.miss_id,
        now=datetime.now(UTC),
        search_template=context.search_template,
    )
    return archivepage.shown(context.findings, about)


def _json_page(found: RankedAlternatives, context: PageContext, miss: Headers) -> RenderedPage:
    return RenderedPage(
        status=context.status,
        headers=(
            ("Content-Type", "application/json"),
            *page_headers(context.texts.code, policy=NOTHING_POLICY),
            *miss,
        ),
        body=json.dumps(as_json(found, context.findings)).encode("ascii"),
    )


def as_json(found: RankedAlternatives, findings: Findings | None = None) -> dict[str, object]:
    """The answer for machines, under the names of the contract; `linkmend mend` prints the same."""
    return {
        "url": found.link.url,
        "kind": found.link.kind.value,
        "source_page": found.link.source_url,
        "queries": dict(found.queries),
        "alternatives": [_as_json(item) for _, item in numbered(found) if link_target(item.url)],
        "mementos": mementos_as_json(findings) if findings else {},
        "keywords": list(found.keywords),
    }


def _as_json(alternative: Alternative) -> dict[str, object]:
    return {
        "url": alternative.url,
        "title": clean(alternative.title, 500),
        "snippet": "".join(span.text for span in clean_spans(alternative.snippet, 500)).strip(),
        "score": alternative.score,
        "confidence": alternative.confidence,
        "source": alternative.source,
        "reasons": list(alternative.reasons),
        "held": alternative.held,
    }
