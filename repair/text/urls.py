"""URLs as values: their normal form, their site, their words, their shorter forms.

Hostile input: only `normal` raises, and only ValueError; everything else returns None, "" or nothing. Pages are
saved under the normal form of their URL, and links are compared by it. It follows RFC 3986 section 6.2
where that changes no meaning, and browsers where authors rely on them (backslashes, stray spaces and newlines).
User names and passwords are dropped: they have no business in a store.
"""

import hashlib
import heapq
import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import unquote, urljoin
from zlib import crc32

import idna
from publicsuffixlist import PublicSuffixList

MAX_URL = 8_000
"""Longer URLs are not URLs of pages."""
MAX_WORDS = 64
_CACHED_URL = 500
FILE_SUFFIXES = (
    r"pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|csv|zip|"
    r"jpe?g|png|gif|svg|webp|bmp|tiff?|mp[34]|avi|mov|webm|ogg|wav|swf"
)
"""Suffixes of documents, pictures, recordings and the like; they give the file type, not the subject."""

_DEFAULT_PORT = {"http": "80", "https": "443"}
_SPLIT = re.compile(r"(?is)(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?\Z")
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_LINE_NOISE = re.compile(r"[\t\n\r]")
_EDGES = "".join(map(chr, range(0x21)))
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})?|[^!$&'()*+,\-./0-9:;=@A-Z_a-z~?\[\]]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN_URL = re.compile(r"(https?)://([a-z0-9\-]+(?:\.[a-z0-9\-]+)+)(/[A-Za-z0-9_~/\-]*(?:\.[a-z0-9]+)?)\Z")
# A relative reference that needs no change, and a page to whose directory it can be appended as it is.
_SEGMENT = r"[A-Za-z0-9_~\-][A-Za-z0-9_~.\-]*+"
_PLAIN_REFERENCE = re.compile(
    rf"(?s)(/|(?:\.\./)*+)((?:{_SEGMENT}/)*+(?:{_SEGMENT})?+)(\?[A-Za-z0-9_~.\-=&]++)?+(?:#.*)?+\Z"
)
_PLAIN_BASE = re.compile(
    rf"(https?://[a-z0-9\-]+(?:\.[a-z0-9\-]+)*+(?::[0-9]+)?)((?:/{_SEGMENT}(?=/))*+)/[^/?#;]*+(?:\?[^#;]*)?\Z"
)
_HOST = re.compile(r"[^\x00-\x20#%/:<>?@\[\\\]^|\x7f]+\Z")
_WWW = re.compile(r"www[0-9]?\.")
# Only as the last file name: elsewhere "html" or "php" is what the pages are about.
_FILE_BOILERPLATE = re.compile(
    r"(?i)(?:(?<=/)(?:index|default|welcome))?"
    rf"(?:\.(?:[xs]?html?|php[0-9]?|aspx?|jspx?|cgi|cfm|{FILE_SUFFIXES}))?\Z"
)
_PRINTABLE = re.compile(r"[!-~]+\Z")
_GLUED = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class UrlParts(NamedTuple):
    """A web URL in normal form, taken apart. `authority` is the host with a port that is not the default."""

    scheme: str
    host: str
    authority: str
    path: str
    query: str


def parse(url: str, *, most: int = MAX_URL) -> UrlParts:
    """The parts of a web URL in normal form; ValueError when it is none, or longer than `most`."""
    if len(url) > most:
        raise ValueError(f"address too long: {len(url)} characters")
    return _parse_cached(url) if len(url) <= _CACHED_URL else _parse(url)


def _parse(url: str) -> UrlParts:
    found = _SPLIT.match(_LINE_NOISE.sub("", url.strip(_EDGES)).replace("\\", "/"))
    if found is None:
        raise ValueError(f"not a web address: {url[:100]!r}")
    scheme = found[1].lower()
    host, port = _host_and_port(found[2].rpartition("@")[2])
    if port and int(port) > 65_535:
        raise ValueError(f"invalid port in {url[:100]!r}")
    port = "" if port == _DEFAULT_PORT[scheme] else port
    path = _without_dots(_PERCENT.sub(_normalise_escape, found[3])) or "/"
    query = _PERCENT.sub(_normalise_escape, found[4] or "")
    return UrlParts(scheme, host, f"{host}:{port}" if port else host, path, query)


# One repair takes the same few URLs apart again and again.
_parse_cached = lru_cache(maxsize=1_000)(_parse)


def normal(url: str, *, most: int = MAX_URL) -> str:
    """The normal form of a web URL, without its fragment; ValueError when it is none.

    >>> normal("HTTP://School.Test:80/a/./b/../%7Ec?q=%c3%a9#top")
    'http://school.test/a/~c?q=%C3%A9'
    """
    # Most URLs are plain and normal already: one match replaces the whole procedure.
    if len(url) <= MAX_URL and _PLAIN_URL.match(url):
        return url
    parts = parse(url, most=most)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.authority}{parts.path}{query}"


