"""Whether what a client got is right, honestly stale, or linkmend's own page: the invariants of one exchange."""

import gzip
import math
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.lessons import Label, label_of
from tests.chaos.site import Site
from tests.chaos.wire import Answer

_ROUNDING_S = 6.0  # whole seconds of Age, a busy machine, and a reader who waited for another's request
_AFTERMATH_S = 5.0
_REMEMBERED_S = 45.0  # a site that failed is spared for 30 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was asked by whom, and how long it took."""

    url: str
    path: str
    method: str
    who: str
    began: float

    def __str__(self) -> str:
        return f"{self.method} {self.url} for {self.who}, {time.monotonic() - self.began:.1f} s"


@dataclass(slots=True, kw_only=True)
class Judge:
    """Counts the answers by kind and keeps the complaints."""

    site: Site
    clock_is_true: bool
    began: float = field(default_factory=time.monotonic)
    answers: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    disturbed_until: float = 0.0
    """Until when anybody may be cut off, since a program was killed or a site refused."""

    def disturb(self, seconds: float = _AFTERMATH_S) -> None:
        self.disturbed_until = max(self.disturbed_until, time.monotonic() + seconds)

    def complain(self, what: str) -> None:
        self.complaints.append(f"at {time.monotonic() - self.began:.1f} s: {what}")

    def unanswered(self, exchange: Exchange, why: str) -> None:
        self.answers["cut off"] += 1
        if not self._is_explained(exchange):
            self.complain(f"cut off for no reason: {exchange}: {why}")

    def hung(self, exchange: Exchange, *, has_begun: bool) -> None:
        """A body that is passed on as it comes may rest as long as the site rests."""
        self.answers["given up"] += 1
        if not (has_begun and self._is_explained(exchange)):
            self.complain(f"a hang: {exchange}, {'in the body' if has_begun else 'before the answer'}")

    def answered(self, exchange: Exchange, answer: Answer) -> None:
        kind, fault = self._judged(exchange, answer)
        self.answers[kind] += 1
        if fault:
            seen = {name: value for name, value in answer.headers if name != "content-security-policy"}
            self.complain(f"{fault}: {exchange}: {answer.status} {seen} {answer.body[:120]!r}")

    def _judged(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        """A kind of answer, and what is wrong with it."""
        if b"EVIL SMUGGLE" in answer.body[:200]:
            return "smuggled", "an answer that a site smuggled in"
        if answer.get("linkmend-miss"):
            return self._own(exchange, answer)
        if answer.get("x-chaos"):
            is_same = exchange.url in self.site.troubled_at
            return "as bad as the site said", "" if is_same else "somebody else's bad answer"
        if exchange.path.startswith("/forbidden/"):
            return "blocked", "" if answer.status == 403 else "a forbidden page"
        if answer.get("x-squid-error"):
            return "Squid's page", "" if self._is_explained(exchange) else "an error for no reason"
        if exchange.path.startswith("/loop/"):
            is_due = answer.status == 302 or self._is_explained(exchange)
            return "redirect", "" if is_due else "no redirect"
        return self._of_the_site(exchange, answer)

    def _own(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        miss = answer.get("linkmend-miss")
        is_due = exchange.path.startswith("/lost/") if miss == "not_found" else self._is_explained(exchange)
        return f"linkmend's page: {miss}", "" if is_due else "a miss for no reason"

    def _of_the_site(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        expected = 404 if exchange.path.startswith("/lost/") else 200
        if answer.status != expected:
            return f"status {answer.status}", "" if self._is_explained(exchange) else "another status"
        if exchange.method == "HEAD":
            return "head", ""
        body = answer.body
        if answer.get("content-encoding") == "gzip":
            try:
                body = gzip.decompress(body)
            except (OSError, EOFError):
                return "torn", "a torn body, compressed"
        label = label_of(body)
        if label is None:
            return "torn", f"a torn body of {len(body)} bytes, presented as complete"
        return self._labelled(exchange, answer, label)

    def _labelled(self, exchange: Exchange, answer: Answer, label: Label) -> tuple[str, str]:
        if label.url != exchange.url:
            return "another page", f"the page {label.url}"
        if exchange.path.startswith("/own/") and exchange.who not in (label.who, ""):
            return "another's page", f"the page of {label.who}"
        cookie = answer.get("set-cookie")
        if cookie and cookie != f"seen={exchange.who}":
            return "another's cookie", cookie
        return self._aged(exchange, answer, label)

    def _aged(self, exchange: Exchange, answer: Answer, label: Label) -> tuple[str, str]:
        said_at = self.site.said_at.get((label.url, label.version))
        if said_at is None:
            return "unheard of", f"version {label.version}, which was never said"
        age_s = int(answer.get("age") or 0)
        status = answer.get("cache-status")
        allowed = re.search(r"max-age=(\d+)", answer.get("cache-control"))
        is_stale = allowed is not None and age_s > int(allowed[1])
        if self.clock_is_true and said_at < exchange.began - age_s - _ROUNDING_S:
            older_s = exchange.began - said_at
            return "staler than it says", f"version {label.version} is {older_s:.0f} s old, not {age_s}"
        if is_stale and "hit" in status and "ttl=-" not in status:
            return "stale, unmarked", f"it is {age_s} s old, and not marked as stale"
        if is_stale:
            return "honestly stale", ""
        return "right, from the cache" if ";hit" in status else "right", ""

    def _is_explained(self, exchange: Exchange) -> bool:
        """Whether something happened that may cost this request its answer."""
        troubled_at = self.site.troubled_at.get(exchange.url, -math.inf)
        # Squid keeps nonsense that it took for a page, and answers with it for as long as it likes.
        remembered_s = math.inf if self.site.is_shared_with_squid else _REMEMBERED_S
        return (
            exchange.began < self.disturbed_until
            or troubled_at > exchange.began - remembered_s
            or exchange.path.startswith("/bad/")
        )
