"""The note on a site's own page that says from which missing address a rule has redirected the user (pure).

It is plain HTML without script, right after `<body>`, with a stylesheet of the same origin: where the site's policy
forbids that, the note is there without style. Its text is ASCII with character references, so it is correct in any
encoding of the page.
"""

import re

from markupsafe import Markup

from proxy.pages.display import address, link_target
from proxy.pages.language import Catalogue
from proxy.portal.addresses import PREFIX

STYLE = f"{PREFIX}static/banner.css"
_MAX_SCANNED = 256 * 1024
_RAW_TEXT = (b"script", b"style", b"title", b"textarea", b"template", b"noscript", b"xmp", b"iframe")
"""Elements whose content is not markup: what looks like a body tag in there is none."""
_TAG_START = re.compile(rb"<(?:(!--)|([a-z]+)(?=[\s/>]))")
_TAG_END = re.compile(rb"[>\"']")
_WIDE_CHARSET = re.compile(r"(?i)charset\s*=\s*[\"']?\s*(utf-?16|utf-?32|ucs-?2|utf-?7)")


def banner(missed: str, texts: Catalogue) -> bytes:
    """The note itself: the missing address, and a link to it, which shows the list of alternatives the next time."""
    shown = address(missed)
    name = Markup('<bdi dir="ltr" translate="no">{}</bdi>').format(shown.host + shown.path)
    target = link_target(missed)
    link = (
        Markup('<a href="{}" rel="nofollow">{}</a>').format(target, texts("banner.list"))
        if target
        else Markup()
    )
    words = texts("banner.arrived", address=name)
    html = Markup(
        '<link rel="stylesheet" href="{}"><div id="linkmend-arrived" role="note" lang="{}" dir="{}">{} {}</div>'
    )
    return str(html.format(STYLE, texts.code, texts.direction, words, link)).encode(
        "ascii", "xmlcharrefreplace"
    )


def with_banner(body: bytes, content_type: str, note: bytes) -> bytes | None:
    """The page with the note inserted; None for an encoding into which plain bytes cannot be inserted."""
    if _WIDE_CHARSET.search(content_type) or body[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in body[:200]:
        return None
    at = _after_body_tag(body[:_MAX_SCANNED].lower())
    # Without such a tag, the HTML parser puts what follows the document into the body anyway.
    return body + note if at is None else body[:at] + note + body[at:]


def _after_body_tag(page: bytes) -> int | None:
    """Where the content of the body begins. Every step advances or gives up, so no page takes long."""
    at = 0
    while (begun := _TAG_START.search(page, at)) is not None:
        comment, name = begun.groups()
        if name == b"body":
            return _after_tag(page, begun.end())
        end = begun.end()
        if comment:
            end = page.find(b"-->", end)
        elif name in _RAW_TEXT:
            end = page.find(b"</" + name, end)
        if end == -1:
            return None
        at = end
    return None


def _after_tag(page: bytes, at: int) -> int | None:
    while mark := _TAG_END.search(page, at):
        if mark[0] == b">":
            return mark.end()
        at = page.find(mark[0], mark.end()) + 1
        if at == 0:
            return None
    return None
