"""EPUB: the chapters in reading order, which are XHTML. Chapters under copy protection are left out."""

from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from repair.parse.formats.extraction import (
    MAX_FIELD,
    MAX_LINKS,
    MAX_URL,
    ExtractedLink,
    Extraction,
    TextBuilder,
    Unreadable,
)
from repair.parse.formats.xmlevents import MetadataReader, read_xml
from repair.parse.formats.zipparts import ZipParts
from repair.parse.htmlpage import tree
from repair.parse.traversal import HtmlTraversal

MAX_CHAPTERS = 500
_BESIDE = 40  # words on each side of a link


def read_epub(data: bytes) -> Extraction:
    """The content of an EPUB; raises Unreadable."""
    parts = ZipParts(data)
    container = _Attributes("rootfile", "full-path")
    read_xml(parts.read("META-INF/container.xml"), container)
    if not container.found:
        raise Unreadable("an EPUB that does not name its package")
    package = _Package()
    read_xml(parts.read(container.found[0]), package)
    built, headings, links = TextBuilder(), list[str](), list[ExtractedLink]()
    for chapter in _chapters(parts, package, folder=dirname(container.found[0])):
        walk = HtmlTraversal(MAX_LINKS)
        root = tree(chapter.decode("utf-8", "replace")).root
        if root is None:
            continue
        walk.through(root)
        for block in walk.blocks:
            built.add(block.text)
            built.end_paragraph()
        headings += [heading[:MAX_FIELD] for _, heading in walk.headings]
        links += _links(walk)
        if built.is_full:
            break
    return Extraction(
        text=built.text(),
        title=package.metadata.get("title"),
        headings=tuple(headings[:64]),
        description=package.metadata.get("description"),
        keywords=package.metadata.get("subject"),
        language=package.metadata.get("language"),
        links=tuple(links[:MAX_LINKS]),
    )


def _chapters(parts: ZipParts, package: "_Package", *, folder: str) -> Iterator[bytes]:
    protected = _Attributes("CipherReference", "URI")
    if (encryption := parts.find("META-INF/encryption.xml")) is not None:
        read_xml(encryption, protected)
    for item in package.spine[:MAX_CHAPTERS]:
        href = package.items.get(item)
        name = normpath(join(folder, unquote(href))) if href else ""
        if name and name not in protected.found and (chapter := parts.find(name)) is not None:
            yield chapter


def _links(walk: HtmlTraversal) -> Iterator[ExtractedLink]:
    for link in walk.links:
        if 0 < len(link.href) <= MAX_URL:
            yield ExtractedLink(
                url=link.href,
                anchor=("".join(link.pieces) or link.fallback)[:MAX_FIELD],
                before=" ".join(walk.words[max(0, link.first - _BESIDE) : link.first])[-MAX_FIELD:],
                after=" ".join(walk.words[link.last : link.last + _BESIDE])[:MAX_FIELD],
            )


class _Attributes:
    """The values of one attribute of one element, in order."""

    def __init__(self, tag: str, attribute: str) -> None:
        self.found: list[str] = []
        self._tag, self._attribute = tag, attribute

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == self._tag and self._attribute in attributes:
            self.found.append(attributes[self._attribute])

    def end(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


class _Package:
    """The package document: metadata, the files by id, and the ids in reading order."""

    def __init__(self) -> None:
        self.metadata = MetadataReader()
        self.items: dict[str, str] = {}
        self.spine: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.metadata.start(tag, attributes)
        if tag == "item" and "html" in attributes.get("media-type", ""):
            self.items[attributes.get("id", "")] = attributes.get("href", "")
        elif tag == "itemref":
            self.spine.append(attributes.get("idref", ""))

    def end(self, tag: str) -> None:
        self.metadata.end(tag)

    def text(self, text: str) -> None:
        self.metadata.text(text)
