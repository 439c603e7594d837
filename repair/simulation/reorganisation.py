"""Simulated reorganisations of a site: new URLs that resemble the old ones, as real renames do.

For each directory one change is drawn from those that sites make: a directory inserted, left out or renamed, all in
lower case, other separators, no suffix; a tenth of the pages also lose a word of their own name or change it. The
draws are hashes of the URL, so that the same folder is always renamed in the same way.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

VERSION = "1"

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
)
_SUFFIX = re.compile(r"(?i)\.(?:html?|php|aspx?)$")
_SEPARATORS = re.compile(r"[_\-+ ]+")


def rename_address(addresses: Sequence[str]) -> dict[str, str]:
    """A new URL for each; all different from each other and from the old ones."""
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
    host, path = re.match(r"(https?://[^/]*)(.*)", old).groups()  # type: ignore[union-attr]
    parts = [unquote(part) for part in path.split("?")[0].split("/") if part]
    if not parts:
        return f"{host}/home"
    folder = "/".join(parts[:-1])
    parts = _DIRECTORY_CHANGES[_draw(folder, len(_DIRECTORY_CHANGES))](parts, folder)
    parts[-1] = _own_name(_SUFFIX.sub("", parts[-1]), old)
    # The style of URLs is the same for the whole site.
    style = _STYLES[_draw(host, len(_STYLES))]
    return f"{host}/" + "/".join(quote(style(part)) for part in parts)


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


_DIRECTORY_CHANGES: tuple[Callable[[list[str], str], list[str]], ...] = (
    _put_in,
    _put_in_last,
    _leave_out,
    _rename,
    _put_in_two,
)
_STYLES: tuple[Callable[[str], str], ...] = (
    lambda part: part,
    lambda part: part.lower(),
    lambda part: _SEPARATORS.sub("-", part),
    lambda part: _SEPARATORS.sub("-", part).lower(),
)


def _own_name(name: str, old: str) -> str:
    """The page's own name, which one in seven pages changes."""
    words = [word for word in _SEPARATORS.split(name) if word]
    lot = _draw("name of " + old, 14)
    if lot == 0 and len(words) > 1:
        gone = _draw(old, len(words))
        return "_".join(words[:gone] + words[gone + 1 :])
    if lot == 1:
        return f"{name}_{_word(old)}"
    return name


def _word(text: str) -> str:
    return _WORDS[_draw("word" + text, len(_WORDS))]


def _draw(text: str, sides: int) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest) % sides
