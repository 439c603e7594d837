"""Simulated reorganisations of a site: other URLs for its pages that resemble their own, as real renames do.

Each site changes its host, its prefix, its suffix and its style of writing, or leaves them; each directory is moved,
left out, renamed or dated, or stays; and two pages in five change something of their own name: a word fewer, one or
two more, an id, a date. The draws are hashes of the URL, so that the same folder is always renamed in the same way.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

VERSION = "2"

_WORDS = (
    "reference",
    "guides",
    "library",
    "content",
    "articles",
    "topics",
    "pages",
    "learn",
    "docs",
    "info",
    "about",
    "archive",
    "old",
)
_SUFFIX = re.compile(r"(?i)\.(?:html?|php|aspx?|jsp)$")
_SEPARATORS = re.compile(r"[_\-+ ]+")
_DATE = re.compile(r"(?:19|20)\d\d|[01]?\d")
_LANGUAGE = re.compile(r"(?i)[a-z]{2}(?:[-_][a-z]{2,4})?\Z")


def rename_address(addresses: Sequence[str]) -> dict[str, str]:
    """Another URL for each; all different from each other and from the given ones."""
    taken = set(addresses)
    moved: dict[str, str] = {}
    for old in addresses:
        new = _new_address(old)
        while new in taken:
            new = f"{new}-{_draw(new + old, 10)}"
        taken.add(new)
        moved[old] = new
    return moved


def _new_address(old: str) -> str:
    scheme, host, path = re.match(r"(https?://)([^/]*)(.*)", old).groups()  # type: ignore[union-attr]
    start = scheme + _HOSTS[_draw("host " + host, len(_HOSTS))](host)
    parts = [unquote(part) for part in path.split("?")[0].split("/") if part]
    if not parts:
        return f"{start}/home"
    folder = "/".join(parts[:-1])
    parts = _DIRECTORY_CHANGES[_draw(folder, len(_DIRECTORY_CHANGES))](parts, folder)
    parts[-1] = _own_name(_SUFFIX.sub("", parts[-1]), old)
    # The prefix, the style and the suffix are the same for the whole site.
    if _draw("prefix " + host, 3) == 0:
        parts = [_word(host), *parts]
    style = _STYLES[_draw("style " + host, len(_STYLES))]
    end = _ENDS[_draw("end " + host, len(_ENDS))]
    return f"{start}/" + "/".join(quote(style(part)) for part in parts) + end


def _put_in(parts: list[str], folder: str) -> list[str]:
    at = _draw("at" + folder, len(parts))
    return [*parts[:at], _word(folder), *parts[at:]]


def _put_in_last(parts: list[str], folder: str) -> list[str]:
    return [*parts[:-1], _word(folder), parts[-1]]


def _leave_out(parts: list[str], folder: str) -> list[str]:
    if len(parts) < 2:
        return [_word(folder), *parts]
    at = _draw("out" + folder, len(parts) - 1)
    return parts[:at] + parts[at + 1 :]


def _rename(parts: list[str], folder: str) -> list[str]:
    if len(parts) < 2:
        return [_word(folder), *parts]
    at = _draw("name" + folder, len(parts) - 1)
    return [*parts[:at], _word(folder), *parts[at + 1 :]]


def _put_in_two(parts: list[str], folder: str) -> list[str]:
    return _put_in_last(_put_in(parts, folder), folder + "/")


def _date(parts: list[str], folder: str) -> list[str]:
    """Dated directories where there are none, none where there are; the day is the page's own."""
    undated = [part for part in parts[:-1] if not _DATE.fullmatch(part)]
    if len(undated) < len(parts) - 1:
        return [*undated, parts[-1]]
    page = folder + parts[-1]
    return [
        *parts[:-1],
        str(2004 + _draw("year" + page, 20)),
        f"{1 + _draw('month' + page, 12):02}",
        parts[-1],
    ]


def _move_language(parts: list[str], folder: str) -> list[str]:
    """The directory of a language at the other end, or left out; elsewhere the directories stay."""
    codes = [part for part in parts[:-1] if _LANGUAGE.match(part)]
    others = [part for part in parts[:-1] if part not in codes]
    if not codes:
        return parts
    ways = ([*codes, *others], [*others, *codes], others)
    return [*ways[_draw("language" + folder, 3)], parts[-1]]


_HOSTS: tuple[Callable[[str], str], ...] = (
    lambda host: host,
    lambda host: host,
    lambda host: host.removeprefix("www.") if host.startswith("www.") else f"www.{host}",
    lambda host: f"archive.{host.removeprefix('www.')}",
    lambda host: f"{host.removeprefix('www.').partition('.')[0]}-site.example",
)
_DIRECTORY_CHANGES: tuple[Callable[[list[str], str], list[str]], ...] = (
    lambda parts, _: parts,
    _put_in,
    _put_in_last,
    _leave_out,
    _rename,
    _put_in_two,
    _date,
    _move_language,
)
_STYLES: tuple[Callable[[str], str], ...] = (
    lambda part: part,
    lambda part: part.lower(),
    lambda part: _SEPARATORS.sub("-", part),
    lambda part: _SEPARATORS.sub("-", part).lower(),
)
_ENDS = ("", "", "/", ".html", ".htm", ".php", "/index.html")


def _own_name(name: str, old: str) -> str:
    """The page's own name, which two pages in five change."""
    words = [word for word in _SEPARATORS.split(name) if word]
    lot = _draw("name of " + old, 16)
    if lot == 0 and len(words) > 1:
        gone = _draw(old, len(words))
        return "_".join(words[:gone] + words[gone + 1 :])
    if lot == 1:
        return f"{name}_{_word(old)}"
    if lot in (2, 3):
        return f"{name}_{_word(old)}_{_word('other' + old)}"
    if lot == 4:
        return f"{_draw('id' + old, 90_000) + 1000}-{name}"
    if lot == 5:
        return f"{name}-{_draw('id' + old, 90_000) + 1000}"
    if lot == 6:
        return f"{2004 + _draw('year' + old, 20)}-{1 + _draw('month' + old, 12):02}-{name}"
    return name


def _word(text: str) -> str:
    return _WORDS[_draw("word" + text, len(_WORDS))]


def _draw(text: str, sides: int) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest) % sides
