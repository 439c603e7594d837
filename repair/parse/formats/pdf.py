"""PDF by pdfium, the reader of Chromium: text page by page, outline, and links with the words under them.

Nothing is drawn: the size of a page and its pictures do not matter. Text that is only a picture (a scan) is not read.
"""

import ctypes
import re
from collections.abc import Iterator
from itertools import islice

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from repair.parse.formats.extraction import (
    MAX_FIELD,
    MAX_HEADINGS,
    MAX_LINKS,
    MAX_TEXT,
    MAX_URL,
    ExtractedLink,
    Extraction,
    Unreadable,
    link_within,
)

MAX_PAGES = 1_000
"""Pages that are read: the text of a book is full before."""
# pdfium's mark of a word that is broken at the end of a line.
_BROKEN_WORD = re.compile(r"[\x02\ufffe](?:\r?\n)?")


def read_pdf(data: bytes) -> Extraction:
    """The content of a PDF; raises Unreadable, also when it needs a password."""
    try:
        document = pdfium.PdfDocument(data)
        count = len(document)
    except pdfium.PdfiumError as error:
        raise Unreadable(f"not a readable PDF: {error}") from error
    metadata = document.get_metadata_dict()
    texts, links, size = list[str](), list[ExtractedLink](), 0
    for number in range(min(count, MAX_PAGES)):
        try:
            page = _PdfPage(document, number)
        except pdfium.PdfiumError:
            continue  # a damaged page costs itself only
        texts.append(page.text(MAX_TEXT - size))
        size += len(texts[-1])
        links += islice(page.links(texts[-1]), MAX_LINKS - len(links))
        page.close()
        if size >= MAX_TEXT:
            break
    return Extraction(
        text="\n".join(texts),
        title=metadata.get("Title", "")[:MAX_FIELD],
        headings=tuple(_outline(document)),
        description=metadata.get("Subject", "")[:MAX_FIELD],
        keywords=metadata.get("Keywords", "")[:MAX_FIELD],
        language=_language(document),
        links=tuple(links),
    )


class _PdfPage:
    """One page of a document, open until `close`."""

    def __init__(self, document: pdfium.PdfDocument, number: int) -> None:
        self._document = document
        self._page = document[number]
        self._text = self._page.get_textpage()

    def close(self) -> None:
        self._text.close()
        self._page.close()

    def text(self, limit: int) -> str:
        count = min(self._text.count_chars(), limit)
        return _readable(self._text.get_text_range(0, count)) if count > 0 else ""

    def links(self, text: str) -> Iterator[ExtractedLink]:
        """Links as the author made them, then addresses in the text that are none."""
        known = set()
        for url, anchor in self._annotations():
            known.add(url)
            at = text.find(anchor) if anchor else -1
            yield (
                link_within(text, url, at, at + len(anchor))
                if at >= 0
                else ExtractedLink(url=url, anchor=anchor)
            )
        for url in self._written_urls():
            if url not in known:
                yield ExtractedLink(url=url)

    def _annotations(self) -> Iterator[tuple[str, str]]:
        place, link, rect = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
        for _ in range(MAX_LINKS):
            if not raw.FPDFLink_Enumerate(self._page, ctypes.byref(place), ctypes.byref(link)):
                return
            action = raw.FPDFLink_GetAction(link)
            if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
                continue
            url = self._action_url(action)
            if not url:
                continue
            anchor = ""
            if raw.FPDFLink_GetAnnotRect(link, ctypes.byref(rect)):
                anchor = self._text.get_text_bounded(rect.left, rect.bottom, rect.right, rect.top)
            yield url, _readable(anchor[:MAX_FIELD]).strip()

    def _action_url(self, action: object) -> str:
        size = raw.FPDFAction_GetURIPath(self._document, action, None, 0)
        if not 1 < size <= MAX_URL:
            return ""
        buffer = ctypes.create_string_buffer(size)
        raw.FPDFAction_GetURIPath(self._document, action, buffer, size)
        return buffer.value.decode("utf-8", "replace")

    def _written_urls(self) -> Iterator[str]:
        found = raw.FPDFLink_LoadWebLinks(self._text)
        try:
            for number in range(min(raw.FPDFLink_CountWebLinks(found), MAX_LINKS)):
                size = raw.FPDFLink_GetURL(found, number, None, 0)
                if not 1 < size <= MAX_URL:
                    continue
                buffer = (ctypes.c_ushort * size)()
                raw.FPDFLink_GetURL(found, number, buffer, size)
                yield bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")
        finally:
            raw.FPDFLink_CloseWebLinks(found)


def _outline(document: pdfium.PdfDocument) -> Iterator[str]:
    try:
        for entry in islice(document.get_toc(max_depth=3), MAX_HEADINGS):
            if title := entry.get_title().strip()[:MAX_FIELD]:
                yield title
    except pdfium.PdfiumError:
        return


def _language(document: pdfium.PdfDocument) -> str:
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 2 < size <= 200:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\0")


def _readable(text: str) -> str:
    return _BROKEN_WORD.sub("", text).replace("\r\n", "\n")
