"""Which of several stored responses for a URL may answer a request (RFC 9111 4.1).

A response with Vary answers requests whose named fields are the same after normalisation: lines joined, white space
around commas gone; for Accept-Encoding and Accept-Language also case, order and `q=1`. Two further ways widen
what may be reused without giving anyone what they did not ask for: a stored content coding that the request lists
is good for it, and so is a stored language that the request prefers to all others.
"""

from collections.abc import Iterable, Sequence

from proxy.cache.entry import CacheRequest, Headers, StoredResponse, values
from proxy.cache.fields import members, split_list
from proxy.cache.personal import any_personal

_UNORDERED = frozenset({"accept-encoding", "accept-language"})


def vary_names(headers: Headers) -> tuple[str, ...]:
    """The lower-case names in Vary, sorted; `*` among them when the response suits no other request."""
    return tuple(sorted({name.lower() for name in members(headers, "vary")}))


def selecting_fields(request: CacheRequest, headers: Headers) -> Headers:
    """The request's fields that Vary names, normalised; those that the request lacks are left out."""
    found = ((name, _normal(request.headers, name)) for name in vary_names(headers))
    return tuple((name, value) for name, value in found if value is not None)


def select(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """The stored response that answers the request: an exact match if there is one, else a fitting one."""
    for match in (_same, _fits):
        for stored in variants:
            names = vary_names(stored.headers)
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
    codings = {coding.lower() for coding in members(stored.headers, "content-encoding")} - {"identity"}
    return codings <= _accepted(request.headers, "accept-encoding").keys()


def _same(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    return _normal(request.headers, name) == dict(stored.vary).get(name)


def _fits(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    if _same(request, stored, name):
        return True
    if name == "accept-encoding":
        return _coding_fits(request, stored)
    if name == "accept-language":
        return _language_fits(request, stored)
    return False


def _coding_fits(request: CacheRequest, stored: StoredResponse) -> bool:
    if members(stored.headers, "content-encoding"):
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
    parts = split_list(",".join(lines))
    if name in _UNORDERED:
        parts = sorted(f"{item};q={q:g}" for item, q in _weights(parts).items())
    return ",".join(parts)


def _accepted(headers: Iterable[tuple[str, str]], name: str) -> dict[str, float]:
    """What the field names with a weight above zero."""
    return {item: q for item, q in _weights(members(headers, name)).items() if q > 0}


def _weights(parts: Iterable[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in parts:
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
