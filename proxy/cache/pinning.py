"""Turns an imported page or file into a response that the cache never evicts (pure).

Admins import pages to have them when there is no internet connection. So the response is stored without content
coding, so that every browser can read it, without Vary, since there is one variant only, and without cookies.
"""

from collections.abc import Collection

from proxy.cache.sharing.bounds import without_excess
from proxy.messages import Headers, StoredResponse
from repair.model import Page

STATUSES = frozenset({200, 203, 301, 308})
"""Statuses that an import keeps; temporary ones are out of date."""
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
    """`page` with its decoded `body` as a pinned response; None when its status is not kept."""
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
