"""Pages of a manual in DocBook, as the PHP manual is written: a file with an `xml:id` is a page of that name.

Tags are translated one by one and the result is read as HTML: entities that other files define, and files that are no
whole XML, do no harm.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape

from benchmarks.collections.markup import Source, whole_page

_NAME = re.compile(r"<(?!\?|!)[a-z0-9]+\b[^>]*?\bxml:id=\"([^\"]+)\"")
_TITLE = re.compile(r"<(?:refname|title)>(.*?)</(?:refname|title)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_COMMENT = re.compile(r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>", re.DOTALL)
_CODE = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#)[\w.-]+;")
_LINK = re.compile(r"<link\s+linkend=\"([^\"]+)\"[^>]*?>(.*?)</link>", re.DOTALL)
_OUTSIDE = re.compile(r"<link\s+xlink:href=\"([^\"]+)\"[^>]*?>(.*?)</link>", re.DOTALL)
_REFERENCE = re.compile(r"<xref\s+linkend=\"([^\"]+)\"\s*/>")
_FUNCTION = re.compile(r"<function>([^<]+)</function>")
_BLOCKS = {
    "para": "p",
    "simpara": "p",
    "title": "h2",
    "refname": "h1",
    "programlisting": "pre",
    "screen": "pre",
    "itemizedlist": "ul",
    "listitem": "li",
    "row": "tr",
    "entry": "td",
    "term": "p",
    "refpurpose": "p",
    "methodsynopsis": "p",
}
_BLOCK = re.compile(rf"<(/?)({'|'.join(_BLOCKS)})\b[^>]*>")


def manual_pages(files: Iterable[tuple[str, bytes]], language: str) -> Iterator[tuple[str, str]]:
    """The name of each page with its HTML; a reference without words gets the title of what it leads to."""
    read = {}
    for _, body in files:
        text = _COMMENT.sub("", body.decode("utf-8", "replace"))
        text = _ENTITY.sub(" ", _CODE.sub(lambda code: escape(code[1]), text))
        if (found := _NAME.search(text)) and (words := _TITLE.search(text)):
            read[found[1]] = (" ".join(_TAG.sub("", words[1]).split()), text)
    titles = {name: title for name, (title, _) in read.items()}
    for name, (title, text) in read.items():
        yield name, whole_page(Source(declared={}, title=title, body=_body(name, text, titles)), language)


def _body(page: str, text: str, titles: dict[str, str]) -> str:
    def link(name: str, words: str) -> str:
        return f'<a href="{escape(name)}.php">{words}</a>'

    def function(found: re.Match[str]) -> str:
        name = f"function.{found[1].strip().lower().replace('_', '-').replace('::', '.')}"
        shown = f"{escape(found[1])}()"
        return link(name, shown) if name in titles and name != page else shown

    text = _LINK.sub(lambda found: link(found[1], found[2]), text)
    text = _OUTSIDE.sub(lambda found: f'<a href="{escape(found[1])}">{found[2]}</a>', text)
    text = _REFERENCE.sub(lambda found: link(found[1], escape(titles.get(found[1], ""))), text)
    text = _FUNCTION.sub(function, text)
    return _BLOCK.sub(lambda tag: f"<{tag[1]}{_BLOCKS[tag[2]]}>", text)
