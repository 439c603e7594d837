"""The subresources that a page needs offline: its pictures, style sheets and scripts (pure)."""

from repair.detect import is_document
from repair.model import Page
from repair.parse import decode, htmlpage
from repair.text import urls

_URL_ATTRIBUTE = {"img": "src", "link": "href", "script": "src"}
_LINK_RELATIONS = frozenset(("stylesheet", "icon"))


def parts_of(page: Page, *, limit: int, max_bytes: int) -> tuple[str, ...]:
    """The addresses of a page's subresources, in order, each once; empty for what is not HTML."""
    text = decode.body_text(page, max_bytes) if limit and is_document(page) else None
    if not text:
        return ()
    parsed = htmlpage.tree(text)
    base = next((node.attributes.get("href") for node in parsed.css("base[href]")), None)
    within = urls.resolve(page.url, base) if base else None
    found: dict[str, None] = {}
    for node in parsed.css("link[href], script[src], img[src]"):
        address = node.attributes.get(_URL_ATTRIBUTE.get(node.tag or "", ""), None)
        kinds = (node.attributes.get("rel") or "").lower().split()
        if not address or (node.tag == "link" and not _LINK_RELATIONS.intersection(kinds)):
            continue
        url = urls.resolve(within or page.url, address)
        if url is not None and url != page.url:
            found[url] = None
        if len(found) >= limit:
            break
    return tuple(found)
