"""RankedAlternatives to the repair page, as HTML for people or JSON for machines (pure).

The contract with scripts: `<ol id="alternatives">`, each `<li data-url data-source>`, its first link the target. So
links lead straight to their targets, and the browser reports a click separately: by `ping`, or by a beacon where it
has no `ping`. In a frame it reports nothing: the site around it may trick the user into clicking.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from proxy.failures import PARENT_DOWN
from proxy.pages import archivepage
from proxy.pages.archivefindings import ArchiveFindings
from proxy.pages.archivefindings import as_json as mementos_as_json
from proxy.pages.archivepage import ArchiveContext
from proxy.pages.display import DisplayAddress, address, clean, clean_spans, link_target
from proxy.pages.language import Catalogue, catalogue
from proxy.pages.languagenames import language_name
from proxy.pages.render import NOTHING_POLICY, Headers, RenderedPage, html_page, page_headers
from proxy.portal.addresses import SUGGEST_PATH, anyway_path, chose_path, copy_path, late_offers_path
from repair.collection.elsewhere import REASON as ELSEWHERE
from repair.collection.pins import DISTRICT_REASON, REASON
from repair.knowntargets import TargetKind
from repair.model import JUDGED, Alternative, BrokenLink, RankedAlternatives, Span
from repair.parse.formats.kinds import kind_of_url
from repair.ranking.preference import is_as_good

MAX_BYTES = 60_000
SHOWN_FIRST = 3
LIKELY = 0.6
"""Confidence from which the first alternative is called the best match, unless there is a copy: that is the page."""

_MAX_TITLE = 140
_MAX_SNIPPET = 320
_MAX_REASONS = 2
_MAX_SHORTENED = 5
_MAX_SHORTENED_CHARS = 300
_MAX_SCHOOLS = 2
_MAX_SCHOOL = 60
_MAX_TRANSLATIONS = 12
_PINNED = frozenset((REASON, DISTRICT_REASON))
_SOURCES = ("copy", "local", "archive", "shared")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPageContext:
    """What the page depends on besides the alternatives, as plain values: another process may render it.

    `language` is that of the page, `status` the status to answer with, `error_detail` a short word for technical
    users (RFC 9209 error type), `fault` what is wrong with the site's certificate, or that the parent proxy is down
    (`proxy.failures.Failure`);
    `miss_id` ties clicks to the miss log, empty for none; `portal` as in `render.html_page`; `anyway` when the page
    that was taken for missing, or the site's own error page, can still be shown; `findings` is what is known about
    archived versions, None where archives may not be queried; `search_template` as in `archivepage.ArchiveContext`;
    `framed` when the page is shown in a frame of another; `at_portal` when its address is at the portal, not the
    missing one; `retry_after_s` when the page tries again by itself, 0 for never; `more_later` when the page's
    script is to ask for pages that come later (`latepage`).
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
    findings: ArchiveFindings | None = None
    search_template: str = ""
    framed: bool = False
    at_portal: bool = False
    retry_after_s: int = 0
    more_later: bool = False

    @property
    def texts(self) -> Catalogue:
        return catalogue(self.language)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLanguage:
    """A translation as the template shows it: the language by the name its speakers use."""

    code: str
    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPage:
    """An alternative as the template shows it: everything cleaned; `ping`, `copy` and `reasons` may be empty.

    `file` is the format of a PDF or the like, "" for a page; `better` when it came later than worse ones.
    """

    url: str
    title: str
    address: DisplayAddress
    source: str = "local"
    snippet: tuple[Span, ...] = ()
    reasons: tuple[str, ...] = ()
    told_by: str = ""
    translations: tuple[NamedLanguage, ...] = ()
    copy: str = ""
    ping: str = ""
    best: bool = False
    better: bool = False
    later: bool = False
    online: bool = False
    file: str = ""


