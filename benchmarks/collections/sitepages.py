"""The pages of a site at the addresses that the site gives them, and where its old addresses lead."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from benchmarks.collections.debianpackage import DebianPackage
from benchmarks.collections.docbook import manual_pages
from benchmarks.collections.markup import Templates, read_source, whole_page
from benchmarks.collections.repository import Repository
from repair.model import Document, Page
from repair.parse.htmlpage import document
from repair.text.urls import normal

_MAX_LINKS = 2_000
_MAX_STEPS = 10
_DATED = re.compile(r"(\d{4})-(\d{2})-(\d{2})-(.+)")
_MARKDOWN = (".md", ".mdx", ".markdown")
_WHOLE_PAGE = re.compile(r"(?i)<html\b")
_HTML_TYPE = (("content-type", "text/html; charset=utf-8"),)


SiteFiles = Repository | DebianPackage
"""Where the files of a site are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How the files of one repository, or of one Debian package (`debian:NAME`), become the pages of one site.

    `routes`: patterns of whole paths, each with the path of its page; the first that fits counts. `{name}` in it is
    what the page declares; a page that does not declare it is left out, and a date has parts (`{date:%Y}`). The group
    `lang` of a pattern is the page's language. `redirects` are files whose lines begin with an old and a new address.
    With `moved_since`, links of the pages of that day whose target has moved are collected too.
    """

    repository: str
    base: str
    routes: Sequence[tuple[str, str]]
    language: str = "en"
    templates: Templates = Templates.NONE
    redirects: str | None = None
    moved_since: str | None = None
    docbook: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePages:
    """Pages by address, the language of each, and other addresses that lead to a page."""

    pages: Mapping[str, Document]
    languages: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, url: str) -> str | None:
        """The address of the page that an address leads to: its own, as servers forgive, or through redirects."""
        seen: set[str] = set()
        while url not in seen and len(seen) < _MAX_STEPS:
            seen.add(url)
            for form in _forms(url):
                if form in self.pages:
                    return form
            url = next((self.aliases[form] for form in _forms(url) if form in self.aliases), url)
        return None

    def with_resolved_links(self) -> "SitePages":
        """The same pages, their links leading to pages wherever they can."""
        resolved = {
            url: replace(
                page,
                links=tuple(
                    replace(link, target_url=self.find(link.target_url) or link.target_url)
                    for link in page.links
                ),
            )
            for url, page in self.pages.items()
        }
        return replace(self, pages=resolved)


def joined(parts: Iterable[SitePages]) -> SitePages:
    """Several sites as one collection."""
    pages: dict[str, Document] = {}
    languages: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for part in parts:
        pages |= part.pages
        languages |= part.languages
        aliases |= part.aliases
    return SitePages(pages=pages, languages=languages, aliases=aliases)


def read_pages(site: Site, repository: SiteFiles, revision: str = "HEAD") -> SitePages:
    """All pages of a site as of a revision."""
    paths = repository.paths(revision)
    made = _from_docbook if site.docbook else _from_sources
    pages: dict[str, Document] = {}
    languages: dict[str, str] = {}
    aliases: dict[str, str] = {}
    for url, language, html, others in made(site, repository, paths, revision):
        page = _document(url, html)
        if page is not None and page.url not in pages:
            pages[page.url], languages[page.url] = page, language
            aliases |= {other: page.url for other in map(_normal, others) if other}
    aliases |= dict(_redirects(site, repository, paths, revision))
    return SitePages(pages=pages, languages=languages, aliases=aliases)


def route_address(site: Site, path: str, declared: Mapping[str, Any] | None = None) -> tuple[str, str] | None:
    """The address and the language of the page that a file becomes; None when it becomes none."""
    for pattern, template in site.routes:
        found = re.fullmatch(pattern, path)
        if not found:
            continue
        if not template:
            return None
        language = found.groupdict().get("lang") or site.language
        try:
            place = found.expand(template).format_map(_facts(path, declared or {}))
        except (KeyError, ValueError, TypeError):
            continue
        place = re.sub(r"/{2,}", "/", place.lstrip("/"))
        return urljoin(site.base, quote(place, safe="/%:@!$&'()*+,;=~-._")), language
    return None


def _facts(path: str, declared: Mapping[str, Any]) -> dict[str, Any]:
    """What a page declares, its date read from the name of its file where it declares none."""
    facts = {name: value for name, value in declared.items() if value not in (None, "")}
    dated = _DATED.fullmatch(path.rpartition("/")[2].rpartition(".")[0])
    if dated:
        facts.setdefault("slug", dated[4])
        facts.setdefault("date", date(int(dated[1]), int(dated[2]), int(dated[3])))
    if isinstance(facts.get("date"), str):
        facts["date"] = datetime.fromisoformat(facts["date"][:10]).replace(tzinfo=UTC)
    return facts


def _from_sources(
    site: Site, repository: SiteFiles, paths: Sequence[str], revision: str
) -> Iterator[tuple[str, str, str, list[str]]]:
    wanted = [path for path in paths if any(re.fullmatch(pattern, path) for pattern, _ in site.routes)]
    for path, body in repository.contents(wanted, revision):
        text = body.decode("utf-8", "replace")
        plain = route_address(site, path)
        language = plain[1] if plain else site.language
        if plain and path.endswith(".html") and _WHOLE_PAGE.search(text[:2_000]):
            yield *plain, text, []
            continue
        source = read_source(
            text,
            is_markdown=path.endswith(_MARKDOWN),
            templates=site.templates,
            language=language,
        )
        routed = route_address(site, path, source.declared)
        if routed is None or source.declared.get("draft") is True or not source.title:
            continue
        url, language = routed
        others = [
            urljoin(url, str(other))
            for name in ("aliases", "redirect_from")
            for other in _listed(source.declared.get(name))
        ]
        # An alias without a leading slash begins at the site's root.
        others += [urljoin(site.base, str(each)) for each in _listed(source.declared.get("aliases"))]
        yield url, language, whole_page(source, language), others


def _from_docbook(
    site: Site, repository: SiteFiles, paths: Sequence[str], revision: str
) -> Iterator[tuple[str, str, str, list[str]]]:
    files = repository.contents((path for path in paths if path.endswith(".xml")), revision)
    for name, html in manual_pages(files, site.language):
        yield urljoin(site.base, f"{quote(name)}.php"), site.language, html, []


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if value else []


def _redirects(
    site: Site, repository: SiteFiles, paths: Sequence[str], revision: str
) -> Iterator[tuple[str, str]]:
    if not site.redirects:
        return
    lists = [path for path in paths if re.fullmatch(site.redirects, path)]
    for _, body in repository.contents(lists, revision):
        for line in body.decode("utf-8", "replace").splitlines():
            fields = line.split()
            if len(fields) < 2 or not fields[0].startswith("/") or "*" in line:
                continue
            old, new = (_normal(urljoin(site.base, each)) for each in fields[:2])
            if old and new and old != new:
                yield old, new


def _document(url: str, html: str) -> Document | None:
    page = Page(url=url, status=200, headers=_HTML_TYPE, body=html.encode(), fetched_at=datetime.now(UTC))
    found = document(page, max_bytes=10_000_000, max_links=_MAX_LINKS)
    return found if found is not None and len(found.text) > len(found.title) + 20 else None


def _normal(url: str) -> str | None:
    try:
        return normal(url)
    except ValueError:
        return None


def _forms(url: str) -> Iterator[str]:
    """An address, and the other ways in which a server may know it."""
    yield url
    path = urlsplit(url).path
    bare = url.partition("?")[0].partition("#")[0]
    yield bare
    if path.endswith("/"):
        yield bare.rstrip("/")
        yield f"{bare.rstrip('/')}.html"
        return
    yield f"{bare}/"
    for suffix in (".html", ".md", ".mdx"):
        if path.endswith(suffix):
            stem = bare.removesuffix(suffix)
            yield from (stem, f"{stem}/", f"{stem}.html", f"{stem.removesuffix('index')}")
    yield f"{bare}.html"


def duplicates(pages: Mapping[str, Document]) -> frozenset[str]:
    """Addresses of pages that have the text of another page: nobody could say which of them a link means."""
    places: dict[str, list[str]] = defaultdict(list)
    for url, page in pages.items():
        places[page.text].append(url)
    return frozenset(url for urls in places.values() if len(urls) > 1 for url in urls)
