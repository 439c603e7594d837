"""A page's bytes to a Document, whatever its format: web pages and plain text here, files by their helper process.

A file without text (a scan) is kept by its title or file name alone, if that says something: the link to it says the
rest, and a scanned worksheet is worth finding again. A file that needs a password is not kept: nobody could read it.
"""

import re
from collections.abc import Iterator

from repair.model import Document, Link, Page
from repair.parse.decode import identity_body
from repair.parse.formats.extraction import Extraction
from repair.parse.formats.kinds import FileKind, has_mark, kind_of
from repair.parse.formats.reader import FileReader
from repair.parse.htmlpage import (
    MAX_ANCHOR,
    MAX_DESCRIPTION,
    MAX_TITLE,
    nearest_terms,
    page_language,
    robots,
    split_keywords,
    tidy,
    tidy_lines,
)
from repair.parse.htmlpage import document as web_document
from repair.settings import CollectionSettings
from repair.text.stoptitles import is_stop_title
from repair.text.urls import normal, path_words, resolve
from repair.text.words import segments

_reader = FileReader()
_READABLE_LETTERS = 20  # fewer are page numbers and the like: a scan
# "Microsoft Word - plan.doc", "untitled.indd": programs name documents after files.
_PROGRAM = re.compile(
    r"(?i)\A(?:microsoft (?:office )?(?:word|powerpoint|excel|publisher)|powerpoint presentation)\b[ -]*"
)
_FILE_NAME = re.compile(
    r"(?i)\.(?:docx?|od[tp]|pptx?|xlsx?|indd|qxd|pub|pages|tex|dvi|rtf|wpd|html?|pdf|p65)\s*\Z"
)
_WEB = re.compile(r"(?i)https?://")


def document(page: Page, settings: CollectionSettings) -> Document | None:
    """The content of a page; None when it is of no format that we read, too large, or unreadable.

    It blocks while a file is read. Raises FileTooCostly when a file exceeds its limits.
    """
    kind = kind_of(page)
    if kind is None:
        return web_document(page, max_bytes=settings.max_document_bytes, max_links=settings.max_links)
    body = identity_body(page, settings.max_file_bytes)
    if body is None or not has_mark(kind, body):
        return None
    try:
        url = normal(page.url)
    except ValueError:
        return None
    found = _reader.read(kind, body)
    return None if found is None else _document(page, url, kind, found, settings.max_links)


def _document(page: Page, url: str, kind: FileKind, found: Extraction, max_links: int) -> Document | None:
    text = tidy_lines(found.text)
    is_scan = len("".join(segments(text[:2000]))) < _READABLE_LETTERS
    title = _title(found, "" if is_scan else text, url)
    if is_scan and not title:
        return None
    noindex, nofollow = robots(page, [])
    return Document(
        url=url,
        title=title,
        text="" if is_scan else text,
        headings=tuple(filter(None, (tidy(heading, MAX_ANCHOR) for heading in found.headings))),
        description=tidy(found.description, MAX_DESCRIPTION),
        keywords=split_keywords(found.keywords),
        language=page_language(found.language, page, text),
        links=tuple(_links(url, kind, found))[:max_links],
        noindex=noindex,
        nofollow=nofollow,
    )


def _title(found: Extraction, text: str, url: str) -> str:
    """The first of these that says something: the title given, the first heading, the first line, the file name."""
    given = _PROGRAM.sub("", tidy(found.title, MAX_TITLE))
    first_line = next((line for line in text.splitlines() if len(segments(line[:MAX_TITLE])) > 1), "")
    candidates = (
        "" if _FILE_NAME.search(given) else given,
        tidy(found.headings[0], MAX_TITLE) if found.headings else "",
        first_line[:MAX_TITLE],
        _file_words(url),
    )
    return next((title for title in candidates if title and not is_stop_title(title)), "")


def _file_words(url: str) -> str:
    """The words of a file's name; "" when there is none but numbers and codes."""
    name = url.partition("?")[0].rpartition("/")[2]
    words = [word for word in path_words(f"http://127.0.0.1/{name}") if not word.isdigit()]
    return " ".join(words) if any(len(word) > 3 and word.isalpha() for word in words) else ""


def _links(url: str, kind: FileKind, found: Extraction) -> Iterator[Link]:
    """Links to the web, each once. Only in a PDF a relative one is relative to the file's own address."""
    known: set[tuple[str, str]] = set()
    for link in found.links:
        if kind is not FileKind.PDF and not _WEB.match(link.url.lstrip()):
            continue
        target, anchor = resolve(url, link.url), tidy(link.anchor, MAX_ANCHOR)
        if target is None or target == url or (target, anchor) in known:
            continue
        known.add((target, anchor))
        before, after = nearest_terms(link.before[-600:], link.after[:600])
        yield Link(target_url=target, anchor=anchor, before=before, after=after)
