"""A saved copy as a page of its own (pure): its links work, its scripts do not run.

Any site may have written the copy, and we show it under our address or another site's. The sandbox takes away its
origin and its scripts, and `<meta http-equiv=refresh>`, which would redirect the user.
"""

import codecs
import re
from collections.abc import Sequence
from html import escape
from urllib.parse import quote, unquote

from markupsafe import Markup

from proxy.pages.display import link_target
from proxy.pages.language import Catalogue
from proxy.pages.linkmarks import STYLE as LINK_STYLE
from proxy.pages.linkmarks import base_of, mark_links
from proxy.pages.render import Headers, RenderedPage, page_headers
from proxy.portal.linkjudging import LinkMark
from repair.model import HeldCopy

_POLICY = (
    "sandbox allow-forms allow-popups allow-popups-to-escape-sandbox allow-downloads; "
    "script-src 'none'; object-src 'none'; frame-ancestors 'none'"
)
_HEAD_CHARS = 100_000
_CONTENT_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}(;[\x20-\x7e]{0,200})?", re.ASCII)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
# Bounded repeats: with unbounded ones a page of nothing but "<head " would take minutes.
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"<head(?:\s[^>]{0,500})?>", r"<html(?:\s[^>]{0,500})?>", r"<!doctype[^>]{0,500}>")
)


def copy_page(copy: HeldCopy, texts: Catalogue, marks: Sequence[LinkMark] = ()) -> RenderedPage:
    """The copy with its base set to its original address, a line that says it is a copy, and its links marked; other
    types unchanged.
    """
    kind = copy.content_type if _CONTENT_TYPE.fullmatch(copy.content_type) else "text/html"
    media = kind.partition(";")[0].lower()
    headers: Headers = page_headers(texts.code, policy=_POLICY)
    if media not in _HTML_TYPES:
        # The sandbox keeps browsers from showing a PDF in place, so it is offered as a file.
        aside = () if media.startswith("text/") else (("Content-Disposition", _attachment(copy.url)),)
        return RenderedPage(status=200, headers=(("Content-Type", kind), *headers, *aside), body=copy.body)
    kind, text, encoding = _decode(kind, copy.body)
    marked = _with_base(text, copy.url)
    if media == "text/html":  # a line after </html> would break XHTML
        marked, count = mark_links(marked, base_of(text, copy.url), marks, texts)
        marked += _ascii(_banner(copy, texts, legend=count > 0))
    # The copy has a language of its own, which we do not know.
    headers = tuple((name, value) for name, value in headers if name != "Content-Language")
    return RenderedPage(
        status=200, headers=(("Content-Type", kind), *headers), body=marked.encode(encoding, "replace")
    )


def _attachment(url: str) -> str:
    """The field that has a file saved under the name it had (RFC 6266); without one, the browser makes one up."""
    name = unquote(url.partition("?")[0].partition("#")[0].rpartition("/")[2])
    name = "".join(char for char in name if char.isprintable() and char not in '/\\:*?"<>|').strip(". ")[
        -100:
    ]
    return f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}" if name else "attachment"


def _decode(kind: str, body: bytes) -> tuple[str, str, str]:
    """Decode into text that ASCII can be inserted into. All encodings but UTF-16 can be handled byte for byte."""
    little = body.startswith(codecs.BOM_UTF16_LE)
    if little or body.startswith(codecs.BOM_UTF16_BE) or "utf-16" in kind.lower():
        codec = "utf-16" if body[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-16-le"
        return f"{kind.partition(';')[0]}; charset=utf-8", body.decode(codec, "replace"), "utf-8"
    return kind, body.decode("latin-1"), "latin-1"


def _with_base(text: str, url: str) -> str:
    target = link_target(url)
    if target is None:
        return text
    head = text[:_HEAD_CHARS]
    # The first base counts, and a relative one is resolved against the original address, so ours goes first.
    base = base_of(head, target)
    at = _place_for_base(head)
    return f'{text[:at]}<base href="{_ascii(escape(base))}"/>{text[at:]}'


def _place_for_base(head: str) -> int:
    visible = _without_comments(head)
    for place in _PLACES:
        match = place.search(visible)
        if match:
            return match.end()
    return 3 if head.startswith("\xef\xbb\xbf") else 0


def _without_comments(text: str) -> str:
    """The text with comments blanked out and all other characters in place."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[at:start], " " * (end + 3 - start)]
        at = end + 3
    return "".join(pieces) + text[at:]


def _banner(copy: HeldCopy, texts: Catalogue, *, legend: bool) -> str:
    words = texts("copy.banner", date=texts.date(copy.fetched_at))
    more = texts("marks.legend") if legend else ""
    style = Markup("<style>{}</style>").format(Markup(LINK_STYLE)) if legend else ""  # noqa: S704  (our own)
    live = link_target(copy.url)
    link = (
        Markup('<a href="{}" style="color:#9fe3d8">{}</a>').format(live, texts("copy.live")) if live else ""
    )
    return Markup(
        '<div style="height:5rem"></div><aside dir="{}" lang="{}" style="all:initial;direction:{};display:block;'
        "position:fixed;left:0;right:0;bottom:0;z-index:2147483647;padding:.7rem 1rem;background:#22282d;color:#fff;"
        'font:16px/1.5 system-ui,sans-serif;text-align:center">{} {} {}</aside>{}'
    ).format(texts.direction, texts.code, texts.direction, words, more, link, style)


def _ascii(markup: str) -> str:
    """Markup that means the same in any encoding of the copy."""
    return markup.encode("ascii", "xmlcharrefreplace").decode("ascii")
