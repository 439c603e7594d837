"""An imported page or file as a response that the cache keeps for good (pure).

What an admin imports is meant to be there when the line is not. So it is stored without its content coding, that
any browser can read it, without Vary, since only one variant is had, and without what was one visitor's.
"""

from collections.abc import Collection

from proxy.cache.bounds import without_excess
from proxy.cache.entry import Headers, StoredResponse
from repair.model import Page

STATUSES = frozenset({200, 203, 301, 308})
"""What is kept of an import; what was only for the time being is long over."""
_DROPPED = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "upgrade"),
        *(
            "transfer-encoding",
            "content-encoding",
            "content-length",
            "set-cookie",
            "set-cookie2",
            "vary",
            "age",
        ),
    }
)


def pinned_response(
    page: Page, body: bytes, *, statuses: Collection[int] = STATUSES
) -> StoredResponse | None:
    """`page` with its decoded `body` as it is pinned; None when its status is nothing to keep."""
    if page.status not in statuses:
        return None
    kept = tuple((name, value) for name, value in page.headers if name.lower() not in _DROPPED)
    headers: Headers = (*without_excess(kept), ("Content-Length", str(len(body))))
    fetched_at = page.fetched_at.timestamp()
    return StoredResponse(
        status=page.status,
        reason="",
        headers=headers,
        body=body,
        vary=(),
        requested_at=fetched_at,
        received_at=fetched_at,
        pinned=True,
    )
