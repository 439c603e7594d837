"""Which requests carry only fields that browsers send by themselves, so that their responses may be shared.

A shared cache does not know how a site uses a request field that Vary does not name. Some sites build links from
X-Forwarded-Host, answer `RSC: 1` with a fragment, or fail when a field is too long. One client with such a field
could poison the cache for all others. No list of such fields is complete. So this module lists the harmless ones:
fields that browsers send unasked, each with the form of its value there. A request with any other field gets its
response, but the response is not stored, unless Vary names the field.

Some fields that browsers send are left out on purpose: prefetch marks (Purpose, Sec-Purpose, X-Moz), Save-Data, and
the client hints that a site must ask for. Sites answer them with something smaller, or with nothing.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from proxy.headers.personal import is_personal
from proxy.messages import Headers

LARGEST_HEAD = 8 * 1024
"""Characters of all fields together, without Cookie and Authorization. Servers begin to refuse at 8 kB."""
_LARGEST_VALUE = 4_500
_CACHED_LENGTH = 512

# `proxy.cache.storage` has rules of its own for these.
_CREDENTIALS = frozenset({"cookie", "authorization"})
# Normalised before the comparison, so that a strange value may become a common one.
_COMPARED_LOOSELY = frozenset({"accept-encoding", "accept-language"})
_CONDITIONAL = frozenset(
    {"if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range"}
)
_ORIGIN_FIELDS = frozenset({"origin", "referer"})


def _list_of(member: str) -> str:
    # Possessive (`*+`): no backtracking, so matching takes linear time.
    return rf"[ \t]*+(?:{member})?+(?:[ \t]*+,[ \t]*+(?:{member})?+)*+[ \t]*+"


_WEIGHT = r"(?:[ \t]*+;[ \t]*+q=[0-9.]{1,5}+)?+"
_CODING = rf"(?:gzip|x-gzip|deflate|br|zstd|compress|identity|dcb|dcz|\*){_WEIGHT}"
_LANGUAGE = rf"(?:[a-z]{{1,8}}(?:-[a-z0-9]{{1,8}}){{0,4}}|\*){_WEIGHT}"
_MEDIA = (
    r"(?:text/html|text/css|text/plain|text/xml|text/\*|(?:text|application)/(?:x-)?javascript|application/xml"
    r"|application/xhtml\+xml|application/signed-exchange|application/ogg|application/(?:x-)?font[a-z0-9-]{0,20}"
    r"|(?:image|video|audio|font)/[a-z0-9.+*-]{1,40}|\*/\*)"
    r"(?:[ \t]*+;[ \t]*+[a-z]{1,10}+=[a-z0-9.]{1,10}+)*+"
)
_DIRECTIVE = r'[a-z0-9_-]{1,40}(?:=(?:[a-z0-9_.-]{0,40}|"[a-z0-9_ ,-]{0,80}"))?'
_SITE = r"[a-z][a-z0-9+.-]{1,30}://[a-z0-9._:\[\]-]{1,255}"
_TAG = r"[!#$%&'()*+,./0-9:;=?@a-z\[\]^_|~ \"-]{0,1000}"
_HINT = r"[a-z0-9 ()/:;,.?=_\"-]{0,600}"
_WORDS = r"[a-z0-9 ;,=-]{0,60}"

_FORMS: dict[str, str] = {
    "accept": _list_of(_MEDIA),
    "accept-charset": _list_of(rf"(?:[a-z0-9-]{{1,20}}|\*){_WEIGHT}"),
    "accept-encoding": _list_of(_CODING),
    "accept-language": _list_of(_LANGUAGE),
    "alt-used": r"[a-z0-9._:\[\]-]{1,255}",
    "cache-control": _list_of(_DIRECTIVE),
    "connection": _list_of(r"keep-alive|close|te"),
    "content-length": r"0",
    "dnt": r"[01]",
    "host": r"[a-z0-9._:\[\]-]{1,262}",
    "if-match": _TAG,
    "if-modified-since": _TAG,
    "if-none-match": _TAG,
    "if-range": _TAG,
    "if-unmodified-since": _TAG,
    "keep-alive": _WORDS,
    "origin": rf"null|{_SITE}",
    "pragma": _list_of(_DIRECTIVE),
    "priority": r"[ui0-9=?, ]{0,20}",
    "proxy-connection": _list_of(r"keep-alive|close"),
    "range": r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})",
    "referer": rf"{_SITE}(?:[/?][!#$%&()*+,./0-9:;=?@a-z\[\]_~|-]{{0,4000}})?",
    "sec-ch-ua": _HINT,
    "sec-ch-ua-arch": _HINT,
    "sec-ch-ua-bitness": _HINT,
    "sec-ch-ua-form-factors": _HINT,
    "sec-ch-ua-full-version": _HINT,
    "sec-ch-ua-full-version-list": _HINT,
    "sec-ch-ua-mobile": r"\?[01]",
    "sec-ch-ua-model": _HINT,
    "sec-ch-ua-platform": _HINT,
    "sec-ch-ua-platform-version": _HINT,
    "sec-ch-ua-wow64": r"\?[01]",
    "sec-fetch-dest": r"[a-z-]{0,20}",
    "sec-fetch-mode": r"[a-z-]{1,20}",
    "sec-fetch-site": r"[a-z-]{1,20}",
    "sec-fetch-storage-access": r"[a-z-]{1,20}",
    "sec-fetch-user": r"\?[01]",
    "sec-gpc": r"1",
    "service-worker": r"script",
    "te": r"trailers",
    "upgrade-insecure-requests": r"1",
    "user-agent": r"[a-z0-9 .,;:/()\[\]+_@=|!~*&#?%-]{0,500}",
    "x-client-data": r"[a-z0-9+/=]{0,1000}",
}
_PATTERNS = {name: re.compile(form, re.IGNORECASE | re.ASCII) for name, form in _FORMS.items()}
# List fields, which may come in several lines.
_LISTS = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "connection", "if-none-match", "pragma"}
)
_ANYTHING = re.compile(r"\*/\*|text/html", re.IGNORECASE)


def is_plain_request(
    headers: Headers, *, named: Collection[str] = frozenset(), also: tuple[str, ...] = ()
) -> bool:
    """Whether a request has no field with which its sender could change a response that others get.

    `named` are the (lower-case) fields in the response's Vary, `also` those that an admin declares harmless. Cookie
    and Authorization are ignored here: `may_store` decides about them.
    """
    declared = _lower(also)
    seen: set[str] = set()
    size = 0
    for key, value in headers:
        name = key.lower()
        if name in _CREDENTIALS:
            continue
        size += len(name) + len(value)
        repeated = name in seen and name not in _LISTS
        seen.add(name)
        if (name in named and name not in _COMPARED_LOOSELY) or name in declared:
            continue
        if repeated or not _is_usual(name, value):
            return False
    return size <= LARGEST_HEAD


def is_bare_request(headers: Headers, *, also: tuple[str, ...] = ()) -> bool:
    """Whether a plain request also has no credentials, no range and no condition.

    An error in response to it is about the page, not about the request.
    """
    names = {key.lower() for key, _ in headers}
    return names.isdisjoint(_CREDENTIALS | _CONDITIONAL) and is_plain_request(headers, also=also)


def names_origin_page(headers: Headers) -> bool:
    """Whether a request names the page or site it comes from. Some sites use that to refuse hotlinked pictures."""
    return any(key.lower() in _ORIGIN_FIELDS for key, _ in headers)


def plain_part(headers: Headers, *, named: Collection[str] = frozenset()) -> Headers:
    """The headers for a request of our own in place of a client's: its plain fields, and those in `named`.

    Without personal fields, conditions and ranges.
    """
    return tuple(
        (key, value)
        for key, value in headers
        if (name := key.lower()) not in _CONDITIONAL
        and ((name in named and not is_personal(name)) or _is_usual(name, value))
    )


def _is_usual(name: str, value: str) -> bool:
    if len(value) <= _CACHED_LENGTH and len(name) <= _CACHED_LENGTH:
        return _has_form_cached(name, value)
    return _has_form(name, value)


def _has_form(name: str, value: str) -> bool:
    pattern = _PATTERNS.get(name)
    if pattern is None or len(value) > _LARGEST_VALUE or pattern.fullmatch(value) is None:
        return False
    # Browsers accept any type. A program that accepts one type only may get a response of that type.
    return name != "accept" or not value.strip() or _ANYTHING.search(value) is not None


# Browsers send the same values with nearly every request.
_has_form_cached = lru_cache(maxsize=4096)(_has_form)


@lru_cache(maxsize=16)
def _lower(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
