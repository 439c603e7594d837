"""Links between the pages of a ZIM: relative paths in it, addresses of the web outside it (pure).

A ZIM has paths and no addresses. So the links of a page to others of the pack become relative paths when it is
written, and addresses again when it is imported.
"""

import posixpath
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

from repair.parse import htmlpage
from repair.text import urls

_ATTRIBUTES = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("img", "script", "source", "iframe", "video", "audio", "embed", "track"), "src"),
}
_LINKS = ", ".join(f"{tag}[{name}]" for tag, name in _ATTRIBUTES.items())
_NOT_KEPT = "base, meta[charset], meta[http-equiv=content-type i]"
_SAFE = "/!$&'()*+,;=@~-._"


def zim_path(url: str) -> str:
    """The path of an address: host, path and query.

    >>> zim_path("https://school.test/a%20b?page=2")
    'school.test/a b?page=2'
    """
    parts = urls.parse(url)
    query = f"?{parts.query}" if parts.query else ""
    return parts.authority + unquote(parts.path + query, errors="replace")


def with_paths(html: str, url: str, paths: Mapping[str, str]) -> str:
    """A page whose links to pages in `paths` (by address) are relative to its own path; other links become whole."""
    base = _base(html, url)
    own = posixpath.dirname(paths[url])

    def relative(value: str) -> str | None:
        target = urls.resolve(base, value)
        if target is None:
            return None
        place, fragment = paths.get(target), value.partition("#")[1:]
        if place is None:
            return target + "".join(fragment)
        # A path that ends in a slash is not its folder.
        ending = "/" if place.endswith("/") else ""
        return quote(posixpath.relpath(place, own) + ending, safe=_SAFE) + "".join(fragment)

    return _rewrite(html, relative)


def with_addresses(html: str, path: str, addresses: Mapping[str, str]) -> str:
    """A page of a pack whose relative links are addresses again; `addresses` are by path."""
    own = posixpath.dirname(path)

    def absolute(value: str) -> str | None:
        place, mark, fragment = value.partition("#")
        if not place or ":" in place.partition("/")[0]:
            return None
        decoded = unquote(place)
        ending = "/" if decoded.endswith("/") else ""
        target = addresses.get(posixpath.normpath(posixpath.join(own, decoded)) + ending)
        return None if target is None else target + mark + fragment

    return _rewrite(html, absolute)


def _rewrite(html: str, change: Callable[[str], str | None]) -> str:
    """The page with the links that `change` gives anew; None leaves one as it is."""
    parsed = htmlpage.tree(html)
    for node in parsed.css(_NOT_KEPT):
        node.decompose()
    for node in parsed.css("[srcset]"):  # one picture of each is packed
        del node.attrs["srcset"]
    for node in parsed.css(_LINKS):
        name = _ATTRIBUTES[node.tag or ""]
        changed = change(node.attributes.get(name) or "")
        if changed is not None:
            node.attrs[name] = changed
    return parsed.html or ""


def _base(html: str, url: str) -> str:
    node = htmlpage.tree(html).css_first("base[href]")
    return (urls.resolve(url, node.attributes.get("href") or "") if node else None) or url
