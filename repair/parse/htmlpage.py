"""Parse a Page's title, text and links into a Document, whatever its bytes are.

Markup is hostile input. The parser (lexbor) builds the tree that browsers build, and three constructs take it
quadratic time: deep nesting, many attributes on one tag, and unclosed formatting elements, which are reopened
in every paragraph (16 KB of them became 335 MB). So a page is read up to `MAX_TAGS` tags and `MAX_ATTRIBUTES`
attributes on one tag, and formatting elements, which mean nothing here, are renamed before parsing.
"""

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser

from repair.model import Document, Link, Page, Translation
from repair.parse.decode import body_text
from repair.parse.traversal import MAX_TEXT, FoundLink, HtmlTraversal, TextBlock
from repair.text.languages import same_language
from repair.text.urls import normal, resolve, site
from repair.text.words import language_of, segments

MAX_TAGS = 20_000
MAX_ATTRIBUTES = 400
MAX_TITLE = 300
MAX_ANCHOR = 200
MAX_DESCRIPTION = 500
MAX_CONTEXT = 300
CONTEXT_TERMS = 20
OUR_NAMES = frozenset(("robots", "*", "linkmend"))
"""The robot names that a directive must address to apply to us."""

# The first letter is tested by itself: it excludes most tags, in a fifth of the time.
_FORMATTING = re.compile(
    r"(?i)<(/?)(?=[bcefinstu])(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])"
)
_TAG_START = re.compile(r"<[A-Za-z]")
# As browsers split them (WHATWG HTML 13.2.5.32 to 39); an open quote runs to the end.
_ATTRIBUTE = (
    r"[ \t\n\r\f/]*+[^ \t\n\r\f/>][^ \t\n\r\f/>=]*+"
    r"(?:[ \t\n\r\f]*+=[ \t\n\r\f]*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\r\f>\"'][^ \t\n\r\f>]*+)?)?"
)
_SKIP_ATTRIBUTE = re.compile(_ATTRIBUTE)
_TAG_AND_ATTRIBUTES = re.compile(rf"<[A-Za-z][^ \t\n\r\f/>]*+(?:{_ATTRIBUTE}){{0,{MAX_ATTRIBUTES}}}+")
_TRUSTED_SIZE = 64_000  # too small for the attributes of one tag to take noticeable time
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_HTML_START = re.compile(
    r"(?i)\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body|title)\b", re.DOTALL
)
_WRITTEN_URL = re.compile(r"(?i)\bhttps?://[^\s<>\"()\[\]{}|\\^`]{3,2000}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_].*)?\Z", re.DOTALL)
_VALUED_DIRECTIVES = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


def document(page: Page, *, max_bytes: int, max_links: int) -> Document | None:
    """The content of a page; None when it is not HTML or plain text, too large, or unreadable. Never raises."""
    kind = _media_type(page)
    if kind not in ("text/html", "application/xhtml+xml", "text/plain", ""):
        return None
    text = body_text(page, max_bytes)
    if text is None or (not kind and not _HTML_START.match(text)):
        return None
    try:
        url = normal(page.url)
    except ValueError:
        return None
    return _plain(page, url, text, max_links) if kind == "text/plain" else _html(page, url, text, max_links)


def robots(page: Page, metas: list[tuple[str, str]]) -> tuple[bool, bool]:
    """Whether the page asks us not to index it, and not to follow its links: meta elements and X-Robots-Tag.

    Directives for another robot do not apply to us.
    """
    directives = {
        directive for name, content in metas if name in OUR_NAMES for directive in _directives(content)
    }
    for name, line in page.headers:
        if name.lower() == "x-robots-tag":
            directives.update(_directives(line))
    return bool(directives & {"noindex", "none"}), bool(directives & {"nofollow", "none"})


def _directives(line: str) -> Iterator[str]:
    """The directives of one line that apply to us; `bot: x, y` addresses what follows to that bot."""
    for_us = True
    for part in line[:2000].lower().split(","):
        name, colon, rest = part.partition(":")
        if colon and name.strip() not in _VALUED_DIRECTIVES:
            for_us = name.strip() in OUR_NAMES
            part = rest
        if for_us:
            yield part.strip()


