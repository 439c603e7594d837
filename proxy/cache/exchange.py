"""Exchange: one request on its way through the cache, from its arrival to the end of its answer, as a state machine.

The hooks (addons/cache.py) report what happens as events; `Exchange.handle` moves on by the table below, and raises
`IllegalTransition` for an event that the state does not allow. So it can be read in one place what may follow what.

    LOOKING_UP <-> WAITING_FOR_LEADER                          SERVING_STORED, REFUSED
        |  \\-> ASKING_AHEAD -> (served, or forwarded)                  ^
        v                                                              | (served from the store, after all)
    FORWARDED, REVALIDATING, BYPASSING -> PASSING, BUFFERING, SPOOLING, NOT_MODIFIED -> DONE

What is a state, and what is not:

- A state says what the exchange does now, and so what may happen next. What is only told in Cache-Status (why it was
  sent on, whether it waited for another) is data, and so is what holds in several states: whether others wait for
  this one, whether the store has a part in it.
- BYPASSING is apart from FORWARDED because nothing of it may be stored: the table has no way from it to BUFFERING or
  SPOOLING.
- Only BUFFERING and SPOOLING end in the store. Whatever speaks against storing on the way (bytes nobody asked for,
  the parent's word that the site was not reached) leads to PASSING, and from there nothing leads back.
- A 304 is an answer to our conditions only in REVALIDATING. In FORWARDED it is an answer to the client's own, and
  passes like any other.
- A stored response may take the place of the origin's answer as long as the client has seen nothing of that: after
  a failure, after an error (stale-if-error), after a 304. So SERVE leads from those states to SERVING_STORED.
- Anything may fail, and everything ends: FAIL and END are allowed in every state but DONE, and stand in no row.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from proxy.cache.status import CacheStatus
from proxy.messages import CacheRequest, FileBody, Headers, StoredResponse

Verdict = StoredResponse | int | None
"""What came of asking about a stored response: what a 304 left of it, another status, or None for no answer."""


class ExchangeState(Enum):
    """What an exchange does."""

    LOOKING_UP = auto()
    """It looks for an answer in the store. Every exchange begins here."""
    WAITING_FOR_LEADER = auto()
    """Another request fetches the same; its answer may do for this one."""
    ASKING_AHEAD = auto()
    """A question of our own asks whether a large stored body still holds."""
    SERVING_STORED = auto()
    """A stored response goes out."""
    REFUSED = auto()
    """Nothing stored may answer, and no site may be contacted: 504."""
    BYPASSING = auto()
    """The request was sent on, and the store has no part in it."""
    FORWARDED = auto()
    """The request was sent on as the client made it."""
    REVALIDATING = auto()
    """The request was sent on under our conditions."""
    NOT_MODIFIED = auto()
    """The origin said 304 to our conditions."""
    PASSING = auto()
    """The origin's answer passes, and is not stored."""
    BUFFERING = auto()
    """mitmproxy holds the answer until it is whole; then it is stored."""
    SPOOLING = auto()
    """The answer is streamed to the client with a copy to a spool, and stored when the last byte has passed."""
    ASKING_AGAIN = auto()
    """The 304 was no answer for this client; a question of our own asks without conditions."""
    FAILED = auto()
    """The origin failed, or the client went away."""
    DONE = auto()


class ExchangeEvent(Enum):
    """What happens to an exchange."""

    BYPASS = auto()
    WAIT = auto()
    LEADER_LANDED = auto()
    ASK_AHEAD = auto()
    SERVE = auto()
    REFUSE = auto()
    FORWARD = auto()
    REVALIDATE = auto()
    CONFIRM = auto()
    """A 304 to our conditions."""
    PASS = auto()
    """The origin's headers are there, and forbid storing. BUFFER and SPOOL: they allow it."""
    BUFFER = auto()
    SPOOL = auto()
    DISCARD = auto()
    """It must not be stored after all."""
    ASK_AGAIN = auto()
    FAIL = auto()
    END = auto()


_S, _E = ExchangeState, ExchangeEvent

TRANSITIONS: Mapping[ExchangeState, Mapping[ExchangeEvent, ExchangeState]] = {
    _S.LOOKING_UP: {
        _E.BYPASS: _S.BYPASSING,
        _E.WAIT: _S.WAITING_FOR_LEADER,
        _E.ASK_AHEAD: _S.ASKING_AHEAD,
        _E.SERVE: _S.SERVING_STORED,
        _E.REFUSE: _S.REFUSED,
        _E.FORWARD: _S.FORWARDED,
        _E.REVALIDATE: _S.REVALIDATING,
    },
    _S.WAITING_FOR_LEADER: {_E.LEADER_LANDED: _S.LOOKING_UP},
    _S.ASKING_AHEAD: {_E.SERVE: _S.SERVING_STORED, _E.FORWARD: _S.FORWARDED},
    _S.BYPASSING: {_E.PASS: _S.PASSING},
    _S.FORWARDED: {_E.PASS: _S.PASSING, _E.BUFFER: _S.BUFFERING, _E.SPOOL: _S.SPOOLING},
    _S.REVALIDATING: {
        _E.CONFIRM: _S.NOT_MODIFIED,
        _E.PASS: _S.PASSING,
        _E.BUFFER: _S.BUFFERING,
        _E.SPOOL: _S.SPOOLING,
    },
    _S.NOT_MODIFIED: {_E.SERVE: _S.SERVING_STORED, _E.ASK_AGAIN: _S.ASKING_AGAIN},
    _S.PASSING: {_E.SERVE: _S.SERVING_STORED},
    _S.BUFFERING: {_E.DISCARD: _S.PASSING},
    _S.SPOOLING: {_E.DISCARD: _S.PASSING},
    _S.FAILED: {_E.SERVE: _S.SERVING_STORED},
    _S.ASKING_AGAIN: {},
    _S.SERVING_STORED: {},
    _S.REFUSED: {},
    _S.DONE: {},
}