def render(found: RankedAlternatives, context: RepairPageContext) -> RenderedPage:
    """The repair page in the form that the client accepts. Alternatives without a safe http(s) URL are left out."""
    miss: Headers = (("Linkmend-Miss", found.link.kind.value),)
    if context.as_json:
        return _json_page(found, context, miss)
    offers = _offers(found, context)
    page = _html_page(found, context, offers, miss)
    # Only hostile URLs full of markup get here; fewer alternatives are better than a page too large for a slow
    # connection.
    while len(page.body) > MAX_BYTES and offers:
        offers = offers[:-1]
        page = _html_page(found, context, offers, miss)
    return page


def number_offers(found: RankedAlternatives) -> tuple[tuple[int, Alternative], ...]:
    """All offered pages with the numbers under which choices are reported: 0 the saved copy, n the nth alternative.

    The saved copy comes first, unless an admin has pinned another page.
    """
    ranked = tuple(
        (number, alternative)
        for number, alternative in enumerate(found.alternatives, start=1)
        if not _is_copy(alternative, found.link)
    )
    mentioned = [alternative for alternative in found.alternatives if _is_copy(alternative, found.link)]
    pinned = [each for each in ranked if _PINNED.intersection(each[1].reasons)]
    others = [each for each in ranked if not _PINNED.intersection(each[1].reasons)]
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
    """The target of an auto-redirect: the first offered page, when its confidence is at least `least`.

    There is no auto-redirect where only other users' choices decided which of several pages comes first, nor to what
    another school confirmed: what the district's own admins pinned counts as this school's pins do.
    """
    if least is None:
        return None
    for number, alternative in number_offers(found):
        target = link_target(alternative.url)
        if target is None:
            continue
        if ELSEWHERE in alternative.reasons and not _PINNED.intersection(alternative.reasons):
            return None
        if alternative.confidence < least or _was_preferred(alternative, found):
            return None
        return copy_path(target) if number == 0 else target
    return None


def _was_preferred(alternative: Alternative, found: RankedAlternatives) -> bool:
    """Whether other users' choices put a page before one with equal text similarity."""
    return TargetKind.SHARED.value in alternative.reasons and any(
        is_as_good(other, alternative) for other in found.alternatives if other.url != alternative.url
    )


def _is_copy(alternative: Alternative, link: BrokenLink) -> bool:
    return alternative.source == "copy" or (alternative.held and alternative.url == link.url)


def offer(alternative: Alternative, texts: Catalogue, *, offline: bool = False) -> OfferedPage | None:
    """An alternative made safe to show; None when its URL may not become a link."""
    target = link_target(alternative.url)
    if target is None:
        return None
    shown = address(target)
    made = OfferedPage(
        url=target,
        title=clean(alternative.title, _MAX_TITLE) or shown.host + shown.path,
        address=shown,
        source=alternative.source if alternative.source in _SOURCES else "local",
        snippet=clean_spans(alternative.snippet, _MAX_SNIPPET),
        file=kind_of_url(target) or "",
        reasons=tuple(code for code in alternative.reasons if texts.has(f"reason.{code}"))[:_MAX_REASONS],
        told_by=", ".join(clean(name, _MAX_SCHOOL) for name in alternative.told_by[:_MAX_SCHOOLS]),
        translations=_named_languages(alternative, texts.code),
    )
    return _while_offline(made, held=alternative.held) if offline else made


def _named_languages(alternative: Alternative, own: str) -> tuple[NamedLanguage, ...]:
    """The translations of an offered page, the reader's own language first."""
    found = (
        NamedLanguage(code=each.language, name=language_name(each.language), url=target)
        for each in sorted(alternative.translations, key=lambda each: each.language != own)
        if (target := link_target(each.url))
    )
    return tuple(islice(found, _MAX_TRANSLATIONS))


def _while_offline(made: OfferedPage, *, held: bool) -> OfferedPage:
    """An offered page while no site can be reached: it leads to saved copies."""
    return replace(
        made,
        translations=tuple(replace(each, url=copy_path(each.url)) for each in made.translations),
        copy=copy_path(made.url) if held else "",
        online=not held,
    )


