"""Selects the stored variant of a URL that may answer a request (RFC 9111 4.1).

A response with Vary answers a request if the fields that Vary names are equal after normalisation. Normalisation
joins lines and drops white space around commas; for Accept-Language it also drops case, order and `q=1`; for
Accept-Encoding only the accepted codings count. Two more matches are safe: a stored content coding that the request
accepts, and a stored language that the request prefers to all others.

Two fields select a variant even if Vary does not name them: Accept-Encoding if the body is encoded, since some
servers compress without saying so, and Origin if the response allows one site to read it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from proxy.headers.fields import has, members, split_list
from proxy.headers.personal import any_personal
from proxy.messages import CacheRequest, Headers, StoredResponse, values

MOST_NAMES = 20
"""Names in one Vary; a response with more matches no other request."""
LARGEST_VALUE = 1_000
"""Characters of a selecting field, all its lines joined; longer values are compared without normalisation."""
_LONGEST_VARY = 1_000


def vary_names(headers: Headers) -> tuple[str, ...]:
    """The lower-case names in Vary, sorted; contains `*` when the response matches no other request."""
    lines = values(headers, "vary")
    return _names(tuple(lines)) if lines else ()


def selecting_names(headers: Headers) -> tuple[str, ...]:
    """The names in Vary and those that it should name, sorted."""
    names, implied = vary_names(headers), _implied_names(headers)
    return tuple(sorted({*names, *implied})) if implied else names


def selecting_fields(request: CacheRequest, headers: Headers) -> Headers:
    """The request's fields that select the response, normalised; without those that the request lacks.

    A missing field that Vary should name is kept as "", which tells it apart from a record that never looked for it.
    """
    named = vary_names(headers)
    found = ((name, _normal(request.headers, name)) for name in selecting_names(headers))
    return tuple((name, value or "") for name, value in found if value is not None or name not in named)


def select(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """The stored response that answers the request: an exact match if there is one, else an acceptable one."""
    for match in (_is_same, _is_acceptable):
        for stored in variants:
            names = selecting_names(stored.headers)
            if "*" not in names and all(match(request, stored, name) for name in names):
                return stored
    return None


def usable_offline(request: CacheRequest, variants: Sequence[StoredResponse]) -> StoredResponse | None:
    """For offline use: any variant that is not personal and that the client can decode."""
    for stored in variants:
        if not is_personal_variant(stored) and can_decode(request, stored):
            return stored
    return None


def is_personal_variant(stored: StoredResponse) -> bool:
    """Whether Vary names a personal field, so that no other user may get the response."""
    return any_personal(vary_names(stored.headers))


def can_decode(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether the request accepts the content coding that the response is stored in."""
    codings = _codings(stored.headers)
    if not codings:
        return True
    weights = _weights_of(request.headers, "accept-encoding")
    otherwise = weights.get("*", 0.0)
    return all(weights.get(coding, otherwise) > 0 for coding in codings)


def _implied_names(headers: Headers) -> tuple[str, ...]:
    allowed = (
        values(headers, "access-control-allow-origin") if has(headers, "access-control-allow-origin") else ()
    )
    by_origin = ("origin",) if any(value.strip() != "*" for value in allowed) else ()
    return ("accept-encoding", *by_origin) if _codings(headers) else by_origin


def _codings(headers: Headers) -> set[str]:
    if not has(headers, "content-encoding"):
        return set()
    return {coding.lower() for coding in members(headers, "content-encoding")} - {"identity"}


def _is_same(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    wanted, known = _normal(request.headers, name), dict(stored.vary).get(name)
    if name in vary_names(stored.headers):
        return wanted == known
    # The name is implied. A record without a value comes from a version that did not look for it.
    return known is not None and (wanted or "") == known


def _is_acceptable(request: CacheRequest, stored: StoredResponse, name: str) -> bool:
    if _is_same(request, stored, name):
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
    offered = _accepted_items(stored.vary, "accept-encoding")
    return _accepted_items(request.headers, "accept-encoding").keys() <= offered.keys()


def _language_fits(request: CacheRequest, stored: StoredResponse) -> bool:
    """Whether this request prefers the stored language to every other one."""
    languages = {language.lower() for language in members(stored.headers, "content-language")}
    wanted = _accepted_items(request.headers, "accept-language")
    best = max(wanted.values(), default=0.0)
    return len(languages) == 1 and {name for name, q in wanted.items() if q == best} == languages


def _normal(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    lines = values(headers, name)
    if not lines:
        return None
    text = ",".join(lines)
    return _normal_text(name, text) if len(text) <= LARGEST_VALUE else text


@lru_cache(maxsize=4096)  # browsers send the same values with every request
def _normal_text(name: str, text: str) -> str:
    if name == "accept-encoding":
        # The weight of a coding does not matter, only whether the client accepts it.
        weights = _weights(text)
        return ",".join(sorted(coding if q > 0 else f"{coding};q=0" for coding, q in weights.items()))
    if name == "accept-language":
        return ",".join(sorted(f"{item};q={q:g}" for item, q in _weights(text).items()))
    return ",".join(split_list(text))


def _accepted_items(headers: Iterable[tuple[str, str]], name: str) -> dict[str, float]:
    """The items of the field with a weight above zero."""
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
    return _parse_names(lines) if sum(map(len, lines)) <= _LONGEST_VARY else ("*",)


@lru_cache(maxsize=1024)
def _parse_names(lines: tuple[str, ...]) -> tuple[str, ...]:
    # Names have no quotes: a quote must not hide a comma.
    found = (name.strip(" \t").lower() for line in lines for name in line.split(","))
    names = {name for name in found if name}
    return tuple(sorted(names)) if len(names) <= MOST_NAMES else ("*",)
