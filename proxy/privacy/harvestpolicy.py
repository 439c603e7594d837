"""Which pages may enter the collection, which all users search: no personal ones (DESIGN, principle 2).

Each rule can only refuse. A page requested with a Cookie may still be the same for everyone. Two things prove it: its
site says so (`public`, `s-maxage`), or exactly the same bytes were also sent to a request without a Cookie. A
different Cookie proves nothing: sessions renew their cookies, and a page may be for one class only.
`repair.secrets.addresses` decides which addresses contain a secret.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proxy.cache.sharing.harmlessfields import is_plain_request
from proxy.headers.fields import has
from proxy.headers.personal import personal_fields
from proxy.messages import CacheRequest, Headers, values
from repair.secrets.addresses import has_secret

_DIRECTIVE = re.compile(r"([\w\-]+)\s*(?:=\s*(?:\"[^\"]*\"|[^\s,\"]*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestVerdict:
    """Whether a page may enter the collection; `reason` is a few words for the log."""

    allowed: bool
    reason: str


def may_harvest(
    request: CacheRequest,
    response_headers: Headers,
    *,
    status: int,
    seen_without_cookie: bool,
    harmless: tuple[str, ...] = (),
) -> HarvestVerdict:
    """Whether the response may enter the collection, judged by headers and address.

    `seen_without_cookie` is the result of `SeenContent.note`. The Document itself checks `noindex`. `harmless` are
    request fields that an admin declares so (`cache.harmless_fields`).
    """
    refusal = _refusal(request, response_headers, status, harmless) or _cookie_refusal(
        request, response_headers, seen_without_cookie
    )
    return (
        HarvestVerdict(allowed=False, reason=refusal)
        if refusal
        else HarvestVerdict(allowed=True, reason="shareable")
    )


def _refusal(request: CacheRequest, response_headers: Headers, status: int, harmless: tuple[str, ...]) -> str:
    """The first rule besides those about cookies that refuses it, or ""."""
    rules = _rules(request, response_headers, status, harmless)
    return next((reason for applies, reason in rules if applies), "")


def _rules(
    request: CacheRequest, response_headers: Headers, status: int, harmless: tuple[str, ...]
) -> Iterator[tuple[bool, str]]:
    """The refusals in order, cheap and common ones first."""
    cache_control = directives(response_headers)
    yield request.method != "GET", "method is not GET"
    yield status != 200, "status is not 200"
    yield "private" in cache_control, "response is private"
    yield "no-store" in cache_control, "response is no-store"
    yield has(response_headers, "set-cookie"), "response sets a cookie"
    yield bool(personal_fields(request.headers) - {"cookie"}), "request says who is asking"
    yield "no-store" in directives(request.headers), "request says no-store"
    yield "*" in _varies_on(response_headers), "response varies on everything"
    yield not is_plain_request(request.headers, also=harmless), "request has a field that may bend the page"
    yield has_secret(request.url), "address carries a session, a token or a name"


def _cookie_refusal(request: CacheRequest, response_headers: Headers, seen_without_cookie: bool) -> str:
    """Why a page requested with a Cookie stays out, or "".

    Without a Cookie, `Vary: Cookie` is harmless: everyone without one gets this response.
    """
    if not values(request.headers, "cookie") or seen_without_cookie:
        return ""
    if "cookie" in _varies_on(response_headers):
        return "response varies on the cookie sent"
    if directives(response_headers) & {"public", "s-maxage"}:
        return ""
    return "request with a cookie"


def directives(headers: Headers) -> set[str]:
    """The names of Cache-Control directives, in lower case, without arguments (`private="x"` is private)."""
    return {
        found[1].lower()
        for line in values(headers, "cache-control")
        for found in _DIRECTIVE.finditer(line[:2000])
    }


def _varies_on(headers: Headers) -> set[str]:
    return {name.strip().lower() for line in values(headers, "vary") for name in line[:2000].split(",")}
