"""The pages of the portal for people who browse: topics, lists of saved pages and sites, searches (pure)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from proxy.pages.display import clean
from proxy.pages.language import Catalogue
from proxy.pages.languagenames import language_name
from proxy.pages.render import RenderedPage, html_page
from proxy.pages.repairpage import OfferedPage, offer
from proxy.portal.addresses import BrowseList, browse_path, copy_path, search_path, topic_path
from proxy.portal.browsing import ON_START_PAGE, PER_PAGE, SITES_ON_START_PAGE, BrowseResults, StartPageLists
from proxy.portal.routemodel import BrowseRoute, SearchRoute, TopicRoute
from proxy.portal.routes import MAX_PAGE
from repair.collection.listing import HTML, KINDS, TEXT, BrowsedPage, BrowsedSite
from repair.collection.pagesearch import SearchResults
from repair.crawling.topicguide import TopicSection, TopicSummary
from repair.model import Alternative

_MAX_NAME = 100
_MAX_SUBTOPICS = 5
_KIND_TEXTS = {HTML: "browse", TEXT: "browse"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLink:
    """A link with its words and, beside it, a number; `lang` where the words are in another language."""

    url: str
    words: str
    count: str = ""
    more: str = ""
    lang: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPaging:
    """The addresses of the pages before and after the one with this number; "" for none."""

    number: int
    before: str = ""
    after: str = ""


def start_page_values(lists: StartPageLists, texts: Catalogue) -> dict[str, object]:
    """What the template of the start page shows of the saved pages."""
    return {
        "topics": [_topic_link(topic, texts) for topic in lists.topics],
        "most_read": _pages(lists.most_read, texts),
        "most_read_path": browse_path(BrowseList.READ) if len(lists.most_read) == ON_START_PAGE else "",
        "newest": _pages(lists.newest, texts),
        "newest_path": browse_path(BrowseList.NEWEST) if len(lists.newest) == ON_START_PAGE else "",
        "sites": [_site_link(site, texts) for site in lists.sites],
        "sites_path": browse_path(BrowseList.SITES) if len(lists.sites) == SITES_ON_START_PAGE else "",
        "languages": [
            NamedLink(
                url=browse_path(BrowseList.LANGUAGE, code),
                words=language_name(code),
                count=texts.number(count),
                lang=code,
            )
            for code, count in lists.languages
        ],
    }


def topic_page(
    route: TopicRoute, sections: Sequence[TopicSection], texts: Catalogue, *, portal: bool = True
) -> RenderedPage:
    """A topic with the best pages of each sub-topic, or all pages of one of them."""
    whole = route.subtopic is None
    shown = [
        {
            "name": clean(section.subtopic, _MAX_NAME),
            "pages": _pages(section.pages, texts),
            "all": topic_path(route.topic, section.subtopic)
            if whole and section.total > len(section.pages)
            else "",
            "total": texts.number(section.total),
        }
        for section in sections
    ]
    total = 0 if whole else sum(section.total for section in sections)
    return html_page(
        "topic.html.jinja",
        texts,
        portal=portal,
        topic=clean(route.topic, _MAX_NAME),
        subtopic=clean(route.subtopic or "", _MAX_NAME),
        up="" if whole else topic_path(route.topic),
        sections=shown,
        paging=_paging(
            lambda number: topic_path(route.topic, route.subtopic, page=number),
            route.page,
            has_more=total > route.page * PER_PAGE,
        ),
        whole=whole,
    )


def list_page(
    route: BrowseRoute, results: BrowseResults, texts: Catalogue, *, portal: bool = True
) -> RenderedPage:
    """A list of saved pages or sites."""
    of = language_name(route.of) if route.list is BrowseList.LANGUAGE else clean(route.of, _MAX_NAME)
    return html_page(
        "browse.html.jinja",
        texts,
        portal=portal,
        list=route.list.value,
        of=of,
        of_language=route.of if route.list is BrowseList.LANGUAGE else "",
        pages=_pages(results.pages, texts),
        dates=[texts.date(page.saved_on) for page in results.pages]
        if route.list is BrowseList.NEWEST
        else (),
        sites=[_site_link(site, texts) for site in results.sites],
        paging=_paging(
            lambda number: browse_path(route.list, route.of, page=number),
            route.page,
            has_more=results.has_more,
        ),
    )


def search_page(
    route: SearchRoute,
    results: SearchResults,
    lists: StartPageLists | None,
    texts: Catalogue,
    *,
    portal: bool = True,
) -> RenderedPage:
    """The results of a search, each with its saved copy; with an empty query only the form."""
    offers = [
        replace(made, copy=copy_path(made.url)) for each in results.found if (made := offer(each, texts))
    ]
    filters = {"topic": route.topic, "lang": route.language, "type": route.kind}
    known = lists or StartPageLists()
    return html_page(
        "search.html.jinja",
        texts,
        portal=portal,
        query=clean(route.query, 200),
        offers=offers,
        total=texts.number(results.total),
        filtered=any(filters.values()),
        suggestion=NamedLink(
            url=search_path(results.suggestion, filters), words=clean(results.suggestion, 200)
        )
        if results.suggestion
        else None,
        topic_choices=_choices(route.topic, [(topic.name, topic.name) for topic in known.topics]),
        language_choices=_choices(
            route.language, [(code, language_name(code)) for code, _ in known.languages]
        ),
        kind_choices=_choices(
            route.kind, [(kind, str(texts(f"{_KIND_TEXTS.get(kind, 'file')}.{kind}"))) for kind in KINDS]
        ),
        paging=_paging(
            lambda number: search_path(route.query, filters, page=number),
            route.page,
            has_more=results.has_more,
        ),
    )


def _topic_link(topic: TopicSummary, texts: Catalogue) -> NamedLink:
    shown = topic.subtopics[:_MAX_SUBTOPICS]
    return NamedLink(
        url=topic_path(topic.name),
        words=clean(topic.name, _MAX_NAME),
        count=texts.number(topic.pages) if topic.pages else "",
        more=", ".join(clean(name, _MAX_NAME) for name in shown)
        + (" …" if len(topic.subtopics) > len(shown) else ""),
    )


def _site_link(site: BrowsedSite, texts: Catalogue) -> NamedLink:
    return NamedLink(
        url=browse_path(BrowseList.SITE, site.site),
        words=clean(site.site, _MAX_NAME),
        count=texts.number(site.pages),
    )


def _pages(pages: Iterable[BrowsedPage], texts: Catalogue) -> list[OfferedPage]:
    """Pages as the templates list them; without those whose address may not become a link."""
    made = ((page, offer(Alternative(url=page.url, title=page.title), texts)) for page in pages)
    return [
        replace(shown, copy=copy_path(shown.url), file=page.kind if texts.has(f"file.{page.kind}") else "")
        for page, shown in made
        if shown is not None
    ]


def _choices(chosen: str, choices: Sequence[tuple[str, str]]) -> list[tuple[str, str, bool]]:
    """Value, words and whether it is the chosen one, of each option of a filter; also of one that is not offered."""
    known = [value for value, _ in choices]
    offered = choices if not chosen or chosen in known else [*choices, (chosen, clean(chosen, _MAX_NAME))]
    return [(value, clean(words, _MAX_NAME), value == chosen) for value, words in offered]


def _paging(path: Callable[[int], str], number: int, *, has_more: bool) -> ResultPaging:
    return ResultPaging(
        number=number,
        before=path(number - 1) if number > 1 else "",
        after=path(number + 1) if has_more and number < MAX_PAGE else "",
    )
