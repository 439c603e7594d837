"""One pass over an HTML tree that records text, links and metadata; `repair.parse.htmlpage` turns them into a
Document.

Boilerplate (menus, site headers, footers, sidebars) is recognised by element, role and the usual class names, and
its text is kept apart, so that neither the running text nor the words around a link cross into it. Every character
and every node is visited a fixed number of times, and lists are bounded by the limits below.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborNode

MAX_TEXT = 200_000
"""Characters of text kept of a page; the traversal ends there."""
MAX_HEADINGS = 64
MAX_METAS = 256


def _name_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_SKIPPED = _name_set(
    "script style noscript template svg iframe object embed canvas audio video select option textarea datalist label "
    "legend input applet frame"
)
_TEXT = "-text"  # lexbor's names of nodes that are no elements begin with a dash
_HEADINGS = _name_set("h1 h2 h3 h4 h5 h6")
_BLOCKS = _HEADINGS | _name_set(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form header hgroup hr li main menu nav ol p pre search section summary table tbody td tfoot th thead tr "
    "ul"
)
_CONTAINERS = _name_set("div section ul ol dl table td form p span header main article")
_BOILERPLATE = _name_set("nav footer aside menu dialog search")
_PLAIN_BLOCKS = _BLOCKS - _HEADINGS - _BOILERPLATE - {"main", "header"}
"""Blocks that are nothing else unless an attribute says so."""
_BOILERPLATE_ROLES = _name_set(
    "navigation banner contentinfo complementary search menu menubar toolbar dialog alertdialog tablist"
)
_BOILERPLATE_NAME = re.compile(
    r"(?:(?:site|page|main|global|top|bottom|left|right|primary|secondary|mobile|footer|header|sub|side|user|language)[-_]?)*"
    r"(?:nav|navbar|navigation|navbox|nav-?links|menu|menubar|sidebar|sidenav|footer|breadcrumbs?|masthead|topbar|toolbar|"
    r"pagination|pager|skip-?links?|toc|cookie-?(?:banner|notice|bar|consent)|share|sharing|social|social-links)"
    r"|(?:site|global|top|main)[-_]?header|header"
)

_NO_ATTRIBUTES: dict[str, str | None] = {}

# What to undo when an element is left.
_PLAIN, _BLOCK, _BOILER, _MAIN, _LINK, _HEADING = 0, 1, 2, 4, 8, 16


class TextBlock(NamedTuple):
    """Text between two block boundaries, white space collapsed. A tuple: a page has hundreds, and tuples are fast."""

    text: str
    boilerplate: bool
    main: bool


class LinkElement(NamedTuple):
    """A `<link>` element as its author wrote it."""

    rel: str
    href: str
    hreflang: str


@dataclass(slots=True, kw_only=True)
class FoundLink:
    """A link in the tree: `first` and `last` are the positions of its words in the running text."""

    href: str
    fallback: str
    nav: bool
    first: int
    last: int = 0
    pieces: list[str] = field(default_factory=list)
    length: int = 0


class HtmlTraversal:
    """What was found in one tree. Read after `through`."""

    def __init__(self, max_links: int) -> None:
        self.language = ""
        self.title = ""
        self.base_href = ""
        self.metas: list[tuple[str, str]] = []
        self.link_elements: list[LinkElement] = []
        self.blocks: list[TextBlock] = []
        self.headings: list[tuple[str, str]] = []
        self.links: list[FoundLink] = []
        self.words: list[str] = []
        self._max_links = max_links
        self._size = 0
        self._pieces: list[str] = []
        self._boilerplate = 0
        self._main = 0
        self._outside_main: list[int] = []
        self._link: FoundLink | None = None
        self._heading: tuple[str, int] | None = None
        self._rest: tuple[LexborNode, list[int]] | None = None
        self._has_ended = False

    def through(self, root: LexborNode, *, words: int = MAX_TEXT) -> None:
        """Traverse the tree in document order, without recursion: hostile trees are deep.

        It stops at `words` words of running text, perhaps within a block; the next call continues from there.
        """
        if self._has_ended:
            return
        node, open_elements = self._rest or (root, list[int]())
        while self._size < MAX_TEXT:
            if len(self.words) >= words:
                self._rest = node, open_elements
                return
            tag = node.tag
            if tag == _TEXT:  # two of three nodes
                self._note_text(node.text_content or "")
            elif (undo := self._enter(tag, node)) is not None:
                child = node.first_child
                if child is not None:
                    open_elements.append(undo)
                    node = child
                    continue
                if undo:
                    self._leave(undo)
            while (following := node.next) is None:
                parent = node.parent
                if not open_elements or parent is None:
                    self._end()
                    return
                undo = open_elements.pop()
                if undo == _BLOCK:
                    self._end_block()
                elif undo:
                    self._leave(undo)
                node = parent
            node = following
        self._end()

    def _end(self) -> None:
        self._end_block()
        self._has_ended = True

    def _enter(self, tag: str | None, node: LexborNode) -> int | None:
        """Record an element; returns what to undo when it is left, or None when its content is skipped."""
        if tag is None:
            return None
        if (see := _SPECIAL.get(tag)) is not None:
            return see(self, node)
        if tag in _BLOCKS or tag in _CONTAINERS:
            return self._enter_block(tag, node)
        return None if tag in _SKIPPED or tag.startswith("-") else _PLAIN

    def _enter_block(self, tag: str, node: LexborNode) -> int | None:
        undo = _PLAIN
        attributes = node.attributes if tag in _CONTAINERS else _NO_ATTRIBUTES
        if not attributes and tag in _PLAIN_BLOCKS:
            self._end_block()
            return _BLOCK
        if attributes and _hidden(attributes):
            return None
        role = (attributes.get("role") or "").lower()
        is_main = tag == "main" or role == "main"
        if tag in _BLOCKS:
            self._end_block()
            undo |= _BLOCK
        if is_main:
            undo |= _MAIN | _BLOCK
            self._outside_main.append(self._boilerplate)
            self._boilerplate = 0
            self._main += 1
        elif self._is_boilerplate(tag, role, attributes):
            self._end_block()
            undo |= _BOILER | _BLOCK
            self._boilerplate += 1
        if tag in _HEADINGS and self._heading is None:
            undo |= _HEADING
            self._heading = (tag, len(self.blocks))
        return undo

    def _is_boilerplate(self, tag: str, role: str, attributes: dict[str, str | None]) -> bool:
        if tag == "header":  # of the site; the header of an article has its title
            return not self._main and role in ("", "banner")
        if tag in _BOILERPLATE or role in _BOILERPLATE_ROLES:
            return True
        if tag == "article" or not attributes:
            return False
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        return len(names) > 2 and _named_boilerplate(names[:200], bool(self._main))

    def _leave(self, undo: int) -> None:
        if undo & _BLOCK:
            self._end_block()
        if undo & _BOILER:
            self._boilerplate -= 1
        if undo & _MAIN:
            self._main -= 1
            self._boilerplate = self._outside_main.pop()
        if undo & _LINK and self._link is not None:
            self._link.last = len(self.words)
            self._link = None
        if undo & _HEADING and self._heading is not None:
            tag, first = self._heading
            text = " ".join(block.text for block in self.blocks[first:])
            if text and not self._boilerplate and len(self.headings) < MAX_HEADINGS:
                self.headings.append((tag, text))
            self._heading = None

    def _note_text(self, text: str) -> None:
        self._pieces.append(text)
        if text.isspace():
            return
        self._size += len(text)
        if not self._boilerplate:
            self.words.extend(text.split())
        link = self._link
        if link is not None and link.length < 1_000:
            link.pieces.append(text)
            link.length += len(text)

    def _end_block(self) -> None:
        pieces = self._pieces
        if not pieces:
            return
        text = " ".join((pieces[0] if len(pieces) == 1 else "".join(pieces)).split())
        self._pieces = []
        if text:
            self.blocks.append(TextBlock(text, self._boilerplate > 0, self._main > 0))

    def _see_html(self, node: LexborNode) -> int | None:
        self.language = node.attributes.get("lang") or node.attributes.get("xml:lang") or ""
        return _PLAIN

    def _see_title(self, node: LexborNode) -> int | None:
        self.title = self.title or node.text()
        return None

    def _see_base(self, node: LexborNode) -> int | None:
        self.base_href = self.base_href or node.attributes.get("href") or ""
        return None

    def _see_meta(self, node: LexborNode) -> int | None:
        attributes = node.attributes
        name = attributes.get("name") or attributes.get("property") or ""
        if name and len(self.metas) < MAX_METAS:
            self.metas.append((name.lower(), attributes.get("content") or ""))
        return None

    def _see_link_element(self, node: LexborNode) -> int | None:
        attributes = node.attributes
        if len(self.link_elements) < MAX_METAS:
            rel, href, hreflang = (attributes.get(name) or "" for name in LinkElement._fields)
            self.link_elements.append(LinkElement(rel.lower(), href, hreflang))
        return None

    def _see_anchor(self, node: LexborNode) -> int | None:
        if len(self.links) >= self._max_links:
            return _PLAIN
        attributes = node.attributes
        href = attributes.get("href")
        if not href or _hidden(attributes):
            return _PLAIN
        label = attributes.get("aria-label") or attributes.get("title") or attributes.get("alt") or ""
        here = len(self.words)
        self._link = FoundLink(href=href, fallback=label, nav=self._boilerplate > 0, first=here, last=here)
        self.links.append(self._link)
        return _LINK

    def _see_image(self, node: LexborNode) -> int | None:
        if self._link is not None:
            self._link.fallback = node.attributes.get("alt") or self._link.fallback
        return None

    def _see_break(self, node: LexborNode) -> int | None:
        self._pieces.append("\n")
        return None


_SPECIAL = {
    "html": HtmlTraversal._see_html,
    "title": HtmlTraversal._see_title,
    "base": HtmlTraversal._see_base,
    "meta": HtmlTraversal._see_meta,
    "link": HtmlTraversal._see_link_element,
    "a": HtmlTraversal._see_anchor,
    "area": HtmlTraversal._see_anchor,
    "img": HtmlTraversal._see_image,
    "br": HtmlTraversal._see_break,
    "wbr": HtmlTraversal._see_break,
}


def _hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    return attributes.get("aria-hidden") == "true"


@lru_cache(maxsize=4096)
def _named_boilerplate(names: str, in_main: bool) -> bool:
    """Whether a class name or the id is one that menus, footers and the like have."""
    found = [name for name in names.lower().split() if _BOILERPLATE_NAME.fullmatch(name)]
    return any(not (in_main and name.endswith("header")) for name in found)
