"""Reads the links of a worksheet, and writes it again with some of them replaced; both in the helper process."""

import re
from collections.abc import Mapping

from repair.parse.formats.docx import read_docx
from repair.parse.formats.extraction import MAX_FIELD, MAX_LINKS, ExtractedLink, Extraction, Unreadable
from repair.parse.formats.odt import read_odt
from repair.parse.formats.pdf import read_pdf
from repair.parse.formats.worksheets.model import (
    RewrittenWorksheet,
    WorksheetContent,
    WorksheetFormat,
    WorksheetJob,
)
from repair.parse.formats.worksheets.places import (
    LinkPlace,
    as_characters,
    html_places,
    replace_links,
    text_places,
    xml_places,
)
from repair.parse.formats.worksheets.zipmembers import replace_members
from repair.parse.formats.zipparts import ZipParts

_WEB = ("http://", "https://")
_DOCX_PARTS = ("document", "footnotes", "endnotes", "comments")
_DOCX_NUMBERED = ("header", "footer")
_MAX_NUMBERED = 20
# A link as a field, in one piece: in an element's text, or in an attribute.
_FIELD = re.compile(rb'HYPERLINK\s+(?:"|&quot;)(https?://[^"<>]{1,8000}?)(?:"|&quot;)')
_TITLE = re.compile(r"<title[^>]*>([^<]{1,500})", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,2}[ \t]+([^\n]{1,200})", re.MULTILINE)


def run_job(job: WorksheetJob) -> WorksheetContent | RewrittenWorksheet:
    """Do what a job asks for; raises Unreadable."""
    if job.replacements:
        return RewrittenWorksheet(data=rewrite(job.format, job.data, job.replacements))
    return read(job.format, job.data)


def read(format_: WorksheetFormat, data: bytes) -> WorksheetContent:
    """The links of a document; raises Unreadable."""
    match format_:
        case WorksheetFormat.PDF:
            extraction = read_pdf(data)
            return _content(extraction.title, _web_links(extraction))
        case WorksheetFormat.DOCX | WorksheetFormat.ODT:
            extraction = read_docx(data) if format_ is WorksheetFormat.DOCX else read_odt(data)
            known = {link.url.strip(): link for link in reversed(_web_links(extraction))}
            places = (_docx_places if format_ is WorksheetFormat.DOCX else _odt_places)(ZipParts(data))
            ordered = [*known.values()][::-1] + [
                _as_link(place) for place in places if place.url not in known
            ]
            return _content(extraction.title, ordered)
        case WorksheetFormat.HTML:
            title = _TITLE.search(as_characters(data))
            return _content(_text(title), [_as_link(place) for place in html_places(data)])
        case _:
            places = text_places(data, markdown=format_ is WorksheetFormat.MARKDOWN)
            title = _HEADING.search(as_characters(data)) if format_ is WorksheetFormat.MARKDOWN else None
            return _content(_text(title), [_as_link(place) for place in places])


def rewrite(format_: WorksheetFormat, data: bytes, replacements: Mapping[str, str]) -> bytes:
    """The document with the addresses in `replacements` replaced, and nothing else changed; raises Unreadable."""
    match format_:
        case WorksheetFormat.PDF:
            raise Unreadable("a PDF is not rewritten")
        case WorksheetFormat.DOCX | WorksheetFormat.ODT:
            parts = ZipParts(data)
            places = (_docx_places if format_ is WorksheetFormat.DOCX else _odt_places)(parts)
            fresh = dict[str, bytes]()
            for name in {place.part for place in places if place.url in replacements}:
                inside = [place for place in places if place.part == name]
                fresh[name] = replace_links(parts.read(name), inside, replacements)
            return replace_members(data, fresh) if fresh else data
        case WorksheetFormat.HTML:
            return replace_links(data, html_places(data), replacements)
        case _:
            places = text_places(data, markdown=format_ is WorksheetFormat.MARKDOWN)
            return replace_links(data, places, replacements)


def _docx_places(parts: ZipParts) -> list[LinkPlace]:
    names = [
        *_DOCX_PARTS,
        *(f"{name}{number}" for name in _DOCX_NUMBERED for number in range(1, _MAX_NUMBERED)),
    ]
    places = list[LinkPlace]()
    for name in names:
        relations = f"word/_rels/{name}.xml.rels"
        if (data := parts.find(relations)) is not None:
            needed = {"TargetMode": "External", "Type": "/hyperlink"}
            places += xml_places(data, {"Relationship": "Target"}, part=relations, needed=needed)
        body = f"word/{name}.xml"
        if (data := parts.find(body)) is not None:
            places += _field_places(data, body)
    return places[:MAX_LINKS]


def _field_places(data: bytes, part: str) -> list[LinkPlace]:
    """Links that are fields. They are written in the text, so that the rules of XML's text apply."""
    places = []
    for found in _FIELD.finditer(data):
        url = found[1].decode("utf-8", "replace").replace("&amp;", "&")
        places.append(LinkPlace(url=url, start=found.start(1), end=found.end(1), markup=True, part=part))
    return places


def _odt_places(parts: ZipParts) -> list[LinkPlace]:
    places = list[LinkPlace]()
    for part in ("content.xml", "styles.xml"):
        if (data := parts.find(part)) is not None:
            places += xml_places(data, {"a": "href"}, part=part)
    return places[:MAX_LINKS]


def _web_links(extraction: Extraction) -> list[ExtractedLink]:
    return [link for link in extraction.links if link.url.strip().lower().startswith(_WEB)]


def _as_link(place: LinkPlace) -> ExtractedLink:
    return ExtractedLink(url=place.url, anchor=place.anchor, before=place.before, after=place.after)


def _content(title: str, links: list[ExtractedLink]) -> WorksheetContent:
    """Each address once, with the words of its first place."""
    once = dict[str, ExtractedLink]()
    for link in links:
        once.setdefault(link.url.strip(), link)
    return WorksheetContent(title=title.strip()[:MAX_FIELD], links=tuple(once.values()))


def _text(found: "re.Match[str] | None") -> str:
    return found[1].encode("latin-1", "replace").decode("utf-8", "replace") if found else ""
