"""FlowState: everything our addons know about one flow, as one typed object on it.

mitmproxy gives addons a dictionary for notes (`flow.metadata`). We keep one entry there, and declare its fields here:
the identity of the request, which part answered it, the failure, and other results.
"""

import copy
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mitmproxy import http

from proxy.failures import Failure
from proxy.messages import CacheRequest
from proxy.privacy.portalredirect import RedirectedMiss
from proxy.privacy.suppressed import SuppressedPage
from proxy.reach.identity import RequestIdentity
from proxy.rules.model import RuleVerdict
from repair.model import Page
from repair.soft404.detector import Soft404Finding

_KEY = "linkmend"


class AnsweredBy(Enum):
    """Which part of linkmend made a response. A response of the origin has none of these."""

    CACHE = "cache"
    OFFLINE = "offline"
    """Nothing is stored and no site may be contacted."""
    FAILURE = "failure"
    """The origin failed; the page says how."""
    REFUSED = "refused"
    """The request may not go where it wants to, or contradicts itself."""
    RULE = "rule"
    REPAIR = "repair"
    SAVED_COPY = "saved_copy"
    AUTO_REDIRECT = "auto_redirect"
    PORTAL_REDIRECT = "portal_redirect"
    PORTAL_RETURN = "portal_return"
    PORTAL = "portal"
    ADMIN = "admin"


class BufferedBody:
    """A body that is passed on as it comes and kept as well, unless it grows too large to be a document."""

    MAX_BYTES = 8 * 1024 * 1024

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def __call__(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        if self._size <= self.MAX_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()
        return chunk

    def body(self) -> bytes | None:
        """The whole body, once it has passed; None when it was too large."""
        return b"".join(self._chunks) if self._size <= self.MAX_BYTES else None


@dataclass(slots=True, kw_only=True)
class FlowState:
    """What is known of one flow. Addons write their own part; None means not known, or does not apply."""

    # The request. Worked out once, by addons.flows.
    identity: RequestIdentity | None = None
    url: str | None = None
    request: CacheRequest | None = None
    is_navigation: bool | None = None
    original_url: str | None = None
    """The URL the client requested, once the request was pointed elsewhere (parent, body server)."""
    expects_continue: bool = False
    """The client waits for the origin's leave before it sends its body (`Expect: 100-continue`)."""
    is_ambiguous: bool | None = None
    """Origins may read this request in more than one way."""
    goes_by_parent: bool = False
    goes_upstream: bool = False
    """The mode sends the request to another proxy."""
    loop_marks: tuple[str, ...] = ()
    """The marks of other linkmends that the request came with (proxy/reach/loops.py)."""
    was_portal_redirected: bool = False
    """The user was sent by the portal and came back; nobody is sent twice."""
    returned_miss: RedirectedMiss | None = None
    """What they had missed, if the seal was good."""
    redirected_from: str | None = None
    """The missing address from which a rule redirected the user here."""

    # The rules.
    rule_query: tuple[str, str, str] | None = None
    """URL, host and client of the query to the rules, so that it can be repeated for the response."""
    verdict: RuleVerdict | None = None

    # The exchange with the origin.
    sent_at: float | None = None
    """`time.monotonic` when the request went out."""
    timed_out: bool = False
    """We closed the connection because the origin took too long."""
    failure: Failure | None = None
    """What kept us from getting an answer of the origin."""
    is_answerable: bool = False
    """The origin failed, and what an `error` hook leaves in `flow.response` will be sent."""
    is_doubtful: bool = False
    """The response may belong to another request."""

    # The response.
    answered_by: AnsweredBy | None = None
    """Which addon made the response; None for the origin's."""
    kept_body: BufferedBody | None = None
    page: Page | None = None
    page_fields: tuple[tuple[bytes, bytes], ...] | None = None
    """The header fields `page` was made of."""
    finding: Soft404Finding | None = None
    """What the soft-404 detector found."""
    suppressed: SuppressedPage | None = None
    """The page that a repair page takes the place of."""

    def forget_request(self) -> None:
        """The request was changed: work out anew what it says."""
        self.request = self.url = self.is_navigation = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "FlowState":
        """mitmproxy copies deeply; all values here are immutable, or one flow's own."""
        return copy.copy(self)


def state_of(flow: http.HTTPFlow) -> FlowState:
    """The state of a flow, made when it is first needed."""
    known: FlowState | None = flow.metadata.get(_KEY)
    if known is None:
        known = flow.metadata[_KEY] = FlowState()
    return known


def is_from_origin(flow: http.HTTPFlow) -> bool:
    """Whether the origin made the response, rather than one of us."""
    return state_of(flow).answered_by is None
