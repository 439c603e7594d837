"""Marks links in the HTML of a saved page: those that lead nowhere, and those that lead to a replacement (pure).

Attributes are inserted as the first ones of a tag: of two attributes of the same name, HTML takes the first. Nothing
else changes, and no byte of a script, a style or a comment does. Text is handled byte for byte (as Latin-1), and what
is inserted is ASCII, so it is right in any encoding but UTF-16.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape, unescape
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from proxy.pages.display import clean, link_target
from proxy.pages.language import Catalogue
from proxy.portal.linkjudging import LinkMark
from repair.text import urls

STYLE = (
    'a[data-linkmend="nowhere"]{text-decoration:underline dotted;opacity:.7}'
    'a[data-linkmend="replaced"]::after{content:" \\2248";text-decoration:none}'
)
_HEAD_CHARS = 100_000
_MAX_SCANNED = 3 * 1024**2
_MAX_TAG = 4_000
_MAX_LINKS = 2_000
_MAX_TITLE = 140
_RAW_TEXT = ("script", "style", "title", "textarea", "template", "noscript", "xmp", "iframe", "svg")
_TAG = re.compile(rf"<(?:(!--)|(a)(?=[\s/])|({'|'.join(_RAW_TEXT)})(?=[\s/>]))", re.IGNORECASE)
_HREF = re.compile(r"[\s/\"']href\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)
_TAG_END = re.compile(r"[>\"']")


def mark_links(html: str, base: str, marks: Iterable[LinkMark], texts: Catalogue) -> tuple[str, int]:
    """The page with its links marked, and how many are. `base` is what its relative addresses are relative to."""
    inserted = {mark.target: words for mark in marks if (words := _attributes(mark, texts))}
    pieces: list[str] = []
    done = marked = 0
    for at, href in _links(html) if inserted else ():
        attributes = inserted.get(_target(base, href))
        if attributes:
            pieces += (html[done:at], attributes)
            done, marked = at, marked + 1
    return "".join((*pieces, html[done:])), marked


def base_of(html: str, url: str) -> str:
    """What the relative addresses of a page at a URL are relative to."""
    own = LexborHTMLParser(html[:_HEAD_CHARS]).css_first("base[href]")
    href = (own.attributes.get("href") or "") if own else ""
    try:
        return urljoin(url, href if href.isascii() else "")
    except ValueError:
        return url


def _attributes(mark: LinkMark, texts: Catalogue) -> str:
    if not mark.replacement:
        return _ascii(f' data-linkmend="nowhere" title="{texts("marks.nowhere")}"')
    target = link_target(mark.replacement)
    if target is None:
        return ""
    title = texts("marks.replaced", title=clean(mark.title, _MAX_TITLE) or target)
    return _ascii(f' data-linkmend="replaced" href="{escape(target)}" title="{title}"')


def _links(html: str) -> Iterator[tuple[int, str]]:
    """Where attributes of each link begin, and its address. Every step advances or gives up: no page takes long."""
    at, lower, found = 0, html[:_MAX_SCANNED].lower(), 0
    if len(lower) != len(html[:_MAX_SCANNED]):
        return  # Turkish capitals, in UTF-16: places would not be the same
    while found < _MAX_LINKS and (tag := _TAG.search(lower, at)) is not None:
        comment, _, raw = tag.groups()
        if comment or raw:
            at = lower.find("-->" if comment else f"</{raw}", tag.end())
        else:
            at = _tag_end(lower, tag.end())
            href = _HREF.search(html, tag.end() - 1, at) if at > 0 else None
            if href:
                found += 1
                yield tag.end(), href[1] or href[2] or href[3] or ""
        if at < 0:
            return


def _tag_end(html: str, at: int) -> int:
    """Where a tag ends, past its quoted values; -1 when it does not, or is too long to be one."""
    limit = at + _MAX_TAG
    while (mark := _TAG_END.search(html, at, limit)) is not None:
        if mark[0] == ">":
            return mark.end()
        at = html.find(mark[0], mark.end(), limit) + 1
        if at == 0:
            return -1
    return -1


def _target(base: str, href: str) -> str:
    """The normal address of a link; "" for what is none."""
    try:
        written = href.encode("latin-1").decode("utf-8")
        return urls.normal(urljoin(base, unescape(written).strip()))
    except ValueError:  # other encodings, bad addresses
        return ""


def _ascii(markup: str) -> str:
    return markup.encode("ascii", "xmlcharrefreplace").decode("ascii")
