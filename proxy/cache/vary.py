"""Which of several stored responses for a URL may answer a request (RFC 9111 4.1).

A response with Vary answers requests whose named fields are the same after normalisation: lines joined, white space
around commas gone; for Accept-Language also case, order and `q=1`; of Accept-Encoding only what is accepted counts.
Two further ways widen what may be reused without giving anyone what they did not ask for: a stored content coding
that the request lists is good for it, and so is a stored language that the request prefers to all others.

Two fields select even where Vary forgets them: Accept-Encoding where the body is coded, since servers compress
without saying so, and Origin where the response allows one site to read it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from proxy.cache.entry import CacheRequest, Headers, StoredResponse, values
from proxy.cache.fields import has, members, split_list
from proxy.cache.personal import any_personal

MOST_NAMES = 20
"""Names in one Vary; a response with more suits no other request."""
LARGEST_VALUE = 1_000
"""Characters of a selecting field, all its lines joined; longer ones are compared as they are, not read."""
_LONGEST_VARY = 1_000


def vary_names(headers: Headers) -> tuple[str, ...]:
    """The lower-case names in Vary, sorted; `*` among them when the response suits no other request."""
    lines = values(headers, "vary")
    return _names(tuple(lines)) if lines else ()


def selecting_names(headers: Headers) -> tuple[str, ...]:
    """The names in Vary and those that it should have named, sorted."""
    names, implied = vary_names(headers), _implied(headers)
    return tuple(sorted({*names, *implied})) if implied else names


def selecting_fields(request: CacheRequest, headers: Headers) -> Headers:
    """The request's fields that select the response, normalised; those that the request lacks are left out.

    Not so those that Vary forgot: their absence is kept as "", or it could not be told from never having looked.
    """
    named = vary_names(headers)
    found = ((name, _normal(request.headers, name)) for name in selecting_names(headers))
    return tuple((name, value or "") for name, value in found if value is not None or name not in named)


def select(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """The stored response that answers the request: an exact match if there is one, else a fitting one."""
    for match in (_same, _fits):
        for stored in variants:
            names = selecting_names(stored.headers)
            if "*" not in names and all(match(request, stored, name) for name in names):
                return stored
    return None


def nearest(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """The best there is when nobody can be asked: any variant that is nobody's own and that the client can decode."""
    for stored in variants:
        if not is_somebodys(stored) and can_decode(request, stored):
            return stored
    return None


def is_somebodys(stored: StoredResponse) -> bool:
    """Whether a response was chosen by who asked for it, so that no other may ever be given it."""
    return any_personal(vary_names(stored.headers))


def can_decode(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether the request accepts the content coding that the response is stored in."""
    codings = _codings(stored.headers)
    if not codings:
        return True
    weights = _weights_of(request.headers, "accept-encoding")
    otherwise = weights.get("*", 0.0)
    return all(weights.get(coding, otherwise) > 0 for coding in codings)


def _implied(headers: Headers) -> tuple[str, ...]:
    allowed = (
        values(headers, "access-control-allow-origin") if has(headers, "access-control-allow-origin") else ()
    )
    by_origin = ("origin",) if any(value.strip() != "*" for value in allowed) else ()
    return ("accept-encoding", *by_origin) if _codings(headers) else by_origin


def _codings(headers: Headers) -> set[str]:
    if not has(headers, "content-encoding"):
        return set()
    return {coding.lower() for coding in members(headers, "content-encoding")} - {"identity"}


def _same(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    asked, known = _normal(request.headers, name), dict(stored.vary).get(name)
    if name in vary_names(stored.headers):
        return asked == known
    # Implied. Without a note of what was asked it was stored by a version that did not look.
    return known is not None and (asked or "") == known


def _fits(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    if _same(request, stored, name):
        return True
    if name == "accept-encoding":
        return _coding_fits(request, stored)
    if name == "accept-language":
        return _language_fits(request, stored)
    return False


def _coding_fits(request: CacheRequest, stored: StoredResponse) -> bool:
    if _codings(stored.headers):
        return can_decode(request, stored)
    # The origin chose not to compress for a client that offered at least as much as this one.
    offered = _accepted(stored.vary, "accept-encoding")
    return _accepted(request.headers, "accept-encoding").keys() <= offered.keys()


def _language_fits(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether the stored language is liked better by this request than any other it names."""
    languages = {language.lower() for language in members(stored.headers, "content-language")}
    wanted = _accepted(request.headers, "accept-language")
    best = max(wanted.values(), default=0.0)
    return len(languages) == 1 and {name for name, q in wanted.items() if q == best} == languages


def _normal(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    lines = values(headers, name)
    if not lines:
        return None
    text = ",".join(lines)
    return _normal_text(name, text) if len(text) <= LARGEST_VALUE else text


@lru_cache(maxsize=4096)  # browsers say the same with every request
def _normal_text(name: str, text: str) -> str:
    if name == "accept-encoding":
        # How much a coding is liked does not matter, only whether it is taken.
        weights = _weights(text)
        return ",".join(sorted(coding if q > 0 else f"{coding};q=0" for coding, q in weights.items()))
    if name == "accept-language":
        return ",".join(sorted(f"{item};q={q:g}" for item, q in _weights(text).items()))
    return ",".join(split_list(text))


def _accepted(headers: Iterable[tuple[str, str]], name: str) -> dict[str, float]:
    """What the field names with a weight above zero."""
    return {item: q for item, q in _weights_of(headers, name).items() if q > 0}


def _weights_of(headers: Iterable[tuple[str, str]], name: str) -> Mapping[str, float]:
    text = ",".join(values(headers, name))
    return _weights(text) if len(text) <= LARGEST_VALUE else {}


@lru_cache(maxsize=1024)
def _weights(text: str) -> Mapping[str, float]:
    weights: dict[str, float] = {}
    for part in split_list(text):
        item, *parameters = (piece.strip(" \t").lower() for piece in part.split(";"))
        weights[item] = _weight(parameters)
    return weights


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            digits = value.strip()
            plain = digits.replace(".", "", 1)
            return min(float(digits[:5]), 1.0) if plain.isascii() and plain.isdigit() else 0.0
    return 1.0


def _names(lines: tuple[str, ...]) -> tuple[str, ...]:
    return _remembered_names(lines) if sum(map(len, lines)) <= _LONGEST_VARY else ("*",)


@lru_cache(maxsize=1024)
def _remembered_names(lines: tuple[str, ...]) -> tuple[str, ...]:
    # A name has no quotes: none may hide a comma, least of all over the end of a line.
    found = (name.strip(" \t").lower() for line in lines for name in line.split(","))
    names = {name for name in found if name}
    return tuple(sorted(names)) if len(names) <= MOST_NAMES else ("*",)
