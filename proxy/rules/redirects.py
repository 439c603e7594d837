"""The target of a redirect rule: a template filled with parts of the requested address.

`{url}` is the whole address, `{host}`, `{path}` and `{query}` its parts. Each is encoded for its place in the
template, so that text from the requested address stays in its part of the new one: it cannot name another host, add a
header or begin a script.
"""

import re
from urllib.parse import quote

from repair.text import urls

PLACES = ("url", "host", "path", "query")
MAX_TEMPLATE = 2000

_PLACE = re.compile(r"\{([^{}]*)\}")
_SCHEME = re.compile(r"(?i)https?://")
_AUTHORITY = re.compile(r"(?i)https?://([^/?#]*?)(?=\{path\}|[/?#]|\Z)")
_PLAIN_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_IN_SEGMENT = ":@!$&'()*+,;=~%"
_IN_PATH = "/" + _IN_SEGMENT
_IN_QUERY = "/?" + _IN_SEGMENT


def check_template(template: str) -> None:
    """ValueError, with the reason, unless the template leads to a host of the admin's choice, over http or https."""
    if len(template) > MAX_TEMPLATE:
        raise ValueError(f"expected at most {MAX_TEMPLATE} characters, got {len(template)}")
    if not _SCHEME.match(template):
        raise ValueError(f"expected an address that begins with http:// or https://, got {template[:80]!r}")
    for place in _PLACE.findall(template):
        if place not in PLACES:
            names = ", ".join(f"{{{name}}}" for name in PLACES)
            raise ValueError(f"{{{place[:40]}}} is not one of {names}")
    if "{" in _PLACE.sub("", template) or "}" in _PLACE.sub("", template):
        raise ValueError("unbalanced brace")
    authority = _AUTHORITY.match(template)
    if authority is None or not authority[1] or set(_PLACE.findall(authority[1])) - {"host"}:
        raise ValueError("only {host} is allowed in the host part")
    if "@" in authority[1]:
        raise ValueError("a redirect must not contain a user name")
    if not urls.is_web_url(_PLACE.sub("x", template)) or "\\" in template:
        raise ValueError(f"{template[:80]!r} is not a web address")


def target(template: str, url: str) -> str:
    """The target of a checked template for `url`; "" when it is not a web address, or equal to `url`."""
    main, mark, fragment = template.partition("#")
    try:
        parts = urls.parse(url)
        if "{host}" in template and not _PLAIN_HOST.fullmatch(parts.host):
            return ""
        found = urls.normal(_PLACE.sub(lambda place: _encode(place, parts), main))
        if found == urls.normal(url):
            return ""
    except ValueError:
        return ""
    filled = _PLACE.sub(lambda place: quote(_part(place[1], parts), safe=""), fragment)
    return found + mark + quote(filled, safe=_IN_QUERY)


def _encode(place: re.Match[str], parts: urls.UrlParts) -> str:
    """The part that a placeholder names, encoded for its place: host, path, whole query, or one value of it."""
    name, before = place[1], place.string[: place.start()]
    value = _part(name, parts)
    if name == "host":
        return value
    if "?" not in before:
        doubled = name == "path" and before.endswith("/")
        return _in_path(value[1:] if doubled else value, whole=name != "query")
    if name == "query" and before.endswith(("?", "&")):
        return quote(value, safe=_IN_QUERY)
    return quote(value, safe="")


def _part(name: str, parts: urls.UrlParts) -> str:
    query = f"?{parts.query}" if parts.query else ""
    return {
        "url": f"{parts.scheme}://{parts.authority}{parts.path}{query}",
        "host": parts.host,
        "path": parts.path,
        "query": parts.query,
    }[name]


def _in_path(value: str, *, whole: bool) -> str:
    """`value` encoded for a path. Slashes of a query are encoded too, so that it cannot change the path.

    ValueError when it consists of dots only, which cannot be encoded.
    """
    path, mark, query = value.partition("?") if whole else ("", "", value)
    if not whole and query in (".", ".."):
        raise ValueError("a step in a path")
    return quote(path, safe=_IN_PATH) + quote(mark, safe="") + quote(query, safe=_IN_SEGMENT)
