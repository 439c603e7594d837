"""The portal redirect, which only a user's navigation can follow (pure).

A repair page appears under the address of the missing page's site. So a script of that site could fetch it and read
which pages are saved here. Sec-Fetch-* tells scripts from navigations, but browsers do not send it to plain http
sites, and a script can imitate every other header of a navigation. A script cannot follow a redirect to another
origin and still read the response: the CORS check fails, or the response is opaque, also when it redirects back
(Fetch standard, sections 4.1 and 4.4). So a request that may come from a script is redirected:

    http://site/missing  ──303──►  http://linkmend.internal/.well-known/linkmend/detour?to=...
                                           │ 303
                                           ▼
                                   http://site/missing?linkmend-way=SEAL  ──►  the repair page

On https the site may have a service worker, which reads every response under the site's address. Then the redirect
ends at the portal, where sites have no service workers, and the repair page is shown there (`at_portal`).

The seal is in a redirect, which no script can read. It holds all data of the repair page, so that linkmend need not
ask the site again. It is valid for one client, one address and one minute. The script of our page removes it from the
address bar.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from proxy.failures import Failure
from proxy.messages import Headers
from proxy.portal.addresses import DETOUR_PATH, MAX_DETOUR, PORTAL_HOST
from repair.model import MissKind

MARK = "linkmend-way="
_MAX_SEAL = 6_000
_MARKED = re.compile(r"[?&]" + MARK + rf"([A-Za-z0-9_.-]{{1,{_MAX_SEAL}}})$")
_GOOD_FOR_S = 60.0
_MAX_URL = 2_000
_MAX_TEXT = 1_000
_SUM_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectedMiss:
    """A miss whose user gets the portal redirect.

    `headers` are those of the site's response that the repair page keeps. `missed` is the requested address if
    redirects led to another, else empty.
    """

    kind: MissKind
    status: int
    miss_id: str
    headers: Headers = ()
    referrer: str = ""
    missed: str = ""
    failure: Failure | None = None
    at_portal: bool = False
    """Whether the repair page is shown at the portal, not under the missing address."""
    ask: bool | None = None
    """At the portal: whether archives may be queried; None if not even their stored answers may be used."""


class PortalRedirects:
    """Makes and opens seals; all workers share the key, which is never written to disk."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def redirect_url(self, url: str, client: str, missed: RedirectedMiss) -> str | None:
        """The portal address to redirect the client to; None if the data is too long."""
        if len(url) > _MAX_URL:
            return None
        payload = json.dumps([self._clock() + _GOOD_FOR_S, *_to_values(missed)]).encode("ascii")
        seal = f"{_text(payload)}.{_text(self._sum(url, client, payload))}"
        back = f"{url}{'&' if '?' in url else '?'}{MARK}{seal}"
        if len(seal) > _MAX_SEAL or len(back) > MAX_DETOUR:
            return None
        return f"{urlsplit(url).scheme}://{PORTAL_HOST}{DETOUR_PATH}?{urlencode({'to': back})}"

    def open_seal(self, url: str, seal: str, client: str) -> RedirectedMiss | None:
        """The miss in a seal for this client and address; None when the seal is invalid or too old."""
        try:
            payload, given_sum = map(_bytes, seal.split(".", 1))
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(self._sum(url, client, payload), given_sum):
            return None
        good_until, *values = json.loads(payload)
        return _from_values(values) if self._clock() <= good_until else None

    def is_ours(self, url: str, seal: str, client: str) -> bool:
        """Whether the seal is valid for this client and address, at any age."""
        try:
            payload, given_sum = map(_bytes, seal.split(".", 1))
        except (ValueError, binascii.Error):
            return False
        return hmac.compare_digest(self._sum(url, client, payload), given_sum)

    def _sum(self, url: str, client: str, payload: bytes) -> bytes:
        message = b"\0".join((client.encode("utf-8", "replace"), url.encode("utf-8", "replace"), payload))
        return hashlib.blake2b(message, key=self._key, digest_size=_SUM_BYTES).digest()


def split_mark(address: str) -> tuple[str, str | None]:
    """An address or path without our mark, and the seal in the mark, if there is one."""
    found = _MARKED.search(address) if MARK in address else None
    return (address[: found.start()], found[1]) if found else (address, None)


def _to_values(missed: RedirectedMiss) -> list[object]:
    failure = missed.failure
    return [
        missed.kind.value,
        missed.status,
        missed.miss_id,
        [(name, value) for name, value in missed.headers if len(value) <= _MAX_TEXT],
        missed.referrer if len(missed.referrer) <= _MAX_TEXT else "",
        missed.missed if len(missed.missed) <= _MAX_TEXT else "",
        failure and (failure.kind.value, failure.error, failure.status, failure.detail[:200], failure.fault),
        missed.at_portal,
        missed.ask,
    ]


def _from_values(values: list[Any]) -> RedirectedMiss:
    kind, status, miss_id, headers, referrer, missed, failure, at_portal, ask = values
    return RedirectedMiss(
        kind=MissKind(kind),
        status=status,
        miss_id=miss_id,
        headers=tuple((name, value) for name, value in headers),
        referrer=referrer,
        missed=missed,
        failure=_failure(*failure) if isinstance(failure, list) else None,
        at_portal=at_portal,
        ask=ask,
    )


def _failure(kind: str, error: str, status: int, detail: str, fault: str) -> Failure:
    return Failure(kind=MissKind(kind), error=error, status=status, detail=detail, fault=fault)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
