"""The archived versions of a missing page: a section of the repair page, or a page of its own (pure).

The last good copy comes first, then the time graph and the list, then ways to the new version, then the expert
options. Everything in it is untrusted: titles, addresses, dates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from proxy.pages.archivefindings import ArchiveFindings, key_of, title_of
from proxy.pages.display import DisplayAddress, address, clean, link_target
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage, html_page, html_part
from proxy.pages.timegraph import within
from proxy.pages.timelinks import linked_graph
from proxy.portal.addresses import MEMENTOS_PATH, mementos_part_path, mementos_path
from proxy.portal.timeparameters import BACKLINKS, LEVELS, RADII, TERMS, TimeView, parameters
from repair.memento.model import ArchiveOutcome, Memento, MementoCopy
from repair.model import Alternative
from repair.newversion import WEIGHTINGS, Suggestion
from repair.text.urls import shorter_urls

LATEST = 10
"""Mementos whose titles are shown, and from which an expert may choose."""
_LISTED = 10
_LISTED_ON_ITS_OWN = 100
_MAX_TITLE = 140
_MAX_SHORTENED = 5
_TEMPLATE_WORDS = "{searchTerms}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveContext:
    """Whom the page is for; `search_template` is the template of an outside search engine (OpenSearch), "" for
    none.
    """

    texts: Catalogue
    miss_id: str
    now: datetime
    view: TimeView = TimeView()  # noqa: RUF009  (frozen)
    search_template: str = ""
    portal: bool = True


def archive_page(findings: ArchiveFindings, context: ArchiveContext) -> RenderedPage:
    """The page of its own, for users without scripts and those who want details."""
    lost = findings.link.url
    return html_page(
        "archive.html.jinja",
        context.texts,
        portal=context.portal,
        lost=address(lost),
        live=link_target(lost) or "",
        archive=template_values(findings, context, alone=True),
    )


def archive_part(findings: ArchiveFindings, context: ArchiveContext) -> RenderedPage:
    """The section that the script of our page replaces its old section with."""
    return html_part("archivepart.html.jinja", context.texts, archive=template_values(findings, context))


def template_values(
    findings: ArchiveFindings, context: ArchiveContext, *, alone: bool = False
) -> Mapping[str, Any]:
    """The template variables."""
    view, texts = context.view, context.texts
    chosen = within(findings.found.mementos, view)
    limit = _LISTED_ON_ITS_OWN if alone or view != TimeView() else _LISTED
    listed = [_memento(each, texts) for each in reversed(chosen[-limit:]) if link_target(each.url)]
    waiting = not findings.finished
    silent = [
        each
        for each in findings.found.answers
        if each.outcome not in (ArchiveOutcome.ANSWERED, ArchiveOutcome.NOTHING)
    ]
    return {
        "miss": context.miss_id,
        "view": view,
        "alone": alone,
        "next": mementos_part_path(context.miss_id, view, findings.version) if waiting else "",
        "page": mementos_path(context.miss_id, view),
        "asked": findings.version > 0,
        "offline": findings.offline,
        "versions": alone or not findings.offline or bool(findings.found.mementos or findings.best),
        "best": _copy(findings.best, texts),
        "graph": linked_graph(findings.found.mementos, view, context.miss_id, texts, context.now),
        "total": len(findings.found.mementos),
        "chosen": len(chosen),
        "more": mementos_path(context.miss_id, view, titles=False)
        if len(listed) < len(chosen) and not alone
        else "",
        "listed": listed,
        "silent": sorted(clean(answer.archive, 60) for answer in silent),
        "unanswered": bool(silent) and len(silent) == len(findings.found.answers),
        "suggestions": [
            _suggestion(each, findings.held.get(each.kind, ()), context) for each in findings.suggestions
        ],
        "shortened": _shorter_addresses(findings.link.url),
        "expert": _expert(findings, context),
    }


def _memento(memento: Memento, texts: Catalogue) -> dict[str, Any]:
    return {
        "url": memento.url,
        "date": texts.date(memento.at),
        "time": f"{memento.at:%H:%M}",
        "archive": clean(memento.archive, 60),
        "broken": memento.status is not None and memento.status >= 400,
    }


def _copy(copy: MementoCopy | None, texts: Catalogue) -> dict[str, Any] | None:
    if copy is None or not link_target(copy.memento.url):
        return None
    return {**_memento(copy.memento, texts), "title": clean(title_of(copy), _MAX_TITLE)}


def _suggestion(
    suggestion: Suggestion, held: Iterable[Alternative], context: ArchiveContext
) -> dict[str, Any]:
    query = clean(suggestion.query, 200)
    outside = context.search_template.replace(_TEMPLATE_WORDS, quote(query, safe="")) if query else ""
    return {
        "kind": suggestion.kind,
        "query": query,
        "doubtful": suggestion.doubtful,
        "outside": link_target(outside) or "",
        "held": [
            {"url": target, "title": clean(each.title, _MAX_TITLE), "address": address(target)}
            for each in held
            if (target := link_target(each.url))
        ],
    }


def _shorter_addresses(url: str) -> list[dict[str, str | DisplayAddress]]:
    targets = [target for each in shorter_urls(url) if (target := link_target(each))]
    return [{"url": target, "address": address(target)} for target in targets[:_MAX_SHORTENED]]


def _expert(findings: ArchiveFindings, context: ArchiveContext) -> dict[str, Any]:
    view, texts = context.view, context.texts
    taken = findings.taken.memento if findings.taken else None
    latest = [
        {
            "key": key_of(memento),
            "shown": _memento(memento, texts),
            "title": clean(title, _MAX_TITLE),
            "doubtful": doubtful,
            "chosen": memento == taken,
        }
        for memento, title, doubtful in findings.titles
        if link_target(memento.url)
    ]
    return {
        "action": MEMENTOS_PATH,
        "open": parameters(view, archive="", year=0, month=0) != {},
        "kept": {
            name: value
            for name, value in (("archive", view.archive), ("year", view.year), ("month", view.month))
            if value
        },
        "latest": latest,
        "titles": mementos_path(context.miss_id, view, titles=True)
        if not view.titles and any(not each["title"] for each in latest)
        else "",
        "terms": (TERMS.start, TERMS.stop - 1),
        "backlinks": (BACKLINKS.start, BACKLINKS.stop - 1),
        "levels": list(LEVELS),
        "radii": RADII,
        "weightings": WEIGHTINGS,
    }
