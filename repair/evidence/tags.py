"""Tags: keywords, categories and breadcrumbs that saved pages attach to the missing URL or its directory.

Up to seven, as many as social tags were worth in the papers. A user's tag on the URL weighs most; then come the
words with which pages link up to its directories (breadcrumbs, category links), then keywords of pages in the same
directory and of pages that link to the URL. A tag of a single page is noise, unless it is a user's.
"""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from repair.collection.tags import TagSource
from repair.model import BrokenLink, Evidence, InLink
from repair.text import urls, words

LIMIT = 7
_USER_WEIGHT = 20.0  # a user's tag on the URL itself counts as much as this many pages
_USER_WEIGHT_ON_DIRECTORY = 5.0
_INLINKS = 50
_DIRECTORIES = 2  # the nearest ones; higher ones describe the whole site
_LEAST_PAGES = 2
_MAX_CRUMB = 40


class TagLookup(Protocol):
    """Knows which saved pages link to a URL."""

    def inlinks(self, target_url: str, limit: int = 100) -> tuple[InLink, ...]:
        """Links that lead to a URL."""


class Tags:
    """An evidence source."""

    name = "tags"

    def __init__(
        self,
        tagged: TagSource,
        graph: TagLookup,
        is_stop_anchor: Callable[[str], bool] = words.is_stop_anchor,
    ) -> None:
        self._tagged = tagged
        self._graph = graph
        self._is_stop_anchor = is_stop_anchor

    def find(self, link: BrokenLink) -> Evidence | None:
        """The terms of the tags, weighted by how many pages attach them; None when there are none."""
        tags = self.tags(link)
        if not tags:
            return None
        top = tags[0][1]
        weights: dict[str, float] = {}
        for tag, count in tags:
            for term in words.terms(tag):
                weights[term] = max(weights.get(term, 0.0), count / top)
        return Evidence(
            source=self.name, terms=tuple(weights.items()), text=", ".join(tag for tag, _ in tags)
        )

    def tags(self, link: BrokenLink) -> tuple[tuple[str, float], ...]:
        """The tags and how many pages attach each, the most common first."""
        if not urls.is_web_url(link.url):
            return ()
        url = urls.normal(link.url)
        counts: Counter[str] = Counter()
        for directory in urls.shorter_urls(url)[:_DIRECTORIES]:
            for tag, times in self._tagged.tags(directory):
                counts[tag] += int(times * _USER_WEIGHT_ON_DIRECTORY)
            counts.update(self._breadcrumbs(directory, link.source_url))
        backlinks = [inlink.source_url for inlink in self._graph.inlinks(url, _INLINKS)]
        around = (*self._tagged.keywords_under(urls.directory(url)), *self._tagged.keywords(backlinks))
        counts.update(keyword for keywords in around for keyword in set(keywords))
        for tag, times in self._tagged.tags(url):
            counts[tag] += int(times * _USER_WEIGHT)
        common = [(tag, float(count)) for tag, count in counts.items() if tag and count >= _LEAST_PAGES]
        return tuple(sorted(common, key=lambda pair: (-pair[1], pair[0]))[:LIMIT])

    def _breadcrumbs(self, directory: str, source_url: str | None) -> Counter[str]:
        """What pages call a directory when they link to it, each page once."""
        anchors = {
            (inlink.source_url, " ".join(inlink.link.anchor.split()).lower())
            for inlink in self._graph.inlinks(directory, _INLINKS)
            if inlink.source_url != source_url and not self._is_stop_anchor(inlink.link.anchor)
        }
        return Counter(anchor for _, anchor in anchors if len(anchor) <= _MAX_CRUMB)