def _media_type(page: Page) -> str:
    return (page.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()


def _plain(page: Page, url: str, text: str, max_links: int) -> Document:
    text = tidy_lines(text[: 2 * MAX_TEXT])[:MAX_TEXT]
    noindex, nofollow = robots(page, [])
    return Document(
        url=url,
        title=text.partition("\n")[0][:MAX_TITLE],
        text=text,
        language=page_language("", page, text),
        links=tuple(islice(_written_links(url, text), max_links)),
        noindex=noindex,
        nofollow=nofollow,
    )


def _written_links(url: str, text: str) -> Iterator[Link]:
    """The addresses in a plain text, each once; the words around an address are all that describes it."""
    known = {url}
    for found in _WRITTEN_URL.finditer(text):
        target = resolve(url, found[0].rstrip(".,;:!?'"))
        if target is None or target in known:
            continue
        known.add(target)
        sides = (
            text[max(0, found.start() - 2 * MAX_CONTEXT) : found.start()],
            text[found.end() :][: 2 * MAX_CONTEXT],
        )
        before, after = nearest_terms(*sides)
        yield Link(target_url=target, anchor="", before=before, after=after)


def _html(page: Page, url: str, html: str, max_links: int) -> Document:
    walk = HtmlTraversal(max_links)
    root = tree(html).root
    if root is not None:
        walk.through(root)
    metas = dict(reversed(walk.metas))
    text = _main_text(walk.blocks)
    first_heading = next((heading for tag, heading in walk.headings if tag == "h1"), "")
    noindex, nofollow = robots(page, walk.metas)
    return Document(
        url=url,
        title=_first(MAX_TITLE, walk.title, metas.get("og:title", ""), first_heading),
        text=text,
        headings=tuple(tidy(heading, MAX_ANCHOR) for _, heading in walk.headings),
        description=_first(MAX_DESCRIPTION, metas.get("description", ""), metas.get("og:description", "")),
        keywords=split_keywords(metas.get("keywords", "")),
        language=page_language(walk.language, page, text),
        links=_links(url, walk),
        canonical_url=_canonical(url, walk),
        translations=_translations(url, walk),
        noindex=noindex,
        nofollow=nofollow,
    )


def tree(html: str) -> LexborHTMLParser:
    """The page parsed as far as it is safe; formatting elements are renamed to `x`."""
    html = _cut_to_limits(
        html.replace("\0", "")
    )  # the parser drops or replaces these one by one, ten times as slowly
    return LexborHTMLParser(_FORMATTING.sub(r"<\1x", html).encode("utf-8", "replace"))


def _cut_to_limits(html: str) -> str:
    """The page up to where it becomes too much for the parser; nearly always all of it."""
    if html.count("<") > MAX_TAGS:
        at = -1
        for _ in range(MAX_TAGS):
            at = html.index("<", at + 1)
        html = html[:at]
    if len(html) <= _TRUSTED_SIZE:
        return html
    # Count from every place that may start a tag, so that no quote or comment can hide one; the budget keeps it
    # linear.
    budget = 4 * len(html) + 1_000_000
    for start in _TAG_START.finditer(html):
        tag = _TAG_AND_ATTRIBUTES.match(html, start.start())
        end = tag.end() if tag else start.end()
        budget -= end - start.start()
        if budget < 0 or _SKIP_ATTRIBUTE.match(html, end):
            return html[: start.start()]
    return html


def _main_text(blocks: list[TextBlock]) -> str:
    """The text of the main element if it holds enough, else all but boilerplate if that does, else everything."""
    everything = "\n".join(block.text for block in blocks)
    content = "\n".join(block.text for block in blocks if not block.boilerplate)
    main = "\n".join(block.text for block in blocks if block.main and not block.boilerplate)
    if len(main) >= 250 or len(main) * 2 > len(content):
        chosen = main
    elif len(content) >= 250 or len(content) * 4 > len(everything):
        chosen = content
    else:
        chosen = everything
    return _CONTROLS.sub("", chosen)[:MAX_TEXT]


def _links(url: str, walk: HtmlTraversal) -> tuple[Link, ...]:
    """Links that lead to another page, each with the words around it; the same link twice counts once."""
    base = (resolve(url, walk.base_href) if walk.base_href else None) or url
    found: dict[tuple[str, str, bool], Link] = {}
    for link in walk.links:
        target = None if link.href.lstrip().startswith("#") else resolve(base, link.href)
        if target is None or target == url:
            continue
        anchor = tidy("".join(link.pieces), MAX_ANCHOR) or tidy(link.fallback, MAX_ANCHOR)
        key = (target, anchor, link.nav)
        if key not in found:
            before, after = _context(link, walk.words)
            found[key] = Link(target_url=target, anchor=anchor, before=before, after=after, nav=link.nav)
    return tuple(found.values())


def _context(link: FoundLink, words: list[str]) -> tuple[str, str]:
    """Up to twenty words before and after, of running text only: the neighbours of a menu entry say nothing of it."""
    if link.nav:
        return "", ""
    # Twice as many, since some "words" are only punctuation, and bounded, since some scripts have no spaces.
    before = " ".join(words[max(0, link.first - 2 * CONTEXT_TERMS) : link.first])[-2 * MAX_CONTEXT :]
    after = " ".join(words[link.last : link.last + 2 * CONTEXT_TERMS])[: 2 * MAX_CONTEXT]
    return nearest_terms(before, after)


def nearest_terms(before: str, after: str) -> tuple[str, str]:
    """Of the text on each side of a link, the twenty terms next to it."""
    return (
        " ".join(segments(before)[-CONTEXT_TERMS:])[-MAX_CONTEXT:],
        " ".join(segments(after)[:CONTEXT_TERMS])[:MAX_CONTEXT],
    )


def _canonical(url: str, walk: HtmlTraversal) -> str | None:
    """The page's canonical URL; not one on another site, or any page could take over any other."""
    for element in walk.link_elements:
        if "canonical" in element.rel.split():
            return _of_same_site(url, element.href)
    return None


def _translations(url: str, walk: HtmlTraversal) -> tuple[Translation, ...]:
    """The page's translations as it names them (`hreflang`), one of a language, on its own site."""
    found: dict[str, Translation] = {}
    for element in walk.link_elements:
        tag = _LANGUAGE.match(element.hreflang.strip())
        if tag is None or "alternate" not in element.rel.split():
            continue
        language, target = same_language(tag[1]), _of_same_site(url, element.href)
        if language and target and target != url:
            found.setdefault(language, Translation(language=language, url=target))
    return tuple(found.values())


def _of_same_site(url: str, href: str) -> str | None:
    found = resolve(url, href) if href else None
    return found if found and site(found) == site(url) else None


def page_language(declared: str, page: Page, text: str) -> str:
    """The language that the content declares, or its headers, or that its text has; "" when nothing tells."""
    for label in (declared, page.header("content-language") or ""):
        if found := _LANGUAGE.match(label.strip()):
            return found[1].lower()
    return language_of(text)


def split_keywords(content: str) -> tuple[str, ...]:
    """Keywords as authors write them, in one string with commas."""
    words = (tidy(word, 64) for word in content[:2000].replace(";", ",").split(","))
    return tuple(dict.fromkeys(filter(None, words)))[:32]


def _first(limit: int, *texts: str) -> str:
    return next((found for text in texts if (found := tidy(text, limit))), "")


def tidy(text: str, limit: int) -> str:
    """One line, white space collapsed, no control characters, cut at the limit."""
    text = text[: 20 * limit]
    if not (text.isascii() and text.isprintable()):
        text = _CONTROLS.sub("", text)
    return " ".join(text.split())[:limit].rstrip()


def tidy_lines(text: str) -> str:
    """Lines as in `tidy`, empty ones left out."""
    lines = (" ".join(line.split()) for line in _CONTROLS.sub("", text).splitlines())
    return "\n".join(filter(None, lines))