def url_hash(url: str) -> int:
    """A number of a normal URL in 63 bits, the same everywhere, so that no two of a hundred million share one."""
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()) >> 1


def even_sample(addresses: Iterable[str], limit: int) -> tuple[str, ...]:
    """The `limit` URLs with the least hashes: of the same URLs the same, in whatever order they come."""
    return tuple(
        heapq.nsmallest(limit, addresses, key=lambda url: (crc32(url.encode("utf-8", "replace")), url))
    )


def is_web_url(url: str) -> bool:
    """Whether `normal` would accept it."""
    try:
        parse(url)
    except ValueError:
        return False
    return True


def is_printable(url: str) -> bool:
    """Whether an address can stand in a request as it is: a line break in it would begin a header of its own."""
    return _PRINTABLE.match(url) is not None


def host_and_port(url: str) -> tuple[str, int]:
    """As a connection needs them, an IPv6 address without its brackets; ValueError for no web address."""
    parts = parse(url)
    port = parts.authority[len(parts.host) + 1 :] or _DEFAULT_PORT[parts.scheme]
    return parts.host.removeprefix("[").removesuffix("]"), int(port)


def resolve(base: str, href: str) -> str | None:
    """The target of a link on the page `base`, in normal form; None when that is no web URL."""
    plain = _PLAIN_REFERENCE.match(href)
    if plain is not None and plain[2] and len(base) + len(href) <= MAX_URL and (place := _place_of(base)):
        return _append(place, plain)
    href = _LINE_NOISE.sub("", href.strip(_EDGES)).replace("\\", "/")
    if len(href) > MAX_URL:
        return None
    try:
        if _HAS_SCHEME.match(href):
            return normal(href)
        return normal(urljoin(base, href))
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _place_of(base: str) -> tuple[str, tuple[str, ...]] | None:
    """Scheme with authority, and the directories, of a page whose links are resolved; None unless it is plain."""
    found = _PLAIN_BASE.match(base)
    if found is None or not is_web_url(base) or normal(base) != base:
        return None
    return found[1], tuple(found[2].split("/")[1:])


