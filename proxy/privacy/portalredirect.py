"""The way round by the portal, which only a person's navigation can go (pure).

A repair page is answered under the address of the site that misses the page, so a script of that site could ask for
it and read it: what is held here is none of its business. Where browsers say how a request came about (Sec-Fetch-*),
scripts are told apart by that. They do not say it to sites on plain http, and every other header of a navigation a
script can imitate. What it cannot do is follow a redirect to another origin and still read the answer: the CORS check
fails, or the response is opaque, also when the way leads back (Fetch standard, sections 4.1 and 4.4). So whoever may
be a script is sent round:

    http://site/missing  ──303──►  http://linkmend.internal/.well-known/linkmend/detour?to=...
                                           │ 303
                                           ▼
                                   http://site/missing?linkmend-way=SEAL  ──►  the repair page

On https there may be a service worker of the site, which reads what comes back under its address. There the way ends
at the portal, where sites have no workers, and the repair page is shown there (`Missed.at_portal`).

The seal is in a redirect, which no script can read, and says all that is needed to answer without asking the site
again. It is good for one client, one address and a minute. The script of our page takes it out of the address bar.
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

from proxy.cache.entry import Headers
from proxy.failures import Failure
from proxy.portal.helper import DETOUR_PATH, MAX_DETOUR, PORTAL_HOST
from repair.model import MissKind

MARK = "linkmend-way="
_MAX_SEAL = 6_000
_MARKED = re.compile(r"[?&]" + MARK + rf"([A-Za-z0-9_.-]{{1,{_MAX_SEAL}}})$")
_GOOD_FOR_S = 60.0
_MAX_URL = 2_000
_MAX_TEXT = 1_000
_SUM_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """What is known of a miss when its reader is sent round.

    `headers` are those of the site's answer that the repair page keeps, `missed` the address that was asked for when
    redirects led on from there, else empty.
    """

    kind: MissKind
    status: int
    miss_id: str
    headers: Headers = ()
    referrer: str = ""
    missed: str = ""
    failure: Failure | None = None
    at_portal: bool = False
    """Whether the repair page is shown at the portal, not under the address that is missing."""
    ask: bool | None = None
    """At the portal: whether archives may be asked, None that they may not even be looked up."""


class Detours:
    """Seals and opens what goes round; all workers have the same key, and it dies with them."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def way(self, url: str, client: str, missed: Missed) -> str | None:
        """Where to send the client first; None for what is too long to go round."""
        if len(url) > _MAX_URL:
            return None
        payload = json.dumps([self._clock() + _GOOD_FOR_S, *_told(missed)]).encode("ascii")
        seal = f"{_text(payload)}.{_text(self._sum(url, client, payload))}"
        back = f"{url}{'&' if '?' in url else '?'}{MARK}{seal}"
        if len(seal) > _MAX_SEAL or len(back) > MAX_DETOUR:
            return None
        return f"{urlsplit(url).scheme}://{PORTAL_HOST}{DETOUR_PATH}?{urlencode({'to': back})}"

    def arrived(self, url: str, seal: str, client: str) -> Missed | None:
        """What was sealed for this client and address; None when it was not, or too long ago."""
        try:
            payload, told_sum = map(_bytes, seal.split(".", 1))
        except (ValueError, binascii.Error):
            return None
        if not hmac.compare_digest(self._sum(url, client, payload), told_sum):
            return None
        good_until, *told = json.loads(payload)
        return _missed(told) if self._clock() <= good_until else None

    def is_ours(self, url: str, seal: str, client: str) -> bool:
        """Whether we sealed this for the client, however long ago."""
        try:
            payload, told_sum = map(_bytes, seal.split(".", 1))
        except (ValueError, binascii.Error):
            return False
        return hmac.compare_digest(self._sum(url, client, payload), told_sum)

    def _sum(self, url: str, client: str, payload: bytes) -> bytes:
        said = b"\0".join((client.encode("utf-8", "replace"), url.encode("utf-8", "replace"), payload))
        return hashlib.blake2b(said, key=self._key, digest_size=_SUM_BYTES).digest()


def unmarked(address: str) -> tuple[str, str | None]:
    """An address or path without our mark, and the seal in that, if there is one."""
    found = _MARKED.search(address) if MARK in address else None
    return (address[: found.start()], found[1]) if found else (address, None)


def _told(missed: Missed) -> list[object]:
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


def _missed(told: list[Any]) -> Missed:
    kind, status, miss_id, headers, referrer, missed, failure, at_portal, ask = told
    return Missed(
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
