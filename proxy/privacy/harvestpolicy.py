"""What may enter the collection that everyone searches: nothing personal (DESIGN, principle 2).

Each rule can only refuse. A document asked for with a Cookie may still be the same for everyone. Two things show it:
its site says so (`public`, `s-maxage`), or exactly the same bytes were also sent to a request without any Cookie.
Another Cookie proves nothing: sessions renew their value, and a whole class may share a page that only they may see.
Which addresses carry a secret is told by `repair.secreturls` alone.
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from proxy.cache.entry import CacheRequest, Headers, values
from proxy.cache.fields import has
from proxy.cache.harmless import is_plain_request
from proxy.cache.personal import personal_fields
from repair.secreturls import has_secret, without_secret

_DIRECTIVE = re.compile(r"([\w\-]+)\s*(?:=\s*(?:\"[^\"]*\"|[^\s,\"]*))?")

is_personal_url = has_secret
shareable_url = without_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a document may enter the collection; `reason` is a few words for the log."""

    allowed: bool
    reason: str


def may_harvest(
    request: CacheRequest,
    response_headers: Headers,
    *,
    status: int,
    seen_without_cookie: bool,
    harmless: tuple[str, ...] = (),
) -> Verdict:
    """Whether the answer to this request may enter the collection, as far as its headers and address tell.

    `seen_without_cookie` is what `SeenContent.note` said of its content. `noindex` is the Document's to tell.
    `harmless` are request fields that an admin declares so (`cache.harmless_fields`).
    """
    refusal = _refusal(request, response_headers, status, harmless) or _cookie_refusal(
        request, response_headers, seen_without_cookie
    )
    return Verdict(allowed=False, reason=refusal) if refusal else Verdict(allowed=True, reason="shareable")


def _refusal(request: CacheRequest, response_headers: Headers, status: int, harmless: tuple[str, ...]) -> str:
    """The first rule that forbids it whatever the cookies, or ""."""
    rules = _rules(request, response_headers, status, harmless)
    return next((reason for applies, reason in rules if applies), "")


def _rules(
    request: CacheRequest, response_headers: Headers, status: int, harmless: tuple[str, ...]
) -> Iterator[tuple[bool, str]]:
    """What forbids it, one after the other, what is quick to tell and common first."""
    said = directives(response_headers)
    yield request.method != "GET", "method is not GET"
    yield status != 200, "status is not 200"
    yield "private" in said, "response is private"
    yield "no-store" in said, "response is no-store"
    yield has(response_headers, "set-cookie"), "response sets a cookie"
    yield bool(personal_fields(request.headers) - {"cookie"}), "request says who is asking"
    yield "no-store" in directives(request.headers), "request says no-store"
    yield "*" in _varies_on(response_headers), "response varies on everything"
    yield not is_plain_request(request.headers, also=harmless), "request has a field that may bend the page"
    yield is_personal_url(request.url), "address carries a session, a token or a name"


def _cookie_refusal(request: CacheRequest, response_headers: Headers, seen_without_cookie: bool) -> str:
    """Why a document asked for with a Cookie stays out, or "".

    Without a Cookie, `Vary: Cookie` is harmless: this is the answer that everyone without one gets.
    """
    if not values(request.headers, "cookie") or seen_without_cookie:
        return ""
    if "cookie" in _varies_on(response_headers):
        return "response varies on the cookie sent"
    if directives(response_headers) & {"public", "s-maxage"}:
        return ""
    return "request with a cookie"


def directives(headers: Headers) -> set[str]:
    """The names of Cache-Control directives, in lower case, whatever their arguments (`private="x"` is private)."""
    return {
        found[1].lower()
        for line in values(headers, "cache-control")
        for found in _DIRECTIVE.finditer(line[:2000])
    }


def _varies_on(headers: Headers) -> set[str]:
    return {name.strip().lower() for line in values(headers, "vary") for name in line[:2000].split(",")}


class SeenContent:
    """A bounded memory of which content of which address was sent to a request without any cookie.

    Only hashes under a key of this process are kept, and nothing of cookies. Not safe in threads.
    """

    def __init__(self, max_entries: int = 100_000) -> None:
        self._max_entries = max_entries
        self._key = secrets.token_bytes(32)
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def note(self, url: str, body_digest: bytes, cookie: str | None) -> bool:
        """Note one sighting; whether this content at this address is known to be sent without cookies too.

        `body_digest` is a digest of all that may enter the collection: of the whole body where copies are kept.
        `cookie` is the Cookie header; None or "" when there was none.
        """
        name = blake2b(
            url.encode("utf-8", "replace") + b"\0" + body_digest, key=self._key, digest_size=16
        ).digest()
        if name in self._seen or not cookie:
            self._seen[name] = None
            self._seen.move_to_end(name)
            if len(self._seen) > self._max_entries:
                self._seen.popitem(last=False)
            return True
        return False