def _append(place: tuple[str, tuple[str, ...]], plain: re.Match[str]) -> str:
    """What `urljoin` and `normal` would make of a plain reference: most links are such, at a tenth of the cost."""
    origin, directories = place
    up, path, query = plain[1], plain[2], plain[3] or ""
    if up == "/":
        return f"{origin}/{path}{query}"
    kept = directories[: max(0, len(directories) - len(up) // 3)]
    return "/".join((origin, *kept, path)) + query


def site(url: str) -> str:
    """The registrable domain (`school.example` of `www.school.example`); IP addresses and single names as they are.

    Names under which the public registers pages of its own (`github.io`) count as suffixes. "" for no web URL.
    """
    try:
        return site_of_host(parse(url).host)
    except ValueError:
        return ""


def path_words(url: str) -> tuple[str, ...]:
    """The words of host, path and query, in order, lower case, each once; no `www`, `index.html` or public suffix.

    Words glued by case or digits come whole and in pieces, since text may write them either way:

    >>> path_words("http://www.school.co.uk/SchoolLibrary/lesson12.html?topic=water%20cycle")
    ('school', 'schoollibrary', 'library', 'lesson12', 'lesson', '12', 'topic', 'water', 'cycle')
    """
    from repair.text.words import (
        segments,  # its character tables take longer to build than most users of this module run
    )

    try:
        parts = parse(url)
    except ValueError:
        return ()
    path = unquote(_FILE_BOILERPLATE.sub("", parts.path))
    text = f"{_named_host(parts.host)} {path} {unquote(parts.query.replace('+', ' '))}"
    words: dict[str, None] = {}
    for chunk in segments(text):
        for word in (chunk, *_GLUED.findall(chunk)) if chunk.isascii() else (chunk,):
            lowered = word.lower()
            if len(lowered) <= 40:
                words[lowered] = None
        if len(words) >= MAX_WORDS:
            break
    return tuple(words)[:MAX_WORDS]


def shorter_urls(url: str) -> tuple[str, ...]:
    """Shorter URLs of the same host, nearest first: without the query, then each directory up to the root."""
    try:
        parts = parse(url)
    except ValueError:
        return ()
    root = f"{parts.scheme}://{parts.authority}"
    found = [root + parts.path] if parts.query else []
    path = parts.path.rstrip("/")
    while path and len(found) < 32:
        path = path[: path.rindex("/")].rstrip("/")
        found.append(f"{root}{path}/")
    return tuple(found)


def directory(url: str) -> str:
    """The URL up to the last slash of its path; "" for no web URL."""
    try:
        parts = parse(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.authority}{parts.path[: parts.path.rindex('/') + 1]}"


def _normalise_escape(found: re.Match[str]) -> str:
    """The normal form of one percent escape, or of one character that must be escaped."""
    if found[0][0] != "%":
        return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))
    if found[1] is None:
        return "%25"
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _without_dots(path: str) -> str:
    """The path without `.` and `..` segments (RFC 3986 section 5.2.4)."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments[1:]:
        if segment == "..":
            kept[-1:] = []
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, closed, rest = authority.partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise ValueError(f"invalid IP address in brackets: {authority[:100]!r}")
        host, port = f"[{_ipv6(host[1:])}]", rest[1:]
    else:
        name, _, port = authority.partition(":")
        host = _host(name)
    if port and not (port.isascii() and port.isdigit() and len(port) <= 10):
        raise ValueError(f"invalid port: {port[:20]!r}")
    return host, str(int(port)) if port else ""


def _ipv6(text: str) -> str:
    try:
        return IPv6Address(text).compressed
    except AddressValueError as error:
        raise ValueError(f"invalid IP address: {text[:100]!r}") from error


@lru_cache(maxsize=4096)
def _host(name: str) -> str:
    """The host in lower case ASCII; a name that IDNA rejects stays as it was written, in lower case."""
    if len(name) > 255:  # before IDNA, whose checks are slow on long names
        raise ValueError(f"host name too long: {len(name)} characters")
    name = (unquote(name) if "%" in name else name).lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True, transitional=False).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            name = name.encode("utf-8", "replace").decode("utf-8")
    if not _HOST.match(name) or not name.isprintable():
        raise ValueError(f"invalid host name: {name[:100]!r}")
    return name


def _named_host(host: str) -> str:
    """The meaningful labels of a host, without the public suffix; nothing for an IP address."""
    if host.startswith("[") or _is_ipv4(host):
        return ""
    suffix = known_suffixes().publicsuffix(host) if "." in host else ""
    named = _WWW.sub("", host[: -len(suffix) - 1] if suffix and host != suffix else host)
    return " ".join(_unicode_label(label) for label in named.split("."))


def _unicode_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return idna.decode(label)
    except (idna.IDNAError, UnicodeError):
        return label


@lru_cache(maxsize=4096)
def site_of_host(host: str) -> str:
    """The registrable domain of a host, as in `site`."""
    if host.startswith("[") or "." not in host or _is_ipv4(host):
        return host
    if known_suffixes().is_public(host):
        return host
    return known_suffixes().privatesuffix(host) or ".".join(host.rstrip(".").split(".")[-2:])


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except AddressValueError:
        return False
    return True


@lru_cache(maxsize=1)
def known_suffixes() -> PublicSuffixList:
    """The list of public suffixes that ships with the library, private ones (github.io) among them: 4 MB."""
    return PublicSuffixList(accept_unknown=False)