def _offers(found: RankedAlternatives, context: RepairPageContext) -> list[OfferedPage]:
    offers: list[OfferedPage] = []
    listed = 0
    for number, alternative in number_offers(found):
        made = offer(alternative, context.texts, offline=context.offline)
        if made is None:
            continue
        if context.miss_id and not context.framed:
            made = replace(made, ping=chose_path(context.miss_id, number))
        if number == 0:
            offers.append(replace(made, copy=copy_path(made.url)))
            continue
        best = not offers and alternative.confidence >= LIKELY
        offers.append(replace(made, best=best, later=listed >= SHOWN_FIRST))
        listed += 1
    return offers


def _searched(found: RankedAlternatives, context: RepairPageContext) -> list[OfferedPage]:
    """Search results, each with its copy; they are no offers, and clicks on them are not reported."""
    made = (offer(result, context.texts, offline=context.offline) for result in found.searched)
    return [replace(each, copy=copy_path(each.url)) for each in made if each is not None]


def _html_page(
    found: RankedAlternatives, context: RepairPageContext, offers: list[OfferedPage], miss: Headers
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
        # A missing page may be inside a frame, and the explanation belongs there too.
        framable=True,
        portal=context.portal,
        kind=found.link.kind.value,
        suggest=SUGGEST_PATH if context.miss_id else "",
        miss_id=context.miss_id,
        anyway=anyway_path(context.miss_id) if context.anyway and context.miss_id else "",
        judged=found.link.kind in JUDGED,
        retry_after_s=context.retry_after_s,
        lost=address(found.link.url),
        again=link_target(found.link.url) or "" if context.at_portal else "",
        offers=offers,
        searched=_searched(found, context),
        address=link_target(found.link.url) or "",
        later=sum(item.later for item in offers),
        copy_date=context.texts.date(found.copy_at) if found.copy_at else "",
        query=clean(found.query, 200),
        shortened=[{"url": target, "address": shown} for target, shown in shorter[:_MAX_SHORTENED]],
        offline=context.offline,
        error_detail=clean(context.error_detail, 200),
        fault=context.fault if context.texts.has(f"fault.{context.fault}") else "",
        words="parent" if context.fault == PARENT_DOWN else f"kind.{found.link.kind.value}",
        archive=_archive(context),
        late=_late(context),
    )


def _late(context: RepairPageContext) -> Mapping[str, object] | None:
    if not context.more_later or not context.miss_id:
        return None
    miss_id = context.miss_id
    return {"offers": (), "next": late_offers_path(miss_id, part=True), "page": late_offers_path(miss_id)}


def _archive(context: RepairPageContext) -> Mapping[str, object] | None:
    if context.findings is None or not context.miss_id:
        return None
    about = ArchiveContext(
        texts=context.texts,
        miss_id=context.miss_id,
        now=datetime.now(UTC),
        search_template=context.search_template,
    )
    return archivepage.template_values(context.findings, about)


def _json_page(found: RankedAlternatives, context: RepairPageContext, miss: Headers) -> RenderedPage:
    return RenderedPage(
        status=context.status,
        headers=(
            ("Content-Type", "application/json"),
            *page_headers(context.texts.code, policy=NOTHING_POLICY),
            *miss,
        ),
        body=json.dumps(as_json(found, context.findings)).encode("ascii"),
    )


def as_json(found: RankedAlternatives, findings: ArchiveFindings | None = None) -> dict[str, object]:
    """The response for machines, with the names of the contract; `linkmend mend` prints the same."""
    return {
        "url": found.link.url,
        "kind": found.link.kind.value,
        "source_page": found.link.source_url,
        "queries": dict(found.queries),
        "alternatives": [_as_json(item) for _, item in number_offers(found) if link_target(item.url)],
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
        **(
            {"told_by": [clean(name, _MAX_SCHOOL) for name in alternative.told_by]}
            if alternative.told_by
            else {}
        ),
        **(
            {"translations": {each.code: each.url for each in translations}}
            if (translations := _named_languages(alternative, ""))
            else {}
        ),
    }
