"""What a page needs to be read offline: its pictures, style sheets and scripts (pure)."""

from repair import decode, markup, urls
from repair.detect import is_document
from repair.model import Page

_NAMED_BY = {"img": "src", "link": "href", "script": "src"}
_LINKED = frozenset(("stylesheet", "icon"))


def parts_of(page: Page, *, limit: int, max_bytes: int) -> tuple[str, ...]:
    """The addresses of what belongs to a page, in its order, each once; nothing for what is no document."""
    text = decode.body_text(page, max_bytes) if limit and is_document(page) else None
    if not text:
        return ()
    parsed = markup.tree(text)
    base = next((node.attributes.get("href") for node in parsed.css("base[href]")), None)
    within = urls.resolve(page.url, base) if base else None
    found: dict[str, None] = {}
    for node in parsed.css("link[href], script[src], img[src]"):
        said = node.attributes.get(_NAMED_BY.get(node.tag or "", ""), None)
        kinds = (node.attributes.get("rel") or "").lower().split()
        if not said or (node.tag == "link" and not _LINKED.intersection(kinds)):
            continue
        url = urls.resolve(within or page.url, said)
        if url is not None and url != page.url:
            found[url] = None
        if len(found) >= limit:
            break
    return tuple(found)
