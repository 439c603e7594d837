"""Patterns of addresses and content types, matched in linear time.

Regular expressions run on RE2, which never backtracks: no address can make a pattern slow. It has no look-around and
no back references, which make other engines slow. In globs only `*` is special, since `?` begins a query.

Addresses are compared in normal form (repair.text.urls): lower-case host, no default port, no fragment.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import re2

from repair.text import urls

MAX_EXPRESSION = 1000
# Bounds the cost of a match: at worst RE2 steps through its whole program for each character.
_MAX_PROGRAM_BYTES = 1024**2
_MAX_UNION_BYTES = 32 * 1024**2
_MAX_TYPE = 200
_ANY_SCHEME = re.compile(r"http\*://")
_TYPE = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+")


@dataclass(frozen=True, slots=True)
class Glob:
    """A text in which `*` matches anything, split at its stars."""

    parts: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether it matches the whole text; searches each part once, from left to right."""
        if len(self.parts) == 1:
            return text == self.parts[0]
        first, *middle, last = self.parts
        end = len(text) - len(last)
        if end < len(first) or not text.startswith(first) or not text.endswith(last):
            return False
        at = len(first)
        for part in middle:
            at = text.find(part, at, end)
            if at == -1:
                return False
            at += len(part)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlPattern:
    """A glob or regular expression over addresses in normal form."""

    source: str
    matches: Callable[[str], bool]
    host: str = ""
    """The only host it can match, without port; "" for any."""
    exact: tuple[str, ...] = ()
    """The only addresses it can match; empty for any."""
    expression: str = ""
    """The regular expression; "" for globs."""


@dataclass(frozen=True, slots=True)
class ContentTypes:
    """Media types, wildcards among them: `image/*`, `application/*xml`."""

    globs: tuple[tuple[str, Glob], ...]

    def entry_for(self, content_type: str) -> str:
        """The entry that matches a Content-Type header's value; "" for none."""
        kind = content_type[:_MAX_TYPE].partition(";")[0].strip().lower()
        return next((source for source, glob in self.globs if glob.matches(kind)), "")


def regular(source: str) -> UrlPattern:
    """A regular expression that may match anywhere in the address; ValueError, with the reason, if it is invalid."""
    _check_length(source, MAX_EXPRESSION)
    return UrlPattern(source=source, matches=_searcher(source, _MAX_PROGRAM_BYTES), expression=source)


def any_of(expressions: Iterable[str]) -> Callable[[str], bool]:
    """A function that tells whether any of some valid expressions matches an address, in one pass.

    It is always true if there are too many of them for one pass.
    """
    try:
        return _searcher("|".join(f"(?:{each})" for each in expressions), _MAX_UNION_BYTES)
    except ValueError:
        return lambda _: True


def _searcher(expression: str, most_bytes: int) -> Callable[[str], bool]:
    options = re2.Options()
    options.max_mem = most_bytes
    options.log_errors = False
    options.never_capture = True
    try:
        search = re2.compile(expression, options=options).search
    except re2.error as error:
        reason = error.args[0]
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ValueError(f"not a valid regular expression (RE2 syntax): {shown}") from error
    return lambda url: search(url) is not None


def glob(source: str) -> UrlPattern:
    """A glob over the whole address; ValueError, with the reason, if it is invalid.

    `example.org/old/*` means http and https; a leading `*` matches any beginning, as in `*.pdf`.
    """
    _check_length(source, urls.MAX_URL)
    if source.startswith("*"):
        return UrlPattern(source=source, matches=Glob(tuple(source.split("*"))).matches)
    bare = _ANY_SCHEME.sub("", source, count=1)
    forms = tuple(_normal(scheme + bare) for scheme in (("",) if "://" in bare else ("http://", "https://")))
    host = urls.parse(forms[0]).host.strip("[]")
    globs = [Glob(tuple(form.split("*"))) for form in forms]
    return UrlPattern(
        source=source,
        matches=lambda url: any(each.matches(url) for each in globs),
        host="" if "*" in host else host,
        exact=() if "*" in source else forms,
    )


def content_types(sources: Iterable[str]) -> ContentTypes:
    """Media types as written in rules; ValueError, with the reason, if one is invalid."""
    found = []
    for source in sources:
        kind = source.strip().lower()
        if len(kind) > _MAX_TYPE or not _TYPE.fullmatch(kind):
            raise ValueError(f"{source[:80]!r} is not a content type such as text/html or image/*")
        found.append((kind, Glob(tuple(kind.split("*")))))
    return ContentTypes(tuple(found))


def _normal(address: str) -> str:
    try:
        return urls.normal(address)
    except ValueError as error:
        raise ValueError(f"cannot match any address: {error}") from error


def _check_length(source: str, most: int) -> None:
    if len(source) > most:
        raise ValueError(f"expected at most {most} characters, got {len(source)}")
