"""What the markup of a page calls itself, outside of its text: the names that its author gave an error page (pure).

    <body class="error404">    <link rel="stylesheet" href="/css/page-not-found.css">    <img src="404.svg">
    <link rel="canonical" href="https://school.example/404.html">

A name counts only when all of its words are those of such names. Programs load ahead what their error page may need
("error-404.8bdb1f.css", prefetched), systems number their pages ("page-404"), and photographs have numbers.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

NUMBER = "number"
"""A code that may be a number: 404.jpg may be the photograph after 403.jpg, "page-404" the page after the 403rd."""


def _split(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_WORTH_A_LOOK = re.compile(r"(?i)404|not[-_]?found")
_LOOKED_AT = (
    "html[class], html[id], body[class], body[id], main[class], main[id], section[class], section[id], "
    "article[class], div[class], div[id], h1[class], link[rel][href], meta[property][content], img, svg[aria-label], "
    "object[data], embed[src], video[src], source[src], lottie-player[src]"
)
_MAX_NODES = 3_000
_MAX_VALUE = 500
_MAX_NAME = 60
_MAX_FOLDERS = 2
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODE = "404"
_GLUED = re.compile(r"(?i)(page)?(not)(found)")
_NAMES = _split(
    "404 not found error errors err http page pages site is template body content contents container wrapper wrap "
    "section main text title box block code message msg area inner outer row info number view screen layout card "
    "hero banner bg background image img illustration picture style styles css custom new component type the "
    "kind path system"
)
"""The words that names of error pages and of their parts are made of."""
_ERRORS = frozenset(("error", "errors", "err", "http", "found", "template", "is", "kind"))
"""With these the number is a code; "page-404" and "row-404" may have been counted."""
_PLACEHOLDERS = frozenset(
    ("image", "img", "picture", "type", "component", "content", "text", "title", "info")
)
"""Not found may also be what stands there instead of a picture."""
_EXACT = frozenset(("cms-no-route", "cms-noroute-index", "next-error-h1"))
"""What Magento and Next call theirs."""
_DRAWN = frozenset(("svg", "json", "lottie"))
_SHOWN = frozenset(("img", "object", "embed", "video", "source", "lottie-player"))
_LANGUAGE = re.compile(r"[a-z]{2}(?:-[a-z]{2})?")
_ENDING = re.compile(r"(?i)\.(?:html?|shtml|php|aspx?|jsp)$")


def marks_of(tree: LexborHTMLParser, html: str) -> frozenset[str]:
    """The kinds of places that name the page an error page: name, style, image, label, address; or a `NUMBER`."""
    if not _WORTH_A_LOOK.search(html):
        return frozenset()
    nodes = tree.css(_LOOKED_AT)[:_MAX_NODES]
    files = {_file(_source(node)) for node in nodes if node.tag in _SHOWN}
    return frozenset((*(mark for node in nodes for mark in _marks(node)), *_marks_of_files(files)))


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
            yield from (NUMBER,) if label == _CODE else _marks_of_name("label", label)
        case tag if tag not in _SHOWN:
            names = (attributes.get("class") or "")[:_MAX_VALUE].split()
            for name in (*names, attributes.get("id") or ""):
                yield from _marks_of_name("name", name)


def _marks_of_name(kind: str, name: str) -> Iterator[str]:
    """The `kind` when a name has the words of an error page's and no others; a number alone may be anything's."""
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


def _marks_of_files(files: Iterable[str]) -> Iterator[str]:
    """By the names of pictures and films; drawings are not numbered, and where one photograph is, others are."""
    parts = [file.rpartition(".") for file in files if file]
    are_numbered = any(stem != _CODE and stem.isdigit() for stem, _, _ in parts)
    for stem, _, ending in parts:
        if stem != _CODE:
            yield from _marks_of_name("image", stem)
        elif ending.lower() in _DRAWN:
            yield "image"
        elif not are_numbered:
            yield NUMBER


def _is_error_address(address: str) -> bool:
    """Whether it is the address of the site's error page; `/pages/404` may be the page after the 403rd."""
    try:
        path = urlsplit(unquote(address[:_MAX_VALUE])).path
    except ValueError:
        return False
    *folders, last = path.strip("/").split("/")
    stem = _ENDING.sub("", last)
    if stem == _CODE:
        return all(map(_LANGUAGE.fullmatch, folders))
    return "address" in _marks_of_name("address", stem) and len(folders) <= _MAX_FOLDERS


def _source(node: LexborNode) -> str:
    return node.attributes.get("src") or node.attributes.get("data") or ""


def _file(address: str) -> str:
    return address[:_MAX_VALUE].partition("?")[0].partition("#")[0].rpartition("/")[2]
