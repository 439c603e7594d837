"""The pages that `linkmend export` was asked for: those of a topic, of a site, or those that a query finds."""

from dataclasses import dataclass

from repair.collection.collection import Collection
from repair.crawling.topicstore import TopicStore
from repair.text import urls, words

_LEAST_SCORE = 0.5  # of the best page's: what matches a query less is about something else


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSelection:
    """`kind` is topic, site or query; `title` is what a person would call it."""

    kind: str
    title: str
    addresses: tuple[str, ...]


def select_pages(
    wanted: str, collection: Collection, topics: TopicStore | None, *, limit: int
) -> PackSelection:
    """A topic by its name; else a host or the beginning of an address; else a query."""
    topic = topics.get(wanted) if topics is not None else None
    if topics is not None and topic is not None:
        pages = topics.pages(topic.name, limit=limit)
        return PackSelection(kind="topic", title=topic.name, addresses=tuple(page.url for page in pages))
    for beginning in _site_beginnings(wanted):
        if found := collection.saved_urls(beginning, limit):
            return PackSelection(kind="site", title=wanted, addresses=found)
    terms = [(term, 1.0) for term in dict.fromkeys(words.terms(wanted))]
    hits = collection.search(terms, limit=limit) if terms else ()
    least = hits[0].score * _LEAST_SCORE if hits else 0.0
    return PackSelection(
        kind="query", title=wanted, addresses=tuple(hit.page.url for hit in hits if hit.score >= least)
    )


def _site_beginnings(wanted: str) -> tuple[str, ...]:
    """What the addresses of a site begin with; () for what cannot be one."""
    whole = (wanted,) if "://" in wanted else (f"https://{wanted}", f"http://{wanted}")
    if " " in wanted or not ("." in wanted or "://" in wanted):
        return ()
    return tuple(urls.normal(url) for url in whole if urls.is_web_url(url))
