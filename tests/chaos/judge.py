"""The invariants of one exchange: the answer is right, marked as stale, or linkmend's own page."""

import gzip
import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.excuses import Excuses
from tests.chaos.lessons import label_of, lesson
from tests.chaos.wire import Answer

_ROUNDING_S = 6.0  # whole seconds of Age, a busy machine, and a client that waited for another's request
_SETTLED_S = 3.0  # until Squid and linkmend have written their logs
_MOST_COMPLAINTS = 60
_PUPIL = re.compile(rb"pupil[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request, its client, and its start (`time.monotonic()`)."""

    url: str
    path: str
    method: str
    who: str
    began: float
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return re.split("[/?]", self.path)[1]

    def __str__(self) -> str:
        took_s = time.monotonic() - self.began
        return f"{self.method} {self.url} for {self.who} with {self.headers}, {took_s:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Suspicion:
    """A complaint that waits until the logs are written: it is dropped if Squid logged a failure of its own."""

    what: str
    at: float
    exchange: Exchange | None
    may_be_squid: bool


@dataclass(slots=True, kw_only=True)
class Judge:
    """Counts the answers by kind and collects the complaints. `trace` describes the events around an exchange."""

    excuses: Excuses
    clock_is_true: bool
    trace: Callable[[str, float, float], str] = lambda path, began, ended: ""
    began: float = field(default_factory=time.monotonic)
    answers: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    more_complaints: int = 0
    _suspicions: deque[_Suspicion] = field(default_factory=deque)

    def complain(self, what: str, exchange: Exchange | None = None, *, may_be_squid: bool = False) -> None:
        told = f"{what}: {exchange}" if exchange else what
        now = time.monotonic()
        suspicion = _Suspicion(what=told, at=now, exchange=exchange, may_be_squid=may_be_squid)
        self._suspicions.append(suspicion)

    def settle(self, *, all_of_it: bool = False) -> None:
        """Turn suspicions that are old enough into complaints."""
        while self._suspicions:
            suspicion = self._suspicions[0]
            if not all_of_it and suspicion.at > time.monotonic() - _SETTLED_S:
                return
            self._suspicions.popleft()
            asked = suspicion.exchange
            if asked and suspicion.may_be_squid and self.excuses.squid_failed(asked.url, asked.began):
                self.answers["Squid's fault, by its own log"] += 1
            elif len(self.complaints) < _MOST_COMPLAINTS:
                self.complaints.append(self._told(suspicion))
            else:
                self.more_complaints += 1

    def _told(self, suspicion: _Suspicion) -> str:
        asked = suspicion.exchange
        began = asked.began if asked else suspicion.at - _SETTLED_S
        trace = self.trace(asked.path if asked else "", began, suspicion.at)
        return f"at {suspicion.at - self.began:.1f} s: {suspicion.what}\n{trace}".rstrip()

    def unanswered(self, exchange: Exchange, why: str) -> None:
        self.answers["cut off"] += 1
        if not self.excuses.may_be_cut(exchange.url, exchange.began):
            self.complain(f"cut off for no reason ({why})", exchange, may_be_squid=True)

    def hung(self, exchange: Exchange, *, has_begun: bool) -> None:
        """A client waited too long. A streamed body may pause as long as the site pauses."""
        self.answers["given up"] += 1
        if not (has_begun and self.excuses.was_bad(exchange.url, exchange.began)):
            self.complain(f"a hang {'in the body' if has_begun else 'before the answer'}", exchange)

    def answered(self, exchange: Exchange, answer: Answer) -> None:
        kind, fault = self._leaked(exchange, answer) or self._judged(exchange, answer)
        self.answers[kind] += 1
        if fault:
            seen = {name: value for name, value in answer.headers if name != "content-security-policy"}
            told = f"{fault} ({answer.status} {seen} {answer.body[:120]!r})"
            self.complain(told, exchange, may_be_squid=kind.startswith(("miss", "status", "Squid")))

    def _leaked(self, exchange: Exchange, answer: Answer) -> tuple[str, str] | None:
        """The complaint when an answer names another client, as each personal page and cookie does; else None."""
        seen = answer.get("set-cookie").encode() + plain(answer)[:100_000]
        others = set(_PUPIL.findall(seen)) - {exchange.who.encode()}
        if others:
            return "another's data", f"something of {min(others).decode()}"
        return None

    def _judged(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        """The kind of an answer, and what is wrong with it."""
        if b"EVIL SMUGGLE" in answer.body[:200]:
            return "smuggled", "an answer that a site smuggled in"
        if answer.get("linkmend-miss"):
            return self._own(exchange, answer)
        if exchange.kind in ("search", ".well-known"):
            return self._served_by_linkmend(exchange, answer)
        if answer.get("x-chaos"):
            is_same = exchange.url in self.excuses.site.troubled_at
            return "as bad as the site said", "" if is_same else "somebody else's bad answer"
        if exchange.kind == "forbidden":
            return "blocked", "" if answer.status == 403 else "a forbidden page"
        if answer.get("x-squid-error"):
            return "Squid's page", "" if self._may_fail(exchange) else "an error for no reason"
        if exchange.kind in ("loop", "echo"):
            is_due = answer.status == (302 if exchange.kind == "loop" else 200)
            return exchange.kind, "" if is_due or self._may_fail(exchange) else f"no {exchange.kind}"
        return self._of_the_site(exchange, answer)

    def _own(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        miss = answer.get("linkmend-miss")
        is_due = exchange.kind == "lost" if miss == "not_found" else self._may_fail(exchange)
        if not is_due:
            return f"miss: {miss}", "a miss for no reason"
        if miss == "not_found" and answer.status != 404:
            return f"miss: {miss}", "a miss with another status"
        if "no-store" not in answer.get("cache-control"):
            return f"miss: {miss}", "a miss that may be stored"
        return f"linkmend's page: {miss}", _torn_page(exchange, answer)

    def _served_by_linkmend(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        if answer.status >= 500:
            # A busy backend is no fault, as long as the page says so.
            is_honest = answer.status == 503 and not _torn_page(exchange, answer)
            return "linkmend's page: busy", "" if is_honest else "no search and no honest word"
        if b"/own/" in answer.body:
            return "another's data", "a page of one's own among what is found"
        return f"linkmend's {exchange.kind}", _torn_page(exchange, answer) if answer.status == 200 else ""

    def _of_the_site(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        if answer.status == 304:
            return self._unchanged(exchange, answer)
        if answer.status == 206:
            return self._part(exchange, answer)
        expected = 404 if exchange.kind == "lost" else 200
        if answer.status != expected:
            return f"status {answer.status}", "" if self._may_fail(exchange) else "another status"
        if exchange.method == "HEAD":
            return "head", ""
        body = plain(answer)
        label = label_of(body)
        if label is None:
            return "torn", f"a torn body of {len(body)} bytes, presented as complete"
        if label.url != exchange.url:
            return "another page", f"the page {label.url}"
        if label.who not in ("", exchange.who):
            return "another's page", f"the page of {label.who}"
        return self._aged(exchange, answer, label.version)

    def _unchanged(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        tag = exchange.headers.get("If-None-Match", "")
        if not tag:
            return "unasked 304", "a 304 to who has nothing"
        if answer.get("etag") not in ("", tag):
            return "another's 304", f"a 304 with {answer.get('etag')}"
        kind, fault = self._aged(exchange, answer, int(re.sub(r"[^0-9].*", "", tag.strip('"'))))
        return f"304, {kind}", fault

    def _part(self, exchange: Exchange, answer: Answer) -> tuple[str, str]:
        """Check a partial answer: it must be a piece of one version."""
        place = re.fullmatch(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)", answer.get("content-range"))
        if "Range" not in exchange.headers or place is None:
            return "unasked 206", "a part that nobody asked for"
        first, last, size = map(int, place.groups())
        version = int(re.sub(r"[^0-9].*", "", answer.get("etag").strip('"')) or 0)
        whole = lesson(exchange.url, version)
        if len(whole) != size or whole[first : last + 1] != answer.body:
            return "torn", f"a part that is not of version {version}"
        kind, fault = self._aged(exchange, answer, version)
        return f"206, {kind}", fault

    def _aged(self, exchange: Exchange, answer: Answer, version: int) -> tuple[str, str]:
        said_at = self.excuses.site.said_at.get((exchange.url, version))
        if said_at is None:
            return "unheard of", f"version {version}, which was never said"
        age_s = int(answer.get("age") or 0)
        status = answer.get("cache-status")
        allowed = re.search(r"max-age=(\d+)", answer.get("cache-control"))
        is_stale = allowed is not None and age_s > int(allowed[1])
        if self.clock_is_true and said_at < exchange.began - age_s - _ROUNDING_S:
            older_s = exchange.began - said_at
            return "staler than it says", f"version {version} is {older_s:.0f} s old, not {age_s}"
        if is_stale and "hit" in status and "ttl=-" not in status:
            return "stale, unmarked", f"it is {age_s} s old, and not marked as stale"
        if is_stale:
            return "honestly stale", ""
        return "right, from the cache" if ";hit" in status else "right", ""

    def _may_fail(self, exchange: Exchange) -> bool:
        return exchange.kind == "bad" or self.excuses.may_fail(exchange.url, exchange.began)


def plain(answer: Answer) -> bytes:
    """The decompressed body; empty when it is damaged or far too large."""
    if answer.get("content-encoding") != "gzip" or answer.get("x-chaos"):
        return answer.body
    try:
        return gzip.decompress(answer.body)
    except (OSError, EOFError):
        return b""


def _torn_page(exchange: Exchange, answer: Answer) -> str:
    """What is wrong with the form of a page made by linkmend."""
    body = plain(answer)
    if exchange.method == "HEAD":
        return ""
    if "json" in answer.get("content-type"):
        try:
            json.loads(body)
        except ValueError:
            return "JSON that is none"
        return ""
    if "text/plain" in answer.get("content-type"):  # for requests that are not for a page
        return "" if body.endswith(exchange.url.encode() + b"\n") else "half a note of linkmend's own"
    is_whole_page = exchange.kind == ".well-known" or body.rstrip().endswith(b"</html>")
    return "" if is_whole_page else "half a page of linkmend's own"
