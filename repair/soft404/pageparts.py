"""What a page is made of, as far as it tells a missing page from one that is there: one walk over its tree."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from repair import markup
from repair.decode import body_text
from repair.model import Page
from repair.soft404.marks import marks_of
from repair.walk import MAX_TEXT, Block, Walk

MAX_BYTES = 2 * 1024 * 1024
"""Larger pages are not looked at: nobody writes so much about nothing."""
_MAX_HEADINGS = 16
_MAX_LINKS = 500
_MAX_NODES = 3_000
_MAX_SOURCES = 60
_MAX_UNWALKED = 2_000
_BEGINNING = 16_000
"""Characters from the first heading on that are read first, and of their text so many words:"""
_BEGINNING_WORDS = 250
_FIRST_HEADING = re.compile(r"(?i)<h1[\s>]")
_HTML_TYPES = ("", "text/html", "application/xhtml+xml")
_FURNITURE = "h1, h2, h3, pre, table, dl, form, input[type=password i], script, iframe, frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """The parts of one page; `headings` are h1 to h3 wherever they stand, `tables` also listings, `own_links`
    those outside menus, `sources` where scripts and frames come from, host first, `marks` the kinds of places in the
    markup that call it an error page."""

    url: str
    title: str
    headings: tuple[str, ...]
    blocks: tuple[Block, ...]
    own_links: int
    forms: int
    passwords: int
    scripts: int
    tables: int
    sources: frozenset[str]
    marks: frozenset[str]


class Reading:
    """A page that is read as far as is asked for: pages may be long, and how they begin mostly tells enough."""

    def __init__(self, url: str, html: str) -> None:
        self._url = url
        self.html = html
        self._begun: tuple[LexborHTMLParser, Walk] | None = None
        """All of it, as far as it was walked through."""

    def beginning(self) -> list[Block]:
        """The first blocks outside menus, each whole. To be asked for once, before the parts."""
        heading = _FIRST_HEADING.search(self.html)
        end = (heading.start() if heading else 0) + _BEGINNING
        tree, walk = markup.tree(self.html[:end]), Walk(_MAX_LINKS)
        _walked(tree, walk, words=_BEGINNING_WORDS)
        is_cut = end < len(self.html)
        if not is_cut:
            self._begun = tree, walk
        blocks = walk.blocks[:-1] if is_cut else walk.blocks
        return [block for block in blocks if not block.boilerplate]

    def parts(self) -> PageParts:
        """The page taken apart."""
        tree, walk = self._begun or (markup.tree(self.html), Walk(_MAX_LINKS))
        _walked(tree, walk)
        furniture, marks = _Furniture(tree), marks_of(tree, self.html)
        return PageParts(
            url=self._url,
            title=_line(walk.title),
            headings=tuple(furniture.headings),
            blocks=tuple(walk.blocks) if len(walk.blocks) > 2 else (*walk.blocks, *_unwalked(tree, walk)),
            own_links=sum(not link.nav for link in walk.links),
            forms=furniture.forms,
            passwords=furniture.passwords,
            scripts=furniture.scripts,
            tables=furniture.tables,
            sources=frozenset(furniture.sources),
            marks=marks,
        )


def parts_of(page: Page) -> PageParts | None:
    """The page taken apart; None when it is no readable HTML, or too large. Never raises."""
    reading = reading_of(page)
    return None if reading is None else reading.parts()


def reading_of(page: Page) -> Reading | None:
    """The same for who may not want all of it."""
    kind = (page.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()
    if kind not in (*_HTML_TYPES, "text/plain"):
        return None
    text = body_text(page, MAX_BYTES)
    if text is None:
        return None
    # Servers that know no HTML say "404 page not found" as plain text: one block without furniture.
    return Reading(page.url, text if kind != "text/plain" else _escaped(text))


def _escaped(text: str) -> str:
    return "<p>" + text[:MAX_TEXT].replace("&", "&amp;").replace("<", "&lt;")


def _walked(tree: LexborHTMLParser, walk: Walk, *, words: int = MAX_TEXT) -> None:
    if tree.root is not None:
        walk.through(tree.root, words=words)


def _unwalked(tree: LexborHTMLParser, walk: Walk) -> tuple[Block, ...]:
    """All the text of a page that seems to have next to none: some put it in labels, buttons or drawings."""
    if tree.body is None:
        return ()
    tree.strip_tags(["script", "style", "template", "noscript"])
    text = " ".join(tree.body.text(separator=" ")[:_MAX_UNWALKED].split())
    said = " ".join(block.text for block in walk.blocks)
    return (Block(text=text, boilerplate=False, main=False),) if len(text) > len(said) else ()


class _Furniture:
    """Headings, forms, scripts and tables of a tree, counted."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self.headings: list[str] = []
        self.sources: set[str] = set()
        self.forms = self.passwords = self.scripts = self.tables = 0
        looked_at = 0
        for node in tree.css(_FURNITURE)[:_MAX_NODES]:
            match node.tag:
                case "h1" | "h2" | "h3":
                    looked_at += 1  # empty ones too: each may hold all the others
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
    return " ".join(text[: 10 * markup.MAX_TITLE].split())[: markup.MAX_TITLE]
