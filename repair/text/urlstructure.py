"""Structural similarity of a missing URL and a candidate's URL, and their types; no words, no I/O.

A page that moved within its site mostly keeps something of its URL: the file name in another directory, the slug
with other separators, case or suffix, its number in a database. `likeness` gives each of these as
a number between 0 and 1. What is no web URL is like nothing.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from rapidfuzz.distance import JaroWinkler

from repair.text import urls

_MAX_COMPARED = 300  # characters; Jaro-Winkler takes quadratic time, and addresses come from strangers
_INDEX = re.compile(r"(?i)(?:index|default|welcome|home)(?:\.[a-z0-9]{1,5})?\Z")
_SUFFIXES = r"[xs]?html?|php[0-9]?|aspx?|jspx?|cgi|cfm|pl|do|txt|pdf|md|xml"
_SUFFIX = re.compile(rf"(?i)(?<=.)\.(?:{_SUFFIXES})\Z")
_FILE_SUFFIX = re.compile(rf"(?i)(?<=.)\.(?:{_SUFFIXES}|{urls.FILE_SUFFIXES})\Z")
_PLAIN_URL = re.compile(
    r"https?://([a-z0-9\-]+(?:\.[a-z0-9\-]+)+)(/[A-Za-z0-9_~/.\-]*)(?:\?([A-Za-z0-9_~=&.\-]+))?\Z"
)
_NONE: frozenset[str] = frozenset()
_NUMBER = re.compile(r"[0-9]{2,}")
_DRAWN_NAME = re.compile(r"(?<![0-9A-Za-z])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,}(?![0-9A-Za-z])")
_GENERIC_NAMES = re.compile(r"[\W_]+")


class UrlStructure(NamedTuple):
    """A URL taken apart for comparison. `slug` is the page's own name without suffix, separators and case.

    `path_back` and `parts_back` are path and parts from their ends. Each is made once and compared many times.
    """

    site: str
    host: str
    path: str
    path_back: str
    parts: tuple[str, ...]
    parts_back: tuple[str, ...]
    name: str
    slug: str
    is_drawn: bool
    parameters: frozenset[str]
    numbers: frozenset[str]


class UrlLikeness(NamedTuple):
    """How similar two URLs are, each between 0 and 1; the names are the names of features.

    same_directory  all but the last part of the path agree, on the same host
    same_name       the last part is the same to the letter
    same_slug       the last part is the same but for separators, case and suffix
    same_parameter  the share of the missing URL's `key=value` pairs that the candidate has
    same_number     both have the same number of two digits or more (an article's id), at any place
    path, slug      Jaro-Winkler similarity of whole paths and of slugs
    tail            Jaro-Winkler similarity of the reversed paths: what moved keeps its end
    head_parts      the share of leading directories that agree
    tail_parts      the share of trailing parts that agree but for separators, case and suffix
    slug_within     the longer slug contains the shorter: the share of the longer that it makes up
    depth           1 for the same depth, less for each level of difference
    """

    same_site: float = 0.0
    same_host: float = 0.0
    same_directory: float = 0.0
    same_name: float = 0.0
    same_slug: float = 0.0
    same_parameter: float = 0.0
    same_number: float = 0.0
    path: float = 0.0
    slug: float = 0.0
    tail: float = 0.0
    head_parts: float = 0.0
    tail_parts: float = 0.0
    slug_within: float = 0.0
    depth: float = 0.0


UNLIKE = UrlLikeness()


@lru_cache(maxsize=65_536)
def structure_of(url: str) -> UrlStructure | None:
    """A URL prepared for `likeness`; None when it is no web URL."""
    plainly = _PLAIN_URL.match(url)  # most saved URLs: no need to parse them
    if plainly and len(url) <= _MAX_COMPARED and "/." not in url:
        host, path, query = plainly[1], plainly[2], plainly[3] or ""
    else:
        try:
            parsed = urls.parse(url)
        except ValueError:
            return None
        host, path, query = parsed.host, unquote(parsed.path)[:_MAX_COMPARED], parsed.query
    pieces = tuple(piece for piece in path.split("/") if piece)
    if pieces and _INDEX.match(pieces[-1]):
        pieces = pieces[:-1]
    name = pieces[-1] if pieces else ""
    whole = "/".join(pieces).lower()
    parts = tuple(map(normalise_part, pieces))
    return UrlStructure(
        site=_site(host),
        host=host,
        path=whole,
        path_back=whole[::-1],
        parts=parts,
        parts_back=parts[::-1],
        name=name,
        slug=parts[-1] if parts else "",
        is_drawn=bool(parts) and _DRAWN_NAME.fullmatch(parts[-1]) is not None,
        parameters=frozenset(pair for pair in query.split("&", 64)[:64] if "=" in pair) if query else _NONE,
        numbers=frozenset(_NUMBER.findall(_DRAWN_NAME.sub("", f"{path} {query[:_MAX_COMPARED]}"))),
    )


@lru_cache(maxsize=32_768)  # pages of one site share their directories
def normalise_part(name: str) -> str:
    """One part of a path without suffix, separators and case, so that rewritten names can be compared.

    >>> plain("Water-Cycle_(intro).html")
    'watercycleintro'
    """
    return _strip_separators(_FILE_SUFFIX.sub("", name))


@lru_cache(maxsize=32_768)
def normalise_name(text: str) -> str:
    """The letters and digits of a name, to compare names however they are written."""
    return _strip_separators(_SUFFIX.sub("", text[:200]))


def _strip_separators(stem: str) -> str:
    return _GENERIC_NAMES.sub("", stem).lower() or stem.lower()


def likeness(missing: str, candidate: str) -> UrlLikeness:
    """How similar the URLs are; `UNLIKE` when either is no web URL."""
    lost, found = structure_of(missing), structure_of(candidate)
    return likeness_of(lost, found) if lost and found else UNLIKE


def likeness_of(lost: UrlStructure, found: UrlStructure) -> UrlLikeness:
    """The same for prepared URLs: to compare one with hundreds, `build` each once."""
    same_host = lost.host == found.host
    longer = max(len(lost.parts), len(found.parts))
    named = bool(lost.slug and found.slug)
    same_slug = named and lost.slug == found.slug
    # Letters that a machine drew are like any others by chance; only the same ones mean anything.
    readable = same_slug or not (lost.is_drawn or found.is_drawn)
    pathed, spelt = bool(lost.path and found.path and readable), named and readable
    # In the order of the names above: by keyword it would take half as long again, for hundreds of candidates.
    return UrlLikeness(
        1.0 if lost.site and lost.site == found.site else 0.0,
        1.0 if same_host else 0.0,
        1.0 if same_host and longer > 0 and lost.parts_back[1:] == found.parts_back[1:] else 0.0,
        1.0 if named and lost.name == found.name else 0.0,
        1.0 if same_slug else 0.0,
        _share(lost.parameters, found.parameters) if lost.parameters else 0.0,
        0.0 if lost.numbers.isdisjoint(found.numbers) else 1.0,
        JaroWinkler.similarity(lost.path, found.path) if pathed else 0.0,
        JaroWinkler.similarity(lost.slug, found.slug) if spelt else 0.0,
        JaroWinkler.similarity(lost.path_back, found.path_back) if pathed else 0.0,
        common_prefix_length(lost.parts, found.parts) / longer if longer and same_host else 0.0,
        common_prefix_length(lost.parts_back, found.parts_back) / longer if same_slug else 0.0,
        _within(lost.slug, found.slug) if spelt else 0.0,
        1.0 / (1 + abs(len(lost.parts) - len(found.parts))),
    )


@lru_cache(maxsize=4_096)
def _site(host: str) -> str:
    return urls.site(f"http://{host}/")


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted)


def common_prefix_length(left: Sequence[str], right: Sequence[str]) -> int:
    """How many leading parts are the same."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _within(left: str, right: str) -> float:
    short, long = (left, right) if len(left) <= len(right) else (right, left)
    # Any name may contain two letters by chance.
    return len(short) / len(long) if len(short) > 2 and short in long else 0.0
