"""Parses a page into the parts that tell a missing page from one that is there, in one traversal."""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from repair.model import Page
from repair.parse import htmlpage
from repair.parse.decode import body_text, first_bytes
from repair.parse.traversal import MAX_TEXT, HtmlTraversal, TextBlock
from repair.soft404.marks import marks_of

MAX_BYTES = 2 * 1024 * 1024
"""Larger pages are not parsed: no error page is so long."""
_MAX_HEADINGS = 16
_MAX_LINKS = 500
_MAX_NODES = 3_000
_MAX_SOURCES = 60
_MAX_UNWALKED = 2_000
_BEGINNING = 16_000
"""Characters from the first heading on that are parsed first, and the words that are taken of them:"""
_BEGINNING_WORDS = 250
_DISCUSSED_WORDS = 600
_GLANCE, _BRIEF = 8_000, 2_000
"""Characters from the first heading on, among the first bytes:"""
_GLANCE_BYTES = 16_000
_BRIEF_WORDS, _GLANCE_WORDS = (140,), (170, 300)
"""Words of them that are taken first; more do for a quarter of the pages that have enough to say."""
_ODD_FIRST = (b"\xef", b"\xfe", b"\xff", b"")
_ODD = (b"\0", b"\x0e", b"\x0f", b"\x1b")
_FIRST_HEADING = re.compile(r"(?i)<h1[\s>]")
_HTML_TYPES = ("", "text/html", "application/xhtml+xml")
_FURNITURE = "h1, h2, h3, pre, table, dl, form, input[type=password i], script, iframe, frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """The parts of one page.

    `headings` are all h1 to h3, `tables` also count listings, `own_links` are those outside menus, `sources` the
    addresses of scripts and frames, from the host on, and `marks` the marks of an error page in the markup.
    """

    url: str
    title: str
    headings: tuple[str, ...]
    blocks: tuple[TextBlock, ...]
    own_links: int
    forms: int
    passwords: int
    scripts: int
    tables: int
    sources: frozenset[str]
    marks: frozenset[str]


class PageReading:
    """A page that is parsed as far as needed: pages may be long, and the beginning is mostly enough."""

    def __init__(self, url: str, html: str) -> None:
        self._url = url
        self.html = html
        self._begun: tuple[LexborHTMLParser, HtmlTraversal] | None = None
        """Tree and traversal of the whole page, as far as it went."""

    def beginning(self) -> list[TextBlock]:
        """The first blocks outside menus, each complete. Call it once, before `parts`."""
        heading = _FIRST_HEADING.search(self.html)
        end = (heading.start() if heading else 0) + _BEGINNING
        tree, walk = htmlpage.tree(self.html[:end]), HtmlTraversal(_MAX_LINKS)
        _traverse(tree, walk, words=_BEGINNING_WORDS)
        is_cut = end < len(self.html)
        if not is_cut:
            self._begun = tree, walk
        blocks = walk.blocks[:-1] if is_cut else walk.blocks
        return [block for block in blocks if not block.boilerplate]

    def further(self) -> list[TextBlock]:
        """The blocks outside menus of the whole page, as far as `signals` looks for what it discusses, each complete.

        None when `beginning` had them all.
        """
        known = len(self._begun[1].blocks) if self._begun else 0
        self._begun = tree, walk = self._begun or (htmlpage.tree(self.html), HtmlTraversal(_MAX_LINKS))
        _traverse(tree, walk, words=_DISCUSSED_WORDS)
        return [block for block in walk.blocks if not block.boilerplate] if len(walk.blocks) > known else []

    def parts(self) -> PageParts:
        """The parts of the whole page."""
        tree, walk = self._begun or (htmlpage.tree(self.html), HtmlTraversal(_MAX_LINKS))
        _traverse(tree, walk)
        furniture, marks = _Furniture(tree), marks_of(tree, self.html)
        return PageParts(
            url=self._url,
            title=_line(walk.title),
            headings=tuple(furniture.headings),
            blocks=tuple(walk.blocks) if len(walk.blocks) > 2 else (*walk.blocks, *_all_text(tree, walk)),
            own_links=sum(not link.nav for link in walk.links),
            forms=furniture.forms,
            passwords=furniture.passwords,
            scripts=furniture.scripts,
            tables=furniture.tables,
            sources=frozenset(furniture.sources),
            marks=marks,
        )


def glances(page: Page, *, brief: bool = False) -> Iterator[list[TextBlock]]:
    """The first blocks outside menus of a page whose first bytes are easy to read, then the same and some more.

    All are a part of `beginning`. At little cost, whatever the page: no more than the first bytes are decompressed
    and parsed, and of them a quarter if `brief`.
    """
    html = _first_text(page)
    heading = _FIRST_HEADING.search(html)
    end = (heading.start() if heading else 0) + (_BRIEF if brief else _GLANCE)
    tree, walk = htmlpage.tree(html[:end]), HtmlTraversal(max_links=0)
    for words in _BRIEF_WORDS if brief else _GLANCE_WORDS:
        _traverse(tree, walk, words=words)
        yield [block for block in walk.blocks[:-1] if not block.boilerplate]
        if len(walk.words) < words:
            return


def _first_text(page: Page) -> str:
    """The first bytes of an HTML page as text; "" when only the whole of it would tell how to read them."""
    content_type = (page.header("content-type") or "").lower()
    data = first_bytes(page, _GLANCE_BYTES)
    # A byte order mark, or an encoding that is not ASCII where it looks like ASCII.
    if (
        not content_type.startswith("text/html")
        or data is None
        or data[:1] in _ODD_FIRST
        or any(odd in data for odd in _ODD)
    ):
        return ""
    if data.isascii():
        return data.decode("ascii")
    if "charset=utf-8" not in content_type:
        return ""
    try:
        return getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return ""


def parts_of(page: Page) -> PageParts | None:
    """The parts of a page; None when it is no readable HTML, or too large. Never raises."""
    reading = reading_of(page)
    return None if reading is None else reading.parts()


def reading_of(page: Page) -> PageReading | None:
    """A reading of a page, for callers that may not need all of it; None as for `parts_of`."""
    kind = (page.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
    if kind not in (*_HTML_TYPES, "text/plain"):
        return None
    text = body_text(page, MAX_BYTES)
    if text is None:
        return None
    # Some servers send "404 page not found" as plain text: one block without anything else.
    return PageReading(page.url, text if kind != "text/plain" else _as_html(text))


def _as_html(text: str) -> str:
    return "<p>" + text[:MAX_TEXT].replace("&", "&amp;").replace("<", "&lt;")


def _traverse(tree: LexborHTMLParser, walk: HtmlTraversal, *, words: int = MAX_TEXT) -> None:
    if tree.root is not None:
        walk.through(tree.root, words=words)


def _all_text(tree: LexborHTMLParser, walk: HtmlTraversal) -> tuple[TextBlock, ...]:
    """All the text of a page that has next to none in blocks: some put it in labels, buttons or drawings."""
    if tree.body is None:
        return ()
    tree.strip_tags(["script", "style", "template", "noscript"])
    text = " ".join(tree.body.text(separator=" ")[:_MAX_UNWALKED].split())
    block_text = " ".join(block.text for block in walk.blocks)
    return (TextBlock(text=text, boilerplate=False, main=False),) if len(text) > len(block_text) else ()


class _Furniture:
    """Counts headings, forms, scripts and tables of a tree."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self.headings: list[str] = []
        self.sources: set[str] = set()
        self.forms = self.passwords = self.scripts = self.tables = 0
        looked_at = 0
        for node in tree.css(_FURNITURE)[:_MAX_NODES]:
            match node.tag:
                case "h1" | "h2" | "h3":
                    looked_at += 1  # empty ones too: each may contain all the others
                    if looked_at <= _MAX_HEADINGS and (text := _line(node.text())):
                        self.headings.append(text)
                case "form":
                    self.forms += 1
                case "script":
                    self.scripts += 1
                    self._note_source(node.attributes)
                case "iframe" | "frame":
                    self._note_source(node.attributes)
                case "input":
                    self.passwords += 1
                case _:
                    self.tables += 1

    def _note_source(self, attributes: dict[str, str | None]) -> None:
        source = attributes.get("src")
        if source and "//" in source[:10] and len(self.sources) < _MAX_SOURCES:
            self.sources.add(source[:200].lower().partition("//")[2])


def _line(text: str) -> str:
    return " ".join(text[: 10 * htmlpage.MAX_TITLE].split())[: htmlpage.MAX_TITLE]
