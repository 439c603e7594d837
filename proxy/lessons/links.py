"""The links of a worksheet or a page that can be checked."""

from collections.abc import Iterable
from urllib.parse import urldefrag

from proxy.lessons.model import LessonLink
from repair.model import Page
from repair.parse import htmlpage
from repair.parse.formats.extraction import ExtractedLink
from repair.text import urls

_MAX_WORDS = 600
_MAX_PAGE_LINKS = 2_000


def lesson_links(links: Iterable[ExtractedLink], most: int) -> list[LessonLink]:
    """The links that can be requested, each once, in their order."""
    made = list[LessonLink]()
    for link in links:
        try:
            url = urls.normal(urldefrag(link.url.strip())[0])
        except ValueError:
            continue
        made.append(
            LessonLink(
                number=len(made) + 1,
                written=link.url.strip(),
                url=url,
                anchor=" ".join(link.anchor.split())[:_MAX_WORDS],
                before=" ".join(link.before.split())[-_MAX_WORDS:],
                after=" ".join(link.after.split())[:_MAX_WORDS],
            )
        )
        if len(made) >= most:
            break
    return made


def links_of(page: Page, max_bytes: int) -> tuple[str, list[ExtractedLink]]:
    """The title of a page, and its links that are no navigation."""
    document = htmlpage.document(page, max_bytes=max_bytes, max_links=_MAX_PAGE_LINKS)
    if document is None:
        return "", []
    once = dict[str, ExtractedLink]()
    for link in document.links:
        if not link.nav:
            made = ExtractedLink(
                url=link.target_url, anchor=link.anchor, before=link.before, after=link.after
            )
            once.setdefault(link.target_url, made)
    return document.title, list(once.values())
