"""Marks of an error page in the markup, outside the text: names that its author gave it (pure).

    <body class="error404">    <link rel="stylesheet" href="/css/page-not-found.css">    <img src="404.svg">
    <link rel="canonical" href="https://school.example/404.html">

A name counts only when all its words occur in names of error pages. Applications prefetch files of their error page
("error-404.8bdb1f.css"), systems number their pages ("page-404"), and photographs have numbers.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

NUMBER = "number"
"""A 404 that may be a plain number: 404.jpg may be the photograph after 403.jpg, "page-404" the 404th page."""


def _word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_WORTH_A_LOOK = ("404", "notfound", "not-found", "not_found", "not found", "cms-no", "next-error")
_LOOKED_AT = (
    "[class*='404'], [class*='found' i], [class*='cms-no'], [class*='next-error'], [id*='404'], [id*='found' i], "
    "[src*='404'], [src*='found' i], [data*='404'], [alt*='404'], [alt*='found' i], [aria-label*='404'], "
    "[aria-label*='found' i], link[href*='404'], link[href*='found' i], "
    "meta[content*='404'], meta[content*='found' i]"
)
_MAX_NODES = 3_000
_MAX_VALUE = 500
_MAX_NAME = 60
_MAX_FOLDERS = 2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODE = "404"
_PHOTOGRAPH = "photograph"
_GLUED = re.compile(r"(?i)(page)?(not)(found)")
_NAMES = _word_set(
    "404 not found error errors err http page pages site is template body content contents container wrapper wrap "
    "section main text title box block code message msg area inner outer row info number view screen layout card "
    "hero banner bg background image img illustration picture style styles css custom new component type the "
    "kind path system"
)
"""Words that occur in names of error pages and of their parts."""
_ERRORS = frozenset(("error", "errors", "err", "http", "found", "template", "is", "kind"))
"""Next to these words 404 is the status code; in "page-404" and "row-404" it may be a counter."""
_PLACEHOLDERS = frozenset(
    ("image", "img", "picture", "type", "component", "content", "text", "title", "info")
)
"""With these words, "not found" may be about a missing picture."""
_EXACT = frozenset(("cms-no-route", "cms-noroute-index", "next-error-h1"))
"""The names that Magento and Next use."""
_DRAWN = frozenset(("svg", "json", "lottie"))
_OWN_IDS = frozenset(("html", "body", "main", "div"))
_NAMED = frozenset(("html", "body", "main", "section", "article", "div", "h1"))
_SHOWN = frozenset(("img", "object", "embed", "video", "source", "lottie-player"))
_LANGUAGE = re.compile(r"[a-z]{2}(?:-[a-z]{2})?")
_ENDING = re.compile(r"(?i)\.(?:html?|shtml|php|aspx?|jsp)$")


def marks_of(tree: LexborHTMLParser, html: str) -> frozenset[str]:
    """The kinds of marks found: name, style, image, label, address; or a `NUMBER`."""
    low = html.lower()
    if not any(word in low for word in _WORTH_A_LOOK):
        return frozenset()
    found = {mark for node in tree.css(_LOOKED_AT)[:_MAX_NODES] for mark in _marks(node)}
    if _PHOTOGRAPH in found:
        found.remove(_PHOTOGRAPH)
        found.update(() if _are_numbered(tree) else (NUMBER,))
    return frozenset(found)


def _marks(node: LexborNode) -> Iterator[str]:
    attributes = node.attributes
    match node.tag:
        case "link":
            rel = (attributes.get("rel") or "").lower().split()
            target = attributes.get("href") or ""
            if "stylesheet" in rel:
                yield from _marks_of_name("style", _file(target).removesuffix(".css").removesuffix(".min"))
            elif "canonical" in rel and _is_error_address(target):
                yield "address"
        case "meta":
            content = attributes.get("content") or ""
            if (attributes.get("property") or "").lower() == "og:url" and _is_error_address(content):
                yield "address"
        case "img" | "svg":
            label = (attributes.get("alt") or attributes.get("aria-label") or "").strip()
            yield from (_PHOTOGRAPH,) if label == _CODE else _marks_of_name("label", label)
        case tag if tag in _NAMED:
            for name in _names(tag or "", attributes):
                yield from _marks_of_name("name", name)
    if node.tag in _SHOWN:
        yield from _marks_of_file(_file(attributes.get("src") or attributes.get("data") or ""))


def _names(tag: str, attributes: dict[str, str | None]) -> list[str]:
    """The classes of an element, and its id, unless documentation tools derive that from a heading."""
    classes = (attributes.get("class") or "")[:_MAX_VALUE].split()
    if tag not in _OWN_IDS or "section" in classes:
        return classes
    return [*classes, attributes.get("id") or ""]


def _marks_of_name(kind: str, name: str) -> Iterator[str]:
    """The `kind` when a name has only words of error pages; `NUMBER` when its 404 may be a counter."""
    if len(name) > _MAX_NAME:
        return
    words = [word.lower() for word in _WORD.findall(_GLUED.sub(r"-\1-\2-\3-", name))]
    held = frozenset(words)
    if name in _EXACT:
        yield kind
    elif held <= _NAMES and _CODE in held and len(held) > 1:
        yield NUMBER if words[-1] == _CODE and held.isdisjoint(_ERRORS) else kind
    elif held <= _NAMES and {"not", "found"} <= held and held.isdisjoint(_PLACEHOLDERS):
        yield kind


def _marks_of_file(file: str) -> Iterator[str]:
    """The mark in the name of a picture or film; drawings are not numbered."""
    stem, _, ending = file.rpartition(".")
    if stem != _CODE:
        yield from _marks_of_name("image", stem)
    else:
        yield "image" if ending.lower() in _DRAWN else _PHOTOGRAPH


def _is_error_address(address: str) -> bool:
    """Whether it is the address of the site's error page; `/pages/404` may be the 404th page."""
    try:
        path = urlsplit(unquote(address[:_MAX_VALUE])).path
    except ValueError:
        return False
    *folders, last = path.strip("/").split("/")
    stem = _ENDING.sub("", last)
    if stem == _CODE:
        return all(map(_LANGUAGE.fullmatch, folders))
    return "address" in _marks_of_name("address", stem) and len(folders) <= _MAX_FOLDERS


def _are_numbered(tree: LexborHTMLParser) -> bool:
    """Whether other pictures are named by numbers."""
    stems = {
        _file(node.attributes.get("src") or "").partition(".")[0]
        for node in tree.css("img[src]")[:_MAX_NODES]
    }
    return any(stem.isdigit() and stem != _CODE for stem in stems)


def _file(address: str) -> str:
    return address[:_MAX_VALUE].partition("?")[0].partition("#")[0].rpartition("/")[2]