AWAITING_ORIGIN = frozenset({_S.BYPASSING, _S.FORWARDED, _S.REVALIDATING})
ANSWERED_BY_ORIGIN = frozenset({_S.NOT_MODIFIED, _S.PASSING, _S.BUFFERING, _S.SPOOLING})
STORING = frozenset({_S.BUFFERING, _S.SPOOLING})


class IllegalTransition(Exception):
    """An event that the state does not allow: a mistake of ours."""


def next_state(state: ExchangeState, event: ExchangeEvent) -> ExchangeState:
    """Where an event leads. Raises IllegalTransition."""
    found = TRANSITIONS[state].get(event)
    if found is not None:
        return found
    if state is not _S.DONE and event is _E.END:
        return _S.DONE
    if state is not _S.DONE and event is _E.FAIL:
        return _S.FAILED
    raise IllegalTransition(f"{event.name} in {state.name}")


class BodySpool(Protocol):
    """What takes a copy of a streamed body (proxy/store/spool.py)."""

    @property
    def size(self) -> int: ...
    def write(self, chunk: bytes) -> None: ...
    def abandon(self) -> None: ...
    async def finish(self) -> bytes | FileBody | None: ...


class RevalidationKind(Enum):
    """Why we send a request of our own to an origin (addons/caching/revalidation.py)."""

    AHEAD = auto()
    """A client waits for the verdict on a large stored body."""
    BEHIND = auto()
    """A stale response was served meanwhile; nobody waits."""
    AGAIN = auto()
    """A client waits for the whole answer."""
    PROOF = auto()
    """Several clients were sent the same bytes, each with a Cookie: are they sent without one, too? Nobody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer:
    """A hit whose body comes from the body server: what that must say, and the headers it goes out under."""

    address: tuple[str, int]
    status: int
    length: int
    headers: Headers


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """The state of one exchange, and what is known of it.

    `request` is what the client sent, before our own conditions were put in. `forward` is why it was sent on, in
    the words of RFC 9211, and None when it was not. `stored` is what our conditions ask about, and what may be
    served (stale-if-error) when the origin fails if it `matches`: if it answers this request even without a 304.
    """

    request: CacheRequest
    requested_at: float
    state: ExchangeState = ExchangeState.LOOKING_UP
    bypasses_store: bool = False
    """Nothing stored answers this request, and nothing of it is stored. The response may be the first to say so."""
    offline: bool = False
    """No site may be contacted: linkmend is offline, or a rule says so."""
    leads: bool = False
    """Others wait for this one."""

    # Cache-Status
    forward: str | None = None
    forward_status: int | None = None
    collapsed: bool = False
    """It waited for another request, and got that one's answer."""
    renewed: bool = False
    """The origin's answer changed what is stored."""
    detail: str = ""

    # What is stored
    stored: StoredResponse | None = None
    matches: bool = True
    file: FileAnswer | None = None
    set_cookies: Headers = ()
    """What a 304 to our conditions gave this client, and no other."""

    # The origin's answer
    received_at: float = 0.0
    headers: Headers = ()
    """The origin's headers, before ours were added."""
    unproven: bool = False
    """It is stored only if the same bytes were also sent to a request without a Cookie."""
    digest: "hashlib.blake2b | None" = None
    """Of the body so far, where it is streamed and others may have been sent the same."""
    spool: BodySpool | None = None

    # A question of our own
    own_request: RevalidationKind | None = None
    proves: bytes = b""
    """The digest of the body that PROOF is about: another is not stored."""
    waiter: asyncio.Future[Any] | None = None
    """Gets a `Verdict` from AHEAD; from AGAIN the response, or None when there is none, or one too large to hold."""

    def handle(self, event: ExchangeEvent) -> None:
        """Move to the next state. Raises IllegalTransition."""
        self.state = next_state(self.state, event)

    @property
    def is_storing(self) -> bool:
        return self.state in STORING

    def discard(self) -> None:
        """Store nothing of the origin's answer."""
        if self.spool is not None:
            self.spool.abandon()
        if self.is_storing:
            self.handle(ExchangeEvent.DISCARD)

    def fail(self) -> None:
        if self.spool is not None:
            self.spool.abandon()
        self.detail = "unreachable"
        self.handle(ExchangeEvent.FAIL)

    def cache_status(self) -> CacheStatus:
        """What to tell the client of this exchange."""
        return CacheStatus(
            forward=self.forward,
            forward_status=self.forward_status,
            stored=self.renewed or (self.is_storing and not self.unproven),
            collapsed=self.collapsed,
            detail=self.detail,
        )

    def conclude(self, verdict: Verdict) -> None:
        """Tell the client who waits for a verdict; the first one counts."""
        if self.own_request is RevalidationKind.AHEAD:
            self._tell(verdict)

    def hand_over(self, response: object) -> None:
        """Give the whole answer to the client who waits for it."""
        if self.own_request is RevalidationKind.AGAIN:
            self._tell(response)

    def _tell(self, result: object) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(result)
