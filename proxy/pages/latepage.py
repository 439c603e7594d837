"""What came too late for a repair page: a part that its script adds, or a page of its own (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from proxy.pages.display import address, link_target
from proxy.pages.language import Catalogue
from proxy.pages.render import RenderedPage, html_page, html_part
from proxy.pages.repairpage import LIKELY, OfferedPage, offer
from proxy.portal.addresses import chose_path
from repair.model import Alternative, BrokenLink


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFindings:
    """Pages to add to the repair page for a link. Choices are reported under their `numbers`, unless `miss_id` is
    empty; `is_best` when the first fits better than what is on the page; `offline` while no site can be reached."""

    link: BrokenLink
    offers: tuple[Alternative, ...]
    numbers: tuple[int, ...]
    is_best: bool
    miss_id: str
    offline: bool = False


def late_part(findings: LateFindings, texts: Catalogue) -> RenderedPage:
    """What the script of our page adds."""
    return html_part("latepart.html.jinja", texts, late=template_values(findings, texts))


def late_page(findings: LateFindings, texts: Catalogue, *, portal: bool) -> RenderedPage:
    """The page of its own."""
    lost = findings.link.url
    return html_page(
        "late.html.jinja",
        texts,
        portal=portal,
        lost=address(lost),
        live=link_target(lost) or "",
        late=template_values(findings, texts),
    )


def template_values(findings: LateFindings, texts: Catalogue) -> Mapping[str, Any]:
    """The template variables; nothing more comes after this."""
    offers: list[OfferedPage] = []
    for number, alternative in zip(findings.numbers, findings.offers, strict=True):
        made = offer(alternative, texts, offline=findings.offline)
        if made is not None:
            ping = chose_path(findings.miss_id, number) if findings.miss_id else ""
            offers.append(replace(made, ping=ping))
    if offers and findings.is_best and findings.offers[0].confidence >= LIKELY:
        offers[0] = replace(offers[0], better=True)
    return {"offers": offers, "next": "", "page": ""}
