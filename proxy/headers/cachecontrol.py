"""Cache-Control, parsed leniently where that is harmless and strictly where it sets the freshness lifetime."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from proxy.headers.fields import LARGEST_DELTA_S, seconds, split_list
from proxy.messages import Headers, values

_CACHED_LENGTH = 200
_LARGEST = 4_000
_EXCESSIVE = "no-store, no-cache"
"""What an overlong Cache-Control counts as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDirectives:
    """The directives of one message by lower-case name, each with its arguments in order ("" for none)."""

    by_name: Mapping[str, tuple[str, ...]]

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def delta(self, name: str) -> int | None:
        """The seconds of a directive; None when it is absent.

        A malformed value is 0, and the smallest of several counts: RFC 9111 4.2.1 prefers a stale response.
        """
        arguments = self.by_name.get(name)
        if arguments is None:
            return None
        return min(seconds(argument) or 0 for argument in arguments)

    def has_unqualified(self, name: str) -> bool:
        """Whether a directive occurs without a list of fields (`no-cache`, not only `no-cache="a"`)."""
        return any(not split_list(argument) for argument in self.by_name.get(name, ()))

    def field_names(self, name: str) -> frozenset[str]:
        """The lower-case field names that a directive such as `no-cache="a, b"` lists."""
        arguments = self.by_name.get(name, ())
        return frozenset(field.lower() for argument in arguments for field in split_list(argument))


def response_directives(headers: Headers) -> CacheDirectives:
    """The Cache-Control of a response."""
    return _directives(values(headers, "cache-control"))


def request_directives(headers: Headers) -> CacheDirectives:
    """The Cache-Control of a request; without one, `Pragma: no-cache` counts (RFC 9111 5.4)."""
    lines = values(headers, "cache-control")
    if lines:
        return _directives(lines)
    pragma = [part.lower() for line in values(headers, "pragma") for part in split_list(line[:_LARGEST])]
    return _directives(["no-cache"] if "no-cache" in pragma else [])


def max_stale_s(requested: CacheDirectives) -> int:
    """How stale a response the client accepts; without an argument, any staleness (RFC 9111 5.2.1.2)."""
    if "max-stale" not in requested:
        return 0
    if requested.has_unqualified("max-stale"):
        return LARGEST_DELTA_S
    return requested.delta("max-stale") or 0


def _directives(lines: list[str]) -> CacheDirectives:
    length = sum(map(len, lines))
    if length <= _CACHED_LENGTH:
        return _parse_cached(tuple(lines))
    return _parse(tuple(lines)) if length <= _LARGEST else _parse_cached((_EXCESSIVE,))


def _parse(lines: tuple[str, ...]) -> CacheDirectives:
    by_name: dict[str, list[str]] = {}
    # Line by line, so that an unclosed quotation mark hides nothing in the next line.
    for part in (part for line in lines for part in split_list(line)):
        name, _, argument = part.partition("=")
        by_name.setdefault(name.strip(" \t").lower(), []).append(_unquote(argument.strip(" \t")))
    return CacheDirectives(by_name={name: tuple(arguments) for name, arguments in by_name.items()})


# The same few values come with nearly every response.
_parse_cached = lru_cache(maxsize=1024)(_parse)


def _unquote(argument: str) -> str:
    if len(argument) >= 2 and argument[0] == argument[-1] == '"':
        return argument[1:-1]
    return argument
